#include "config/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/redis_settings.h"

namespace bitsieve::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Empty if the pairs were taken, else the index of the pair to blame and the reason.
std::string Set(std::vector<NameAndText> pairs, Options& options) {
  const auto done = SetOptionsAtRunTime(pairs, options);
  return done ? "" : std::to_string(done.error().index) + ": " + done.error().reason;
}

TEST(OptionTable, EveryDefaultIsAValueThatItsRowTakes) {
  const Options defaults;
  for (const OptionRow& row : OptionTable()) {
    Options options;
    EXPECT_TRUE(SetOption(row, OptionText(row, defaults), options).has_value()) << row.name;
    EXPECT_TRUE(SetOption(row, OptionReadableText(row, defaults), options).has_value()) << row.name;
    EXPECT_EQ(OptionText(row, options), OptionText(row, defaults)) << row.name;
  }
}

TEST(OptionTable, NamesAreKebabCaseAndThereOnce) {
  std::set<std::string_view> names;
  for (const OptionRow& row : OptionTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << row.name;
  }
}

TEST(OptionTable, EveryMemberOfOptionsHasOneRow) {
  // Does not compile when a member is added or removed, so that its row is not forgotten; `templates` needs none.
  const auto& [bind, port, io_threads, maxclients, timeout, tcp_keepalive, client_output_buffer_limit, unixsocket,
               unixsocketperm, tls_port, tls_cert_file, tls_key_file, tls_key_file_pass, tls_ca_cert_file,
               tls_auth_clients, tls_protocols, tls_ciphers, tls_ciphersuites, requirepass, requirepass_file, aclfile,
               acllog_max_len, protected_mode, admin_port, admin_bind, admin_filters, admin_filters_origin,
               metrics_largest_filters, metrics_filters, slowlog_log_slower_than, slowlog_max_len,
               latency_monitor_threshold, notify_keyspace_events, max_line_bytes, max_arguments, max_argument_bytes,
               max_request_bytes, max_name_bytes, max_pattern_bytes, maxmemory_clients, maxmemory, changes_memory,
               quota, default_type, default_error_rate, default_capacity, default_expansion, templates, cf_bucket_size,
               cf_initial_size, cf_max_iterations, cf_expansion_factor, cf_max_expansions, dir, save_interval,
               snapshot_growth, shutdown_timeout, snapshot_memory, appendonly, appendfsync, max_log_bytes,
               on_corrupt_filter, on_corrupt_log, loglevel, logfile, logformat] = Options{};
  constexpr size_t kMembers = 65;
  EXPECT_EQ(OptionTable().size(), kMembers);
  for (auto a = OptionTable().begin(); a != OptionTable().end(); ++a) {
    EXPECT_EQ(std::ranges::count(OptionTable(), a->member, &OptionRow::member), 1) << a->name;
  }
}

TEST(OptionTable, RowsOfAGroupStandTogether) {
  std::set<std::string_view> closed;
  std::string_view current;
  for (const OptionRow& row : OptionTable()) {
    if (row.group == current) continue;
    EXPECT_TRUE(closed.insert(row.group).second) << row.group;
    current = row.group;
  }
}

TEST(OptionTable, ACuckooFilterHasTwoBucketsAtLeast) {
  Options options;
  EXPECT_EQ(Set({{"cf-initial-size", "100"}}, options), "");
  EXPECT_EQ(Set({{"cf-bucket-size", "50"}}, options), "");
  EXPECT_EQ(Set({{"cf-bucket-size", "51"}}, options),
            "0: cf-initial-size must be at least twice cf-bucket-size, not 100 with buckets of 51");
  EXPECT_NE(Set({{"cf-initial-size", "99"}}, options), "");
  EXPECT_EQ(options.cf_bucket_size, 50U);
  EXPECT_EQ(options.cf_initial_size, 100U);
}

TEST(OptionTable, PairsAreCheckedTogetherInAnyOrder) {
  for (const bool size_first : {true, false}) {
    Options options;
    const auto pairs = [&](std::string_view size, std::string_view buckets) {
      std::vector<NameAndText> both{{"cf-initial-size", size}, {"cf-bucket-size", buckets}};
      if (!size_first) std::swap(both[0], both[1]);
      return both;
    };
    EXPECT_EQ(Set(pairs("510", "255"), options), "");
    EXPECT_EQ(Set(pairs("100", "2"), options), "") << "fits only together";
    EXPECT_EQ(Set(pairs("4096", "255"), options), "") << "fits only together, the other way round";
    EXPECT_THAT(Set(pairs("100", "51"), options), testing::StartsWith("1: cf-initial-size must be at least"));
    EXPECT_EQ(std::pair(options.cf_initial_size, options.cf_bucket_size), std::pair(uint64_t{4096}, 255U));
  }
}

TEST(OptionTable, NothingIsSetUnlessAllIs) {
  Options options;
  EXPECT_THAT(Set({{"timeout", "7"}, {"port", "1"}}, options), testing::StartsWith("1: port cannot be changed"));
  EXPECT_THAT(Set({{"timeout", "7"}, {"maxclients", "x"}}, options), testing::StartsWith("1: maxclients must be"));
  EXPECT_THAT(Set({{"timeout", "7"}, {"nosuch", "x"}}, options), testing::StartsWith("1: unknown option"));
  EXPECT_EQ(Set({{"timeout", "7"}, {"TimeOut", "8"}}, options), "1: duplicate parameter");
  EXPECT_EQ(Set({{"default-capacity", "7"}, {"bf-initial-size", "8"}}, options), "1: duplicate parameter");
  EXPECT_EQ(options.timeout, 0U);
  EXPECT_EQ(options.default_capacity, 100U);
}

