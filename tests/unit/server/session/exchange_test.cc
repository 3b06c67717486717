#include "server/session/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/dispatch/access.h"
#include "server/dispatch/dispatcher.h"
#include "server/session/turn.h"
#include "tests/unit/server/net/client.h"
#include "tests/unit/server/net/fakes.h"

namespace bitsieve::server {
namespace {

using testing::Command;
using testing::Repeat;

const WriteReply kOkReply = [](protocol::ReplyWriter& reply) { reply.Ok(); };

class ExchangeTest : public ::testing::Test {
 protected:
  ExchangeTest()
      : dispatcher_([this] {
          auto environment = backend_.environment();
          environment.loop_stats = &backend_.stats.loops.emplace_back();
          environment.users = nullptr;
          return environment;
        }()) {
    BeginAccess(exchange_.session(), nullptr);
  }

  // Does what a connection does with bytes that have come, over a socket that takes all replies. Returns the replies.
  // How much one turn does depends on the clock: this takes as many as there is something to do for.
  std::string Receive(std::string_view bytes) { return AndFurtherTurns(ReceiveInOneTurn(bytes)); }
  std::string Resume(const WriteReply& write = kOkReply) { return AndFurtherTurns(ResumeInOneTurn(write)); }
  std::string TakeTurns() { return AndFurtherTurns(TakeTurn()); }

  std::string ReceiveInOneTurn(std::string_view bytes) {
    if (const auto step = exchange_.BeginTurn(workspace_); step != Exchange::Step::kReceive) {
      ADD_FAILURE() << "nothing is received now: " << static_cast<int>(step);
      return "";
    }
    const std::span<char> room = exchange_.Room(scratch_);
    std::copy(bytes.begin(), bytes.end(), room.begin());
    return exchange_.Receive(scratch_, bytes.size(), workspace_) ? RunTurn() : "";
  }
  std::string ResumeInOneTurn(const WriteReply& write) {
    exchange_.Resume(write, workspace_);
    return Send();
  }
  // A turn with what is at hand.
  std::string TakeTurn() {
    EXPECT_EQ(exchange_.BeginTurn(workspace_), Exchange::Step::kRun);
    return RunTurn();
  }
  std::string AndFurtherTurns(std::string replies) {
    while (exchange_.wait() == Wait::kTurn && exchange_.BeginTurn(workspace_) == Exchange::Step::kRun) {
      replies += RunTurn();
    }
    return replies;
  }
  std::string RunTurn() {
    exchange_.Parse(workspace_);
    exchange_.Run(workspace_);
    dispatcher_.Forget();
    scratch_.fill('!');  // others receive there
    return Send();
  }
  std::string Send() {
    std::string sent = workspace_.reply.substr(0, takes_);
    exchange_.EndTurn(workspace_.reply, sent.size());
    workspace_.ClearReply(0);
    return sent;
  }
  uint64_t Accounted() const { return exchange_.client().memory.total.load(); }

