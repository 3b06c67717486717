// Statistics of commands: calls, time, refusals, failures and error codes.

#include "server/stats/command_stats.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/tick_clock.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

TEST(LatencyBuckets, EachEndsAtAPowerOfTwo) {
  EXPECT_EQ(LatencyBuckets::Of(0), 0u);
  for (size_t bucket = 0; bucket < LatencyBuckets::kBounds; ++bucket) {
    const uint64_t bound = LatencyBuckets::UpperBoundNs(bucket);
    EXPECT_EQ(LatencyBuckets::Of(bound), bucket);
    EXPECT_EQ(LatencyBuckets::Of(bound + 1), bucket + 1);
  }
  EXPECT_EQ(LatencyBuckets::Of(UINT64_MAX), LatencyBuckets::kCount - 1);
}

TEST(CommandTotals, PercentilesLieWithinTheirBuckets) {
  CommandTotals totals;
  EXPECT_EQ(totals.PercentileNs(50), 0);
  totals.latency[LatencyBuckets::Of(100)] = 90;
  totals.latency[LatencyBuckets::Of(5000)] = 10;
  EXPECT_GT(totals.PercentileNs(50), 64);
  EXPECT_LT(totals.PercentileNs(50), 128);
  EXPECT_EQ(totals.PercentileNs(90), 128);
  EXPECT_GT(totals.PercentileNs(99), 4096);
  EXPECT_EQ(totals.PercentileNs(100), 8192);
}

TEST(TickClock, CountsNanoseconds) {
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t first = core::TickClock::Now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const uint64_t last = core::TickClock::Now();
  const std::chrono::nanoseconds most = std::chrono::steady_clock::now() - begin;
  const auto counted = static_cast<double>(core::TickClock::Nanoseconds(first, last));
  EXPECT_GT(counted, 19'900'000);
  EXPECT_LT(counted, static_cast<double>(most.count()) * 1.001);
  EXPECT_EQ(core::TickClock::Nanoseconds(last, first), 0u);
}

class CommandStatsTest : public testing::Test, protected test::CommandFixture {
 protected:
  CommandTotals Of(std::string_view name) const {
    return TotalsOf(stats, AllCommands().IndexOf(*AllCommands().FindFull(name)));
  }
  static uint64_t Counted(const CommandTotals& totals) {
    return std::accumulate(totals.latency.begin(), totals.latency.end(), uint64_t{0});
  }
  std::map<std::string, uint64_t> ErrorCodes() const {
    std::map<std::string, uint64_t> codes;
    stats.loops.front().error_codes.ForEach(
        [&](std::string_view code, uint64_t count) { codes[std::string(code)] = count; });
    return codes;
  }
};

TEST_F(CommandStatsTest, EveryRowHasAnIndexOfItsOwn) {
  const auto rows = AllCommands().all_rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(AllCommands().FindFull(rows[i].name), &rows[i]) << rows[i].name;
    EXPECT_EQ(AllCommands().IndexOf(rows[i]), i);
  }
  EXPECT_GT(rows.size(), AllCommands().rows().size());
}

TEST_F(CommandStatsTest, CountsRunsAndSingleCommandsAlike) {
  Replies({{"BF.ADD", "f", "a"}, {"BF.ADD", "f", "b"}, {"BF.ADD", "f", "c"}, {"PING"}, {"BF.ADD", "f", "d"}});
  Replies({{"BF.EXISTS", "f", "a"}, {"BF.EXISTS", "none", "a"}, {"BF.MADD", "f", "x", "y", "z"}});
  for (const auto& [name, calls] : {std::pair{"bf.add", 4u}, {"ping", 1u}, {"bf.exists", 2u}, {"bf.madd", 1u}}) {
    EXPECT_EQ(Of(name).calls, calls) << name;
    EXPECT_EQ(Counted(Of(name)), calls) << name;
    EXPECT_GT(Of(name).ns, 0u) << name;
  }
  EXPECT_EQ(Of("bf.info").calls, 0u);
}

TEST_F(CommandStatsTest, CountsManyCommandsInTurns) {
  std::vector<test::Words> commands;
  for (const CommandRow* row : AllCommands().rows()) {
    if (ArityFits(*row, 2) && (row->flags & kFast) && row->name != "quit")
      commands.push_back({std::string(row->name), "0"});
  }
  ASSERT_GT(commands.size(), 16u);
  for (int i = 0; i < 2; ++i) Replies(commands);
  for (const test::Words& command : commands) {
    EXPECT_EQ(Of(command[0]).calls + Of(command[0]).rejected, 2u) << command[0];
  }
}

