#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/session/kept_arguments.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;

class TransactionCommandsTest : public testing::Test, protected CommandFixture {};

constexpr const char* kAborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";

TEST_F(TransactionCommandsTest, ExecRunsInOrder) {
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"BF.ADD", "f", "x"}, {"BF.MADD", "f", "y"}, {"EXEC"}, {"PING"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:0\r\n*1\r\n:1\r\n+PONG\r\n");
  EXPECT_EQ(session.queued_bytes, 0u);
}

TEST_F(TransactionCommandsTest, NothingRunsBeforeExec) {
  Replies({{"MULTI"}, {"BF.ADD", "f", "x"}});
  EXPECT_EQ(registry.Size(), 0u);
  EXPECT_EQ(client->queued_commands, 1);
  EXPECT_EQ(Reply({"DISCARD"}), "+OK\r\n");
  EXPECT_EQ(client->queued_commands, -1);
  EXPECT_EQ(registry.Size(), 0u);
  EXPECT_EQ(Reply({"EXEC"}), "-ERR EXEC without MULTI\r\n");
  EXPECT_EQ(Reply({"DISCARD"}), "-ERR DISCARD without MULTI\r\n");
}

TEST_F(TransactionCommandsTest, QueuedArgumentsAreCopies) {
  {
    const std::vector<Words> gone{{"MULTI"}, {"BF.ADD", "a name that is long", "an item that is long enough"}};
    Replies(gone);
  }
  EXPECT_EQ(Reply({"EXEC"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "a name that is long", "an item that is long enough"}), ":1\r\n");
}

// Returns the bytes of arguments that are kept elsewhere.
class SharedBytes final : public ArgumentBytes {
 public:
  std::shared_ptr<const void> Share() override { return owner_; }
  size_t shared_bytes() const override { return 1'000'000; }

 private:
  std::shared_ptr<const void> owner_ = std::make_shared<int>();
};

TEST_F(TransactionCommandsTest, ManyQueuedArgumentsAreNeitherCopiedNorMoved) {
  Words words{"BF.MADD", "f"};
  for (int i = 0; i < 20'000; ++i) words.push_back("item " + std::to_string(i));
  const std::vector<Words> commands{words};
  CommandBatch batch = test::BatchOf(commands);
  SharedBytes bytes;
  batch.bytes = &bytes;
  const std::string_view* const arguments = batch.arguments.data();
  Reply({"MULTI"});
  std::string out;
  protocol::ReplyWriter reply(out);
  dispatcher->Execute(session, batch, 0, reply);
  EXPECT_EQ(out, "+QUEUED\r\n");
  ASSERT_EQ(session.queued.size(), 1U);
  EXPECT_EQ(session.queued[0].get().data(), arguments);
  EXPECT_EQ(session.queued[0].get()[2].data(), commands[0][2].data());
  EXPECT_GE(session.queued_bytes, 1'000'000 + 20'000 * sizeof(std::string_view)) << "all that is kept counts";
  EXPECT_TRUE(Reply({"EXEC"}).starts_with("*1\r\n*20000\r\n:1\r\n"));
  EXPECT_EQ(session.queued_bytes, 0U);
}

TEST_F(TransactionCommandsTest, EmptyExec) { EXPECT_EQ(Replies({{"MULTI"}, {"EXEC"}}), "+OK\r\n*0\r\n"); }

TEST_F(TransactionCommandsTest, ErrorsWhileQueueingAbort) {
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"BF.ADD", "f"}, {"PING"}, {"EXEC"}}),
            "+OK\r\n+QUEUED\r\n" + test::ArityReply("bf.add") + "+QUEUED\r\n" + kAborted);
  EXPECT_EQ(Replies({{"MULTI"}, {"NOSUCH", "x"}, {"EXEC"}}),
            "+OK\r\n-ERR unknown command 'NOSUCH', with args beginning with: 'x' \r\n" + std::string(kAborted));
  EXPECT_EQ(registry.Size(), 0u);
  EXPECT_EQ(Reply({"PING"}), "+PONG\r\n");
}

