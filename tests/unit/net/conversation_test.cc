#include "server/net/conversation.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/net/client.h"
#include "tests/unit/net/fakes.h"

namespace bitsieve::server {
namespace {

using State = Conversation::State;
using testing::Command;
using testing::Repeat;

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest()
      : dispatcher_([this] {
          auto environment = backend_.environment();
          environment.loop_stats = &backend_.stats.loops.emplace_back();
          return environment;
        }()) {}

  // Runs one window of `bytes`, of which it removes what was consumed.
  Conversation::Step RunWindow(std::string& bytes) {
    auto step = conversation_.RunWindow(bytes, dispatcher_, batch_, reply_);
    bytes.erase(0, step.consumed);
    return step;
  }

  testing::Backend backend_;
  Dispatcher dispatcher_;
  test::Default<protocol::RequestLimits> limits_;
  Conversation conversation_{std::make_shared<ClientRecord>(1, "a:1", "b:2", 0), limits_};
  CommandBatch batch_;
  std::string reply_;
};

TEST_F(ConversationTest, RunsAWindowAtATime) {
  std::string bytes = Repeat(Command({"PING"}), Dispatcher::kWindow + 3);
  EXPECT_EQ(RunWindow(bytes).state, State::kMore);
  EXPECT_EQ(reply_, Repeat("+PONG\r\n", Dispatcher::kWindow));
  RunWindow(bytes);
  EXPECT_EQ(reply_, Repeat("+PONG\r\n", Dispatcher::kWindow + 3));
  EXPECT_EQ(bytes, "");
}

TEST_F(ConversationTest, WaitsForTheRestOfACommand) {
  std::string bytes = Command({"PING"}) + "*2\r\n$4\r\nECHO\r\n$5\r\nhel";
  EXPECT_EQ(RunWindow(bytes).state, State::kNeedMore);
  EXPECT_EQ(reply_, "+PONG\r\n");
  bytes += "lo\r\n";
  RunWindow(bytes);
  EXPECT_EQ(reply_, "+PONG\r\n$5\r\nhello\r\n");
  EXPECT_EQ(bytes, "");
}

TEST_F(ConversationTest, RepliesBeforeAProtocolErrorAreGiven) {
  std::string bytes = Command({"PING"}) + "*x\r\n";
  EXPECT_EQ(RunWindow(bytes).state, State::kClose);
  EXPECT_TRUE(conversation_.broken());
  EXPECT_TRUE(reply_.starts_with("+PONG\r\n-ERR Protocol error: ")) << reply_;
}

TEST_F(ConversationTest, NothingIsRunAfterQuit) {
  std::string bytes = Command({"QUIT"}) + Command({"PING"});
  EXPECT_EQ(RunWindow(bytes).state, State::kClose);
  EXPECT_FALSE(conversation_.broken());
  EXPECT_EQ(reply_, "+OK\r\n");
}

TEST_F(ConversationTest, CommandsBehindADeferredReplyWaitForIt) {
  std::string bytes = Command({"PING"}) + Command({"SAVE"}) + "echo \"a b\"\r\n" + Command({"ECHO", "c"});
  const auto step = RunWindow(bytes);
  ASSERT_EQ(step.state, State::kDeferred);
  EXPECT_TRUE(step.deferred);
  EXPECT_EQ(reply_, "+PONG\r\n");
  // The bytes are gone before the reply comes.
  bytes = std::string(1000, '!');
  batch_.Clear();
  const auto after = conversation_.Resume([](protocol::ReplyWriter& reply) { reply.Ok(); }, dispatcher_, reply_);
  EXPECT_EQ(after.state, State::kMore);
  EXPECT_EQ(reply_, "+PONG\r\n+OK\r\n$3\r\na b\r\n$1\r\nc\r\n");
}

TEST_F(ConversationTest, TwoDeferredRepliesInOneWindow) {
  std::string bytes = Command({"SAVE"}) + Command({"ECHO", "a"}) + Command({"SAVE"}) + Command({"ECHO", "b"});
  const WriteReply ok = [](protocol::ReplyWriter& reply) { reply.Ok(); };
  ASSERT_EQ(RunWindow(bytes).state, State::kDeferred);
  ASSERT_EQ(conversation_.Resume(ok, dispatcher_, reply_).state, State::kDeferred);
  EXPECT_EQ(reply_, "+OK\r\n$1\r\na\r\n");
  ASSERT_EQ(conversation_.Resume(ok, dispatcher_, reply_).state, State::kMore);
  EXPECT_EQ(reply_, "+OK\r\n$1\r\na\r\n+OK\r\n$1\r\nb\r\n");
}

TEST_F(ConversationTest, AProtocolErrorBehindADeferredReplyComesAfterIt) {
  std::string bytes = Command({"SAVE"}) + "*x\r\n";
  ASSERT_EQ(RunWindow(bytes).state, State::kDeferred);
  const auto after = conversation_.Resume([](protocol::ReplyWriter& reply) { reply.Ok(); }, dispatcher_, reply_);
  EXPECT_EQ(after.state, State::kClose);
  EXPECT_TRUE(reply_.starts_with("+OK\r\n-ERR Protocol error: ")) << reply_;
}

TEST_F(ConversationTest, APostponedCommandKeepsItsPlace) {
  std::string bytes = Command({"PING"}) + Command({"CLIENT", "PAUSE", "100000"}) + "echo \"a b\"\r\n" +
                      Command({"SAVE"}) + Command({"ECHO", "c"});
  ASSERT_EQ(RunWindow(bytes).state, State::kPostponed);
  EXPECT_EQ(reply_, "+PONG\r\n+OK\r\n");
  bytes = std::string(1000, '!');
  batch_.Clear();
  EXPECT_EQ(conversation_.Retry(dispatcher_, reply_).state, State::kPostponed);
  EXPECT_EQ(reply_, "+PONG\r\n+OK\r\n");
  backend_.clients.pause.Cancel();
  EXPECT_EQ(conversation_.Retry(dispatcher_, reply_).state, State::kDeferred);
  EXPECT_EQ(reply_, "+PONG\r\n+OK\r\n$3\r\na b\r\n");
  const auto after = conversation_.Resume([](protocol::ReplyWriter& reply) { reply.Ok(); }, dispatcher_, reply_);
  EXPECT_EQ(after.state, State::kMore);
  EXPECT_EQ(reply_, "+PONG\r\n+OK\r\n$3\r\na b\r\n+OK\r\n$1\r\nc\r\n");
}

TEST_F(ConversationTest, AProtocolErrorBehindAPostponedCommandComesAfterIt) {
  std::string bytes = Command({"CLIENT", "PAUSE", "100000"}) + Command({"PING"}) + "*x\r\n";
  ASSERT_EQ(RunWindow(bytes).state, State::kPostponed);
  backend_.clients.pause.Cancel();
  EXPECT_EQ(conversation_.Retry(dispatcher_, reply_).state, State::kClose);
  EXPECT_TRUE(reply_.starts_with("+OK\r\n+PONG\r\n-ERR Protocol error: ")) << reply_;
}

}  // namespace
}  // namespace bitsieve::server
