#include "config/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/filters/filter_params.h"

namespace bitsieve::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

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
  const auto& [bind, port, io_threads, maxclients, timeout, tcp_keepalive, client_output_buffer_limit,
               notify_keyspace_events, max_line_bytes, max_arguments, max_argument_bytes, max_request_bytes, maxmemory,
               default_type, default_error_rate, default_capacity, default_expansion, templates, cf_bucket_size,
               cf_initial_size, cf_max_iterations, cf_expansion_factor, cf_max_expansions, dir, save_interval,
               snapshot_memory, appendonly, appendfsync, max_log_bytes, on_corrupt, loglevel, logfile, logformat] =
      Options{};
  constexpr size_t kMembers = 32;
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

// config may not include core/filters, so the ranges stand in the table as numbers.
TEST(OptionTable, FilterRangesAreThoseOfTheCore) {
  const auto* rate = std::get_if<Real>(&FindOption("default-error-rate")->domain);
  const auto* capacity = std::get_if<WholeNumber>(&FindOption("default-capacity")->domain);
  const auto* expansion = std::get_if<WholeNumber>(&FindOption("default-expansion")->domain);
  ASSERT_TRUE(rate != nullptr && capacity != nullptr && expansion != nullptr);
  EXPECT_EQ(rate->min, core::kMinErrorRate);
  EXPECT_EQ(rate->max, core::kMaxErrorRate);
  EXPECT_EQ(capacity->max, core::kMaxCapacity);
  EXPECT_EQ(expansion->max, core::kMaxExpansion);
  const auto most = [](std::string_view name) { return std::get<WholeNumber>(FindOption(name)->domain).max; };
  EXPECT_EQ(most("cf-bucket-size"), core::kMaxRedisCuckooBucketSize);
  EXPECT_EQ(most("cf-initial-size"), core::kMaxCapacity);
  EXPECT_EQ(most("cf-max-iterations"), core::kMaxRedisCuckooIterations);
  EXPECT_EQ(most("cf-expansion-factor"), core::kMaxExpansion);
}

TEST(OptionTable, ACuckooFilterHasTwoBucketsAtLeast) {
  Options options;
  EXPECT_TRUE(SetOptionAtRunTime("cf-initial-size", "100", options));
  EXPECT_TRUE(SetOptionAtRunTime("cf-bucket-size", "50", options));
  const core::Status larger = SetOptionAtRunTime("cf-bucket-size", "51", options);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().message,
            "cf-initial-size must be at least twice cf-bucket-size, not 100 with buckets of 51");
  EXPECT_FALSE(SetOptionAtRunTime("cf-initial-size", "99", options));
  EXPECT_EQ(options.cf_bucket_size, 50U);
  EXPECT_EQ(options.cf_initial_size, 100U);
}

TEST(OptionTable, FindIgnoresCase) {
  EXPECT_EQ(FindOption("MaxMemory"), FindOption("maxmemory"));
  EXPECT_EQ(FindOption("no-such-option"), nullptr);
  EXPECT_EQ(FindOption(""), nullptr);
}

TEST(OptionTable, UnknownOptionGuessesWhatWasMeant) {
  EXPECT_EQ(UnknownOption("prot"), R"(unknown option "prot"; did you mean port?)");
  EXPECT_EQ(UnknownOption("max-memory"), R"(unknown option "max-memory"; did you mean maxmemory?)");
  EXPECT_EQ(UnknownOption("databases"), R"(unknown option "databases")");
  EXPECT_EQ(UnknownOption(std::string(1000, 'x')), "unknown option \"" + std::string(100, 'x') + "\"...");
}

TEST(OptionTable, MatchByGlob) {
  const Options options;
  EXPECT_THAT(MatchOptions(options, "port"), ElementsAre(Pair("port", "7379")));
  EXPECT_THAT(MatchOptions(options, "SAVE*"), ElementsAre(Pair("save-interval", "60")));
  EXPECT_THAT(MatchOptions(options, "log[a-z]*t"), ElementsAre(Pair("logformat", "text")));
  EXPECT_EQ(MatchOptions(options, "*").size(), OptionTable().size());
  EXPECT_THAT(MatchOptions(options, "databases"), IsEmpty());
}

TEST(OptionTable, SetAtRunTime) {
  Options options;
  ASSERT_TRUE(SetOptionAtRunTime("MAXMEMORY", "1gb", options));
  EXPECT_EQ(options.maxmemory, 1ULL << 30);
  EXPECT_EQ(SetOptionAtRunTime("port", "1", options).error().message,
            "port cannot be changed at run time: it is read when the server starts");
  EXPECT_EQ(options.port, 7379);
  EXPECT_EQ(SetOptionAtRunTime("databases", "1", options).error().message, R"(unknown option "databases")");
  EXPECT_EQ(SetOptionAtRunTime("timeout", "soon", options).error().message,
            R"(timeout must be a whole number of seconds from 0 to 31536000, not "soon")");
}

}  // namespace
}  // namespace bitsieve::config