// A refused EXEC ends the transaction, as in Redis, for any reason of the refusal.
TEST_F(TransactionCommandsTest, ARefusedExecEndsTheTransaction) {
  constexpr const char* kArity =
      "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n";
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"EXEC", "x"}, {"EXEC"}}),
            "+OK\r\n+QUEUED\r\n" + std::string(kArity) + "-ERR EXEC without MULTI\r\n");
  EXPECT_EQ(Reply({"EXEC", "x"}), kArity);
  EXPECT_EQ(
      Replies({{"SUBSCRIBE", "c"}, {"EXEC"}, {"RESET"}}),
      "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
      "-EXECABORT Transaction discarded because of: Can't execute 'exec': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
      "PING / QUIT / RESET are allowed in this context\r\n+RESET\r\n");
  Reply({"ACL", "SETUSER", "default", "-exec"});
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"EXEC"}, {"PING"}}),
            "+OK\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of: NOPERM User default has no permissions to "
            "run the 'exec' command\r\n+PONG\r\n");
  EXPECT_EQ(registry.Size(), 0u);
}

TEST_F(TransactionCommandsTest, ErrorsWhileRunningDoNot) {
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.INFO", "f"}, {"PING"}, {"EXEC"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR not found\r\n+PONG\r\n");
}

TEST_F(TransactionCommandsTest, NestedMultiIsRefusedAndHarmless) {
  EXPECT_EQ(Replies({{"MULTI"}, {"MULTI"}, {"PING"}, {"EXEC"}}),
            "+OK\r\n-ERR MULTI calls can not be nested\r\n+QUEUED\r\n*1\r\n+PONG\r\n");
}

TEST_F(TransactionCommandsTest, SaveAndShutdownAreRefused) {
  EXPECT_EQ(Replies({{"MULTI"}, {"SAVE"}, {"EXEC"}}),
            "+OK\r\n-ERR Command not allowed inside a transaction\r\n" + std::string(kAborted));
  EXPECT_EQ(Replies({{"MULTI"}, {"SHUTDOWN"}, {"EXEC"}}),
            "+OK\r\n-ERR Command not allowed inside a transaction\r\n" + std::string(kAborted));
  EXPECT_TRUE(control.shutdowns.empty());
}

TEST_F(TransactionCommandsTest, QuitRunsAtOnce) {
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"QUIT"}}), "+OK\r\n+QUEUED\r\n+OK\r\n");
  EXPECT_TRUE(session.closing);
  EXPECT_EQ(registry.Size(), 0u);
}

TEST_F(TransactionCommandsTest, TheQueueIsBounded) {
  settings.max_queued_bytes = 10'000;
  Reply({"MULTI"});
  const std::string item(1000, 'x');
  std::string last;
  for (int i = 0; i < 10; ++i) last = Reply({"BF.ADD", "f", item});
  EXPECT_EQ(last, "+QUEUED\r\n") << "after the refusal nothing is kept any more";
  EXPECT_TRUE(session.multi_failed);
  EXPECT_TRUE(session.queued.empty());
  EXPECT_EQ(Reply({"EXEC"}), kAborted);

  Reply({"MULTI"});
  std::string replies;
  for (int i = 0; i < 200; ++i) replies += Reply({"PING"});
  EXPECT_NE(replies.find("-ERR the commands queued by MULTI exceed"), std::string::npos)
      << "small commands are not free";
  Reply({"DISCARD"});
}

TEST_F(TransactionCommandsTest, VersionChangesInTheMiddleAsInRedis) {
  const std::string reply =
      Replies({{"MULTI"}, {"BF.EXISTS", "f", "x"}, {"HELLO", "3"}, {"BF.EXISTS", "f", "x"}, {"EXEC"}});
  EXPECT_TRUE(reply.ends_with("#f\r\n"));
  EXPECT_NE(reply.find("*3\r\n:0\r\n%7\r\n"), std::string::npos);
}

}  // namespace
}  // namespace bitsieve::server