TEST(OptionTable, RedisBloomsNamesAreAliases) {
  Options options;
  EXPECT_EQ(Set({{"BF-error-rate", "0.05"}, {"bf-initial-size", "7"}, {"bf-expansion-factor", "0"}}, options), "");
  EXPECT_EQ(options.default_error_rate, 0.05);
  EXPECT_EQ(options.default_capacity, 7U);
  EXPECT_EQ(options.default_expansion, 0U);
  EXPECT_THAT(MatchOptions(options, "bf-*"), ElementsAre(Pair("bf-error-rate", "0.05"), Pair("bf-initial-size", "7"),
                                                         Pair("bf-expansion-factor", "0")));
  for (const OptionRow& row : OptionTable()) {
    EXPECT_EQ(row.alias.empty() ? nullptr : FindOption(row.alias), nullptr) << "the name of another option";
  }
  EXPECT_NE(Set({{"", "1"}}, options), "") << "options without an alias have none that is empty";
}

TEST(OptionTable, SettingsOfRedisFollowFromTheOptions) {
  Options options;
  EXPECT_THAT(MatchOptions(options, "databases"), ElementsAre(Pair("databases", "1")));
  EXPECT_THAT(MatchOptions(options, "maxmemory-policy"), ElementsAre(Pair("maxmemory-policy", "noeviction")));
  EXPECT_THAT(MatchOptions(options, "save"), ElementsAre(Pair("save", "60 1")));
  EXPECT_EQ(Set({{"maxmemory-policy", "noeviction"}, {"databases", "1"}}, options), "");
  EXPECT_EQ(Set({{"maxmemory-policy", "allkeys-lru"}}, options),
            "0: maxmemory-policy can only be \"noeviction\", not \"allkeys-lru\": filters are not evicted; commands "
            "that need more memory than maxmemory are refused");
  EXPECT_EQ(Set({{"save", "5 1"}, {"save-interval", "5"}}, options), "");
  EXPECT_EQ(Set({{"save", ""}}, options), "0: save can only be \"5 1\", not \"\": set save-interval instead");
  EXPECT_EQ(Set({{"save-interval", "0"}, {"save", ""}}, options), "");
  EXPECT_THAT(MatchOptions(options, "save"), ElementsAre(Pair("save", "")));
  for (const RedisSetting& setting : RedisSettings()) EXPECT_EQ(FindOption(setting.name), nullptr) << setting.name;
}

TEST(OptionTable, FindIgnoresCase) {
  EXPECT_EQ(FindOption("MaxMemory"), FindOption("maxmemory"));
  EXPECT_EQ(FindOption("no-such-option"), nullptr);
  EXPECT_EQ(FindOption(""), nullptr);
}

TEST(OptionTable, UnknownOptionGuessesWhatWasMeant) {
  EXPECT_EQ(UnknownOption("prot"), R"(unknown option "prot"; did you mean port?)");
  EXPECT_EQ(UnknownOption("max-memory"), R"(unknown option "max-memory"; did you mean maxmemory?)");
  EXPECT_EQ(UnknownOption("reqiurepas"), R"(unknown option "reqiurepas"; did you mean requirepass?)");
  for (const std::string name : {"nope", "x", "", "por tx", "ttl", "nothing", "dirs-x"}) {
    EXPECT_EQ(UnknownOption(name), "unknown option \"" + name + "\"") << "nothing is near";
  }
  EXPECT_EQ(UnknownOption("databases"), R"(unknown option "databases")");
  EXPECT_EQ(UnknownOption(std::string(1000, 'x')), "unknown option \"" + std::string(100, 'x') + "\"...");
}

TEST(OptionTable, MatchByGlob) {
  const Options options;
  EXPECT_THAT(MatchOptions(options, "port"), ElementsAre(Pair("port", "7379")));
  EXPECT_THAT(MatchOptions(options, "SAVE-*"), ElementsAre(Pair("save-interval", "60")));
  EXPECT_THAT(MatchOptions(options, "log[a-z]*t"), ElementsAre(Pair("logformat", "text")));
  EXPECT_THAT(MatchOptions(options, "nosuch"), IsEmpty());
  const auto all = MatchOptions(options, "*");
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
  for (const OptionRow& row : OptionTable()) {
    EXPECT_THAT(all, testing::Contains(Pair(std::string(row.name), OptionText(row, options))));
  }
}

TEST(OptionTable, SetAtRunTime) {
  Options options;
  EXPECT_EQ(Set({{"MAXMEMORY", "1gb"}}, options), "");
  EXPECT_EQ(options.maxmemory, 1ULL << 30);
  EXPECT_EQ(Set({{"port", "1"}}, options), "0: port cannot be changed at run time: it is read when the server starts");
  EXPECT_EQ(options.port, 7379);
  EXPECT_EQ(Set({{"nothing-alike", "1"}}, options), R"(0: unknown option "nothing-alike")");
  EXPECT_EQ(Set({{"timeout", "soon"}}, options),
            R"(0: timeout must be a whole number of seconds from 0 to 31536000, not "soon")");
}

}  // namespace
}  // namespace bitsieve::config