  testing::Backend backend_;
  Dispatcher dispatcher_;
  test::Default<protocol::RequestLimits> limits_;
  std::atomic<uint64_t> output_limit_{1 << 20};
  const Exchange::Surroundings surroundings_{dispatcher_, backend_.clients, &backend_.durability, limits_,
                                             output_limit_};
  Exchange exchange_{std::make_shared<ClientRecord>(1, "a:1", "b:2", 0), surroundings_, 100};
  Workspace workspace_;
  std::array<char, ReadBuffer::kMinScratch> scratch_{};
  size_t takes_ = SIZE_MAX;  // bytes that the socket takes
};

TEST_F(ExchangeTest, RunsAllCommandsOfSeveralWindows) {
  EXPECT_EQ(Receive(Repeat(Command({"PING"}), 2 * Executor::kWindow + 3)),
            Repeat("+PONG\r\n", 2 * Executor::kWindow + 3));
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
  EXPECT_EQ(exchange_.received_bytes(), 0);
}

TEST_F(ExchangeTest, GivesOthersTheirTurnAfterManyWindows) {
  const size_t count = 40 * Executor::kWindow;
  std::string replies = ReceiveInOneTurn(Repeat("PING\n", count));
  EXPECT_LT(replies.size(), Repeat("+PONG\r\n", count).size());
  for (int turns = 1; exchange_.wait() == Wait::kTurn && turns < 1000; ++turns) replies += TakeTurn();
  EXPECT_EQ(replies, Repeat("+PONG\r\n", count));
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
}

TEST_F(ExchangeTest, WaitsForTheRestOfACommand) {
  EXPECT_EQ(Receive(Command({"PING"}) + "*2\r\n$4\r\nECHO\r\n$5\r\nhel"), "+PONG\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
  EXPECT_NE(exchange_.received_bytes(), 0);
  EXPECT_EQ(Receive("lo\r\n"), "$5\r\nhello\r\n");
  EXPECT_EQ(exchange_.received_bytes(), 0);
}

TEST_F(ExchangeTest, RepliesBeforeAProtocolErrorAreGiven) {
  const std::string replies = Receive(Command({"PING"}) + "*x\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
  EXPECT_TRUE(exchange_.broken());
  EXPECT_TRUE(replies.starts_with("+PONG\r\n-ERR Protocol error: ")) << replies;
}

TEST_F(ExchangeTest, NothingIsRunAfterQuit) {
  EXPECT_EQ(Receive(Command({"QUIT"}) + Command({"PING"})), "+OK\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
  EXPECT_FALSE(exchange_.broken());
}

TEST_F(ExchangeTest, CommandsBehindADeferredReplyWaitForIt) {
  EXPECT_EQ(Receive(Command({"PING"}) + Command({"SAVE"}) + "echo \"a b\"\r\n" + Command({"ECHO", "c"})), "+PONG\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kReply);
  EXPECT_EQ(exchange_.BeginTurn(workspace_), Exchange::Step::kNone);
  exchange_.StartDeferred([](const WriteReply&) {});
  EXPECT_EQ(Resume(), "+OK\r\n$3\r\na b\r\n$1\r\nc\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
}

TEST_F(ExchangeTest, TwoDeferredRepliesInOneWindow) {
  EXPECT_EQ(Receive(Command({"SAVE"}) + Command({"ECHO", "a"}) + Command({"SAVE"}) + Command({"ECHO", "b"})), "");
  ASSERT_EQ(exchange_.wait(), Wait::kReply);
  EXPECT_EQ(Resume(), "+OK\r\n$1\r\na\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kReply);
  EXPECT_EQ(Resume(), "+OK\r\n$1\r\nb\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
}

TEST_F(ExchangeTest, ALongDeferredReplyLeavesBeforeWhatFollowsRuns) {
  Receive(Command({"SAVE"}) + Command({"ECHO", "a"}));
  const std::string text(kTurnBytes, 'x');
  const std::string reply = ResumeInOneTurn([&](protocol::ReplyWriter& writer) { writer.BulkString(text); });
  EXPECT_GE(reply.size(), text.size());
  EXPECT_FALSE(reply.ends_with("$1\r\na\r\n"));
  ASSERT_EQ(exchange_.wait(), Wait::kTurn);
  EXPECT_EQ(TakeTurns(), "$1\r\na\r\n");
}

TEST_F(ExchangeTest, AProtocolErrorBehindADeferredReplyComesAfterIt) {
  Receive(Command({"SAVE"}) + "*x\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kReply);
  const std::string replies = Resume();
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
  EXPECT_TRUE(replies.starts_with("+OK\r\n-ERR Protocol error: ")) << replies;
}

TEST_F(ExchangeTest, APostponedCommandKeepsItsPlace) {
  EXPECT_EQ(Receive(Command({"PING"}) + Command({"CLIENT", "PAUSE", "100000"}) + "echo \"a b\"\r\n" +
                    Command({"SAVE"}) + Command({"ECHO", "c"})),
            "+PONG\r\n+OK\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kMoment);
  EXPECT_EQ(TakeTurns(), "");
  ASSERT_EQ(exchange_.wait(), Wait::kMoment);
  backend_.clients.pause.Cancel();
  EXPECT_EQ(TakeTurns(), "$3\r\na b\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kReply);
  EXPECT_EQ(Resume(), "+OK\r\n$1\r\nc\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
}

TEST_F(ExchangeTest, AProtocolErrorBehindAPostponedCommandComesAfterIt) {
  EXPECT_EQ(Receive(Command({"CLIENT", "PAUSE", "100000"}) + Command({"PING"}) + "*x\r\n"), "+OK\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kMoment);
  backend_.clients.pause.Cancel();
  const std::string replies = TakeTurns();
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
  EXPECT_TRUE(replies.starts_with("+PONG\r\n-ERR Protocol error: ")) << replies;
}

TEST_F(ExchangeTest, RepliesWaitForTheLog) {
  backend_.durability.Append(7);
  EXPECT_EQ(Receive(Command({"PING"}) + Command({"FLUSHALL"})), "");
  ASSERT_EQ(exchange_.wait(), Wait::kLog);
  EXPECT_EQ(exchange_.log_position(), 7);
  EXPECT_EQ(exchange_.BeginTurn(workspace_), Exchange::Step::kNone);
  exchange_.Release(workspace_);
  EXPECT_EQ(Send(), "+PONG\r\n+OK\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
  EXPECT_EQ(Receive(Command({"PING"})), "+PONG\r\n") << "what changes nothing does not wait";
}

TEST_F(ExchangeTest, WhatFollowsHeldRepliesIsWaitedForAfterThem) {
  backend_.durability.Append(7);
  EXPECT_EQ(Receive(Command({"FLUSHALL"}) + Command({"QUIT"})), "");
  ASSERT_EQ(exchange_.wait(), Wait::kLog);
  exchange_.Release(workspace_);
  EXPECT_EQ(Send(), "+OK\r\n+OK\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
}

TEST_F(ExchangeTest, WhatTheSocketDoesNotTakeIsKept) {
  takes_ = 3;
  EXPECT_EQ(Receive(Command({"ECHO", "hello"})), "$5\r");
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
  EXPECT_EQ(exchange_.unsent(), "\nhello\r\n");
  exchange_.RecordSent(3);
  EXPECT_EQ(exchange_.unsent(), "llo\r\n");
  takes_ = 0;
  EXPECT_EQ(Receive(Command({"PING"})), "");
  exchange_.RecordSent(exchange_.unsent().size());
  EXPECT_EQ(exchange_.unsent(), "");
}

TEST_F(ExchangeTest, NothingRunsBeforeTheClientReads) {
  takes_ = 0;
  const std::string echo = Command({"ECHO", std::string(8000, 'x')});
  std::string sent;
  while (exchange_.wait() == Wait::kInput || exchange_.wait() == Wait::kTurn) {
    if (exchange_.wait() == Wait::kTurn) {
      if (exchange_.BeginTurn(workspace_) == Exchange::Step::kWait) break;
      RunTurn();
    } else {
      ReceiveInOneTurn(echo + echo + echo);
    }
    ASSERT_LE(exchange_.unsent_bytes(), output_limit_);
    if (exchange_.unsent_bytes() > output_limit_ / 2 && exchange_.wait() == Wait::kInput) {
      ReceiveInOneTurn(Repeat("PING\n", 100 * Executor::kWindow));
      // The commands at hand wait.
      ASSERT_EQ(exchange_.wait(), Wait::kTurn);
    }
  }
  ASSERT_EQ(exchange_.wait(), Wait::kReader);
  const size_t before = exchange_.received_bytes();
  EXPECT_EQ(Receive(Command({"PING"})), "");
  EXPECT_GT(exchange_.received_bytes(), before) << "it is received nevertheless";
  while (exchange_.wait() == Wait::kReader) exchange_.RecordSent(exchange_.unsent().size());
  EXPECT_EQ(exchange_.wait(), Wait::kTurn);
  EXPECT_LE(exchange_.unsent_bytes(), output_limit_ / 4);
}

TEST_F(ExchangeTest, AClientThatLeavesTooMuchUnreadIsClosed) {
  takes_ = 0;
  output_limit_ = 20'000;
  const std::string echo = Command({"ECHO", std::string(8000, 'x')});
  for (int i = 0; i < 10 && exchange_.wait() == Wait::kInput; ++i) Receive(echo);
  EXPECT_EQ(exchange_.wait(), Wait::kClosed);
  EXPECT_NE(exchange_.abort(), Session::Abort::kNone);
}

TEST_F(ExchangeTest, TheLastRepliesAreWrittenAfterTheEndOfTheInput) {
  takes_ = 2;
  Receive(Command({"PING"}));
  ASSERT_EQ(exchange_.BeginTurn(workspace_), Exchange::Step::kReceive);
  exchange_.EndInput();
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
  EXPECT_EQ(exchange_.unsent(), "ONG\r\n");
}

TEST_F(ExchangeTest, ADrainedClientIsClosedOnceNothingMoreIsThere) {
  exchange_.FindNothing();
  EXPECT_EQ(exchange_.wait(), Wait::kInput);
  exchange_.Drain();
  ASSERT_EQ(exchange_.wait(), Wait::kTurn);
  EXPECT_EQ(ReceiveInOneTurn(Command({"PING"})), "+PONG\r\n");
  ASSERT_EQ(exchange_.wait(), Wait::kTurn);
  ASSERT_EQ(exchange_.BeginTurn(workspace_), Exchange::Step::kReceive);
  exchange_.FindNothing();
  EXPECT_EQ(exchange_.wait(), Wait::kFlush);
}

TEST_F(ExchangeTest, DrainingWaitsForADeferredReply) {
  Receive(Command({"SAVE"}));
  exchange_.Drain();
  ASSERT_EQ(exchange_.wait(), Wait::kReply);
  EXPECT_EQ(ResumeInOneTurn(kOkReply), "+OK\r\n");
  EXPECT_EQ(exchange_.wait(), Wait::kTurn);
}

TEST_F(ExchangeTest, AccountsForWhatItKeepsAndForNothingOnceClosed) {
  EXPECT_EQ(Accounted(), 100);
  Receive("*2\r\n$4\r\nECHO\r\n$9000\r\n" + std::string(5000, 'x'));
  EXPECT_GE(Accounted(), 5100);
  Receive(std::string(4000, 'x') + "\r\n");
  EXPECT_LT(Accounted(), 5000);
  EXPECT_EQ(backend_.clients.memory_bytes(), exchange_.accounted_bytes());
  exchange_.Close();
  EXPECT_EQ(Accounted(), 0);
  EXPECT_EQ(backend_.clients.memory_bytes(), 0);
  EXPECT_EQ(exchange_.wait(), Wait::kClosed);
  EXPECT_EQ(exchange_.BeginTurn(workspace_), Exchange::Step::kNone);
}

TEST_F(ExchangeTest, AccountsForNothingOnceGone) {
  const uint64_t before = backend_.clients.memory_bytes();
  {
    const Exchange other(std::make_shared<ClientRecord>(2, "a:2", "b:2", 0), surroundings_, 100);
    EXPECT_EQ(backend_.clients.memory_bytes(), before + 100);
  }
  EXPECT_EQ(backend_.clients.memory_bytes(), before);
}

}  // namespace
}  // namespace bitsieve::server
