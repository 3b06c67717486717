#include "server/dispatch/command_timer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

class CommandTimerTest : public testing::Test, protected test::CommandFixture {
 protected:
  CommandTimerTest() { monitoring.slow_log.set_max_size(128); }
  const commands::CommandRow& Row(std::string_view name) const { return *AllCommands().FindFull(name); }
  CommandCounters& CountersOf(std::string_view name) { return loop_.by_command[AllCommands().IndexOf(Row(name))]; }
  static uint64_t LatenciesOf(const CommandCounters& counters) {
    uint64_t sum = 0;
    for (const auto& count : counters.latency) sum += count;
    return sum;
  }

  static constexpr std::string_view kWords[] = {"PING"};

  LoopStats loop_;
};

TEST_F(CommandTimerTest, SharedCommandsCountOnceTheirTimeHasEnded) {
  CommandTimer timer(AllCommands(), loop_, nullptr);
  timer.Begin(*client);
  timer.CountShared(Row("ping"), kWords, 3, 1);
  timer.CountShared(Row("ping"), kWords, 2, 0);
  timer.CountShared(Row("bf.add"), kWords, 5, 0);
  EXPECT_EQ(CountersOf("ping").calls, 0U);
  timer.EndShared();
  EXPECT_EQ(CountersOf("ping").calls, 5U);
  EXPECT_EQ(CountersOf("ping").failed, 1U);
  EXPECT_EQ(CountersOf("bf.add").calls, 5U);
  EXPECT_EQ(LatenciesOf(CountersOf("ping")), 5U);
  timer.EndShared();
  EXPECT_EQ(CountersOf("ping").calls, 5U) << "each counts once";
}

TEST_F(CommandTimerTest, ManyDifferentCommandsLoseNoCall) {
  CommandTimer timer(AllCommands(), loop_, nullptr);
  timer.Begin(*client);
  const auto rows = AllCommands().all_rows();
  for (int round = 0; round < 3; ++round) {
    for (const commands::CommandRow& row : rows) timer.CountShared(row, kWords, 2, 0);
  }
  timer.EndShared();
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(loop_.by_command[i].calls, 6U) << rows[i].name;
}

TEST_F(CommandTimerTest, ACommandOnItsOwnEndsTheTimeOfThoseBeforeIt) {
  CommandTimer timer(AllCommands(), loop_, nullptr);
  timer.Begin(*client);
  timer.CountShared(Row("ping"), kWords, 1, 0);
  const uint64_t begin = timer.BeginAlone();
  EXPECT_EQ(CountersOf("ping").calls, 1U);
  timer.EndAlone(Row("keys"), kWords, begin, 1);
  EXPECT_EQ(CountersOf("keys").calls, 1U);
  EXPECT_EQ(CountersOf("keys").failed, 1U);
  EXPECT_GE(timer.last(), begin);
}

TEST_F(CommandTimerTest, ACommandThatRepliesLaterCountsWhenItsReplyIsWritten) {
  CommandTimer timer(AllCommands(), loop_, nullptr);
  timer.Begin(*client);
  Finish finish;
  DeferredReply deferred = [&finish](Finish given) { finish = std::move(given); };
  timer.EndLater(Row("save"), timer.BeginAlone(), deferred);
  WriteReply write;
  deferred([&write](WriteReply given) { write = std::move(given); });
  finish([this](protocol::ReplyWriter& reply) {
    LoopStats::Add(loop_.error_replies, 1);
    reply.Error("ERR snapshot failed");
  });
  EXPECT_EQ(CountersOf("save").calls, 0U);
  std::string out;
  protocol::ReplyWriter reply(out);
  write(reply);
  EXPECT_EQ(out, "-ERR snapshot failed\r\n");
  EXPECT_EQ(CountersOf("save").calls, 1U);
  EXPECT_EQ(CountersOf("save").failed, 1U);
}

TEST_F(CommandTimerTest, ARefusedCommandIsNoCall) {
  CommandTimer timer(AllCommands(), loop_, nullptr);
  timer.CountRejected(Row("ping"));
  EXPECT_EQ(CountersOf("ping").rejected, 1U);
  EXPECT_EQ(CountersOf("ping").calls, 0U);
}

TEST_F(CommandTimerTest, ASlowRunIsReportedWithItsFirstCommand) {
  CommandTimer timer(AllCommands(), loop_, &monitoring);
  monitoring.set_slower_than_us(0);  // every command
  timer.Begin(*client);
  timer.CountShared(Row("ping"), kWords, 3, 0);
  timer.EndShared();
  ASSERT_EQ(monitoring.slow_log.Size(), 1U);
  EXPECT_EQ(monitoring.slow_log.Newest(1).front().arguments.front(), "PING");
  monitoring.set_slower_than_us(-1);
  timer.Begin(*client);
  timer.CountShared(Row("ping"), kWords, 1, 0);
  timer.EndShared();
  EXPECT_EQ(monitoring.slow_log.Size(), 1U);
}

}  // namespace
}  // namespace bitsieve::server
