#include "server/metrics/metric_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using Counter = MetricRow::Counter;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::vector<MetricRow> AllRows() {
  std::vector<MetricRow> rows;
  for (const MetricSection& section : MetricSections()) {
    rows.insert(rows.end(), section.rows.begin(), section.rows.end());
  }
  return rows;
}

TEST(MetricTable, NamesAreThereOnceAndExplained) {
  std::set<std::string_view> names;
  for (const MetricRow& row : AllRows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos) << row.name;
    EXPECT_FALSE(row.help.empty() || row.help.ends_with('.')) << row.name;
  }
}

TEST(MetricTable, EveryMemberOfLoopStatsHasOneRow) {
  // Does not compile when a member is added or removed, so that its row is not forgotten.
  LoopStats stats;
  const auto& [commands, connections_accepted, connections_rejected, tls_connections_accepted, tls_handshakes_failed,
               input_bytes, output_bytes, lookup_hits, lookup_misses, items_added, error_replies, protocol_errors,
               by_command, error_codes, rounds] = stats;
  std::set<const void*> counters;
  for (const MetricRow& row : AllRows()) {
    const auto* counter = std::get_if<Counter>(&row.source);
    if (counter == nullptr) continue;
    EXPECT_EQ(row.type, MetricType::kCounter) << row.name;
    EXPECT_TRUE(counters.insert(&(stats.**counter)).second) << row.name;
  }
  EXPECT_THAT(counters, testing::UnorderedElementsAre(&commands, &connections_accepted, &connections_rejected,
                                                      &tls_connections_accepted, &tls_handshakes_failed, &input_bytes,
                                                      &output_bytes, &lookup_hits, &lookup_misses, &items_added,
                                                      &error_replies, &protocol_errors));
}

class MetricsTest : public testing::Test, protected test::CommandFixture {};

TEST_F(MetricsTest, ResetSetsTheCountersOfAllLoopsToZero) {
  stats.loops.emplace_back();
  for (LoopStats& loop : stats.loops) {
    for (const MetricRow& row : AllRows()) {
      if (const auto* counter = std::get_if<Counter>(&row.source)) loop.** counter = 7;
    }
  }
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("protocol_errors:14\r\n"));
  Reply({"CONFIG", "RESETSTAT"});
  // The command itself is counted at the end of its batch, and bytes are counted by connections.
  EXPECT_THAT(Reply({"INFO", "stats"}),
              AllOf(HasSubstr("total_commands_processed:1\r\n"), HasSubstr("total_net_input_bytes:0\r\n"),
                    HasSubstr("items_added:0\r\n"), HasSubstr("protocol_errors:0\r\n")));
}

TEST_F(MetricsTest, CommandsHaveFieldsOfTheirOwn) {
  Replies({{"BF.ADD", "f", "a"}, {"BF.ADD", "f"}, {"BF.ADD", "f", "b"}, {"CLIENT", "ID"}, {"BF.INFO", "none"}});
  const std::string commands = Reply({"INFO", "commandstats"});
  EXPECT_THAT(commands, ContainsRegex("cmdstat_bf.add:calls=2,usec=[0-9]+,usec_per_call=[0-9]+\\.[0-9][0-9],"
                                      "rejected_calls=1,failed_calls=0\r\n"));
  EXPECT_THAT(commands, HasSubstr("cmdstat_client|id:calls=1,"));
  EXPECT_THAT(commands, ContainsRegex("cmdstat_bf.info:calls=1,.*rejected_calls=0,failed_calls=1\r\n"));
  EXPECT_THAT(commands, Not(HasSubstr("cmdstat_bf.exists")));
  EXPECT_THAT(Reply({"INFO", "latencystats"}),
              ContainsRegex("latency_percentiles_usec_bf.add:p50=[0-9]+\\.[0-9]{3},p99=[0-9.]+,p99.9=[0-9.]+\r\n"));
  EXPECT_THAT(Reply({"INFO", "errorstats"}), HasSubstr("errorstat_ERR:count=2\r\n"));
}

TEST_F(MetricsTest, SectionsOfCommandsComeOnRequest) {
  Reply({"BF.INFO", "none"});
  for (const char* section : {"all", "everything"}) {
    EXPECT_THAT(Reply({"INFO", section}), AllOf(HasSubstr("# Commandstats"), HasSubstr("# Latencystats"))) << section;
  }
  for (const test::Words& command : {test::Words{"INFO"}, {"INFO", "default"}}) {
    EXPECT_THAT(Reply(command), AllOf(Not(HasSubstr("cmdstat_")), Not(HasSubstr("latency_")), HasSubstr("errorstat_")));
  }
}

TEST_F(MetricsTest, RatesAreOfTheLastSamples) {
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("instantaneous_ops_per_sec:0\r\n"));
  stats.loops.front().commands = 1000;
  for (int64_t ms = 0; ms < 5000; ms += 100) {
    stats.SampleRates(ms);
    stats.loops.front().commands += 50;
    stats.loops.front().output_bytes += 1024;
  }
  EXPECT_THAT(Reply({"INFO", "stats"}),
              AllOf(HasSubstr("instantaneous_ops_per_sec:500\r\n"), HasSubstr("instantaneous_input_kbps:0.000000\r\n"),
                    HasSubstr("instantaneous_output_kbps:10.000000\r\n")));
  stats.loops.front().commands = 0;  // CONFIG RESETSTAT
  stats.SampleRates(5000);
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("instantaneous_ops_per_sec:0\r\n"));
}

TEST_F(MetricsTest, MemoryHasAPeak) {
  Reply({"BF.RESERVE", "f", "0.01", "1000000", "NONSCALING", "TYPE", "classic"});
  const uint64_t most = budget.used_bytes();
  Reply({"DEL", "f"});
  ASSERT_LT(budget.used_bytes(), most);
  EXPECT_THAT(Reply({"INFO", "memory"}),
              AllOf(HasSubstr("used_memory_peak:" + std::to_string(most) + "\r\n"),
                    HasSubstr("used_memory_peak_perc:0."), HasSubstr("used_memory_dataset:0\r\n")));
}

TEST(ServerStats, IdsAreRandom) {
  const ServerStats one, other;
  EXPECT_EQ(one.run_id.size(), 40u);
  EXPECT_EQ(one.run_id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(std::set<std::string>({one.run_id, one.replication_id, other.run_id, other.replication_id}).size(), 4u);
}

}  // namespace
}  // namespace bitsieve::server
