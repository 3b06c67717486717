#include "server/dispatch/command_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/transaction.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using testing::StartsWith;

class CommandRunnerTest : public testing::Test, protected test::CommandFixture {
 protected:
  CommandRunnerTest() { environment_.clock = &clock; }

  // Calls `use` with a context as the dispatcher makes it for the command.
  template <class Use>
  std::string With(const std::vector<std::string_view>& words, const Use& use) {
    std::string out;
    protocol::ReplyWriter reply(out);
    ServerContext context(environment_, session, reply);
    context.timer = &timer_;
    context.arguments = words;
    context.row = AllCommands().Find(words[0]);
    timer_.Begin(*client);
    use(context);
    timer_.EndShared();
    return out;
  }
  std::string Run(const std::vector<std::string_view>& words) {
    return With(words, [](ServerContext& context) { RunCommand(context); });
  }
  bool Waits(const std::vector<std::string_view>& words) {
    bool waits = false;
    With(words, [&waits](ServerContext& context) { waits = MustWait(context); });
    return waits;
  }
  const CommandCounters& CountersOf(std::string_view name) {
    return stats.loops.front().by_command[AllCommands().IndexOf(*AllCommands().FindFull(name))];
  }

  Environment environment_ = EnvironmentWith(nullptr);
  CommandTimer timer_{AllCommands(), stats.loops.front(), nullptr};
};

TEST_F(CommandRunnerTest, RunsOrRepliesWhyNot) {
  EXPECT_EQ(Run({"PING"}), "+PONG\r\n");
  EXPECT_THAT(Run({"PNIG"}), StartsWith("-ERR unknown command"));
  EXPECT_THAT(Run({"CLIENT", "FLY"}), StartsWith("-ERR"));
  EXPECT_EQ(Run({"BF.ADD", "f"}), test::ArityReply("bf.add"));
}

TEST_F(CommandRunnerTest, ARefusalCountsAsRefusedAndAnErrorOfTheHandlerAsFailed) {
  Run({"BF.ADD", "f"});
  EXPECT_EQ(CountersOf("bf.add").rejected, 1U);
  EXPECT_EQ(CountersOf("bf.add").calls, 0U);
  Run({"BF.RESERVE", "f", "7", "100"});
  EXPECT_EQ(CountersOf("bf.reserve").calls, 1U);
  EXPECT_EQ(CountersOf("bf.reserve").failed, 1U);
  EXPECT_EQ(CountersOf("bf.reserve").rejected, 0U);
}

TEST_F(CommandRunnerTest, BetweenMultiAndExecCommandsAreQueued) {
  BeginTransaction(session);
  EXPECT_EQ(Run({"BF.ADD", "f", "a"}), "+QUEUED\r\n");
  EXPECT_TRUE(session.queue_writes);
  EXPECT_EQ(registry.Size(), 0U);
  EXPECT_EQ(CountersOf("bf.add").rejected, 0U) << "it was not refused";
  EXPECT_FALSE(session.multi_failed);
  Run({"BF.ADD", "f"});
  EXPECT_TRUE(session.multi_failed) << "EXEC will refuse, too";
  EXPECT_TRUE(session.queued.empty());
}

TEST_F(CommandRunnerTest, ABrowsersRequestClosesItsConnectionWithoutAReply) {
  EXPECT_EQ(Run({"POST", "/", "HTTP/1.1"}), "");
  EXPECT_EQ(session.abort, Session::Abort::kHttp);
}

TEST_F(CommandRunnerTest, APauseHoldsBackWhatItsScopeSays) {
  clients.pause.Begin(ClientPause::Scope::kWrites, clock.now_ms + 1'000, clock.now_ms);
  EXPECT_TRUE(Waits({"BF.ADD", "f", "a"}));
  EXPECT_TRUE(Waits({"PUBLISH", "c", "m"}));
  EXPECT_FALSE(Waits({"BF.EXISTS", "f", "a"}));
  EXPECT_FALSE(Waits({"BF.ADD", "f"})) << "it is refused at once";
  EXPECT_FALSE(Waits({"NONSENSE"}));
  session.queue_writes = true;
  EXPECT_TRUE(Waits({"EXEC"})) << "its commands write";
  clock.now_ms += 1'000;
  EXPECT_FALSE(Waits({"BF.ADD", "f", "a"}));
}

}  // namespace
}  // namespace bitsieve::server