TEST_F(CommandStatsTest, TellsRefusalsFromFailures) {
  Replies({{"BF.ADD", "f"}, {"BF.RESERVE", "f", "0.01", "100"}, {"BF.RESERVE", "f", "0.01", "100"}, {"NONSENSE"}});
  EXPECT_EQ(Of("bf.add").rejected, 1u);
  EXPECT_EQ(Of("bf.add").calls, 0u);
  EXPECT_EQ(Of("bf.reserve").calls, 2u);
  EXPECT_EQ(Of("bf.reserve").failed, 1u);
  EXPECT_EQ(Of("bf.reserve").rejected, 0u);
}

TEST_F(CommandStatsTest, CountsFailuresWithinARun) {
  Replies({{"BF.RESERVE", "f", "0.01", "1", "NONSCALING"}});
  Replies({{"BF.ADD", "f", "a"}, {"BF.ADD", "f", "b"}, {"BF.ADD", "f", "c"}});
  EXPECT_EQ(Of("bf.add").calls, 3u);
  EXPECT_EQ(Of("bf.add").failed, 2u);
}

TEST_F(CommandStatsTest, CountsSubcommandsAsTheirOwn) {
  Reply({"CLIENT", "ID"});
  Reply({"CLIENT", "NOTHING"});
  EXPECT_EQ(Of("client|id").calls, 1u);
  EXPECT_EQ(Of("client").calls, 0u);
}

TEST_F(CommandStatsTest, CountsCommandsOfATransactionWhenTheyRun) {
  Replies({{"MULTI"}, {"BF.ADD", "f", "a"}, {"BF.MADD", "f", "a", "b", "c"}});
  EXPECT_EQ(Of("bf.add").calls, 0u);
  EXPECT_EQ(Of("bf.add").rejected, 0u);
  Reply({"EXEC"});
  EXPECT_EQ(Of("bf.add").calls, 1u);
  EXPECT_EQ(Of("bf.madd").calls, 1u);
  EXPECT_EQ(Of("exec").calls, 1u);
  EXPECT_GE(Of("exec").ns, Of("bf.madd").ns);
}

TEST_F(CommandStatsTest, CountsWhatRepliesLaterWhenItsReplyIsThere) {
  Replies({{"SAVE"}});
  EXPECT_EQ(Of("save").calls, 0u);
  std::string out;
  protocol::ReplyWriter reply(out);
  outcome.deferred([&reply](const WriteReply& write) { write(reply); });
  ASSERT_EQ(control.saves.size(), 1u);
  control.saves.front()({});
  EXPECT_EQ(Of("save").calls, 1u);
  EXPECT_EQ(Of("save").failed, 0u);
  EXPECT_GT(Of("save").ns, 0u);
}

TEST_F(CommandStatsTest, CountsErrorsByTheirFirstWord) {
  Replies({{"NONSENSE"}, {"BF.ADD", "f"}, {"BF.INFO", "none"}, {"EXEC"}});
  uint64_t sum = 0;
  for (const auto& [code, count] : ErrorCodes()) sum += count;
  EXPECT_EQ(ErrorCodes()["ERR"], 4u);
  EXPECT_EQ(sum, stats.loops.front().error_replies);
}

TEST_F(CommandStatsTest, ResetStartsAgain) {
  Replies({{"BF.ADD", "f", "a"}, {"BF.ADD", "f"}});
  Reply({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(Of("bf.add").calls + Of("bf.add").rejected + Counted(Of("bf.add")), 0u);
  EXPECT_EQ(ErrorCodes()["ERR"], 0u);
  Reply({"BF.ADD", "f", "b"});
  EXPECT_EQ(Of("bf.add").calls, 1u);
}

TEST(ErrorCounts, KeepsNoMoreCodesThanItHasRoomFor) {
  ErrorCounts counts;
  for (int i = 0; i < 100; ++i) counts.Count("CODE" + std::to_string(i) + " text");
  counts.Count("CODE5");
  counts.Count(std::string(100, 'x'));
  size_t codes = 0;
  counts.ForEach([&](std::string_view code, uint64_t count) {
    EXPECT_EQ(count, code == "CODE5" ? 2u : 1u) << code;
    ++codes;
  });
  EXPECT_EQ(codes, 32u);
}

}  // namespace
}  // namespace bitsieve::server
