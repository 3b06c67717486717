#include "server/commands/metric_table.h"

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
using testing::HasSubstr;

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
  const auto& [commands, connections_accepted, connections_rejected, input_bytes, output_bytes, lookup_hits,
               lookup_misses, items_added, error_replies, protocol_errors] = stats;
  std::set<const void*> counters;
  for (const MetricRow& row : AllRows()) {
    const auto* counter = std::get_if<Counter>(&row.source);
    if (counter == nullptr) continue;
    EXPECT_EQ(row.type, MetricType::kCounter) << row.name;
    EXPECT_TRUE(counters.insert(&(stats.**counter)).second) << row.name;
  }
  EXPECT_THAT(counters, testing::UnorderedElementsAre(&commands, &connections_accepted, &connections_rejected,
                                                      &input_bytes, &output_bytes, &lookup_hits, &lookup_misses,
                                                      &items_added, &error_replies, &protocol_errors));
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

}  // namespace
}  // namespace bitsieve::server
