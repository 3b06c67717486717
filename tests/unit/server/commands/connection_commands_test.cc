#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;
using testing::StartsWith;

class ConnectionCommandsTest : public testing::Test, protected CommandFixture {};

TEST_F(ConnectionCommandsTest, Ping) {
  EXPECT_EQ(Reply({"ping"}), "+PONG\r\n");
  EXPECT_EQ(Reply({"PING", "a\r\nb"}), "$4\r\na\r\nb\r\n");
  EXPECT_EQ(Reply({"PING", "a", "b"}), "-ERR wrong number of arguments for 'ping' command\r\n");
}

TEST_F(ConnectionCommandsTest, EchoIsBinarySafe) {
  EXPECT_EQ(Reply({"ECHO", std::string("\0\xff", 2)}), std::string("$2\r\n\0\xff\r\n", 8));
  EXPECT_EQ(Reply({"ECHO"}), "-ERR wrong number of arguments for 'echo' command\r\n");
}

TEST_F(ConnectionCommandsTest, UnknownCommandsAreQuoted) {
  const std::string reply = Reply({std::string(1'000'000, 'x'), std::string(1'000'000, 'y'), "z"});
  EXPECT_LT(reply.size(), 400u);
}

TEST_F(ConnectionCommandsTest, HelloTellsAboutTheServer) {
  const std::string modules =
      "$7\r\nmodules\r\n*1\r\n*8\r\n$4\r\nname\r\n$2\r\nbf\r\n$3\r\nver\r\n:20812\r\n$4\r\npath\r\n$0\r\n\r\n"
      "$4\r\nargs\r\n*0\r\n";
  EXPECT_EQ(Reply({"HELLO"}),
            "*14\r\n$6\r\nserver\r\n$8\r\nbitsieve\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:2\r\n"
            "$2\r\nid\r\n:7\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n" +
                modules);
}

TEST_F(ConnectionCommandsTest, HelloChoosesTheVersion) {
  EXPECT_THAT(Reply({"hello", "3"}), StartsWith("%7\r\n$6\r\nserver\r\n"));
  EXPECT_EQ(session.version, protocol::ProtocolVersion::kResp3);
  EXPECT_EQ(client->protocol_version, 3);
  EXPECT_THAT(Reply({"HELLO"}), HasSubstr("$5\r\nproto\r\n:3\r\n"));
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "x"}, {"HELLO", "2"}, {"BF.EXISTS", "f", "x"}}).substr(0, 4), "#f\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":0\r\n");
}

TEST_F(ConnectionCommandsTest, HelloChangesNothingWhenItRefuses) {
  EXPECT_EQ(Reply({"HELLO", "4"}), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_EQ(Reply({"HELLO", "x"}), "-ERR Protocol version is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"HELLO", "3", "SETNAME"}), "-ERR Syntax error in HELLO option 'SETNAME'\r\n");
  EXPECT_EQ(Reply({"HELLO", "3", "AUTH", "default"}), "-ERR Syntax error in HELLO option 'AUTH'\r\n");
  EXPECT_EQ(Reply({"HELLO", "3", "WHAT"}), "-ERR Syntax error in HELLO option 'WHAT'\r\n");
  EXPECT_EQ(Reply({"HELLO", "3", "SETNAME", "ok", "AUTH", "alice", "x"}),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(Reply({"HELLO", "3", "SETNAME", "a b"}),
            "-ERR Client names cannot contain spaces, newlines or special characters.\r\n");
  EXPECT_EQ(session.version, protocol::ProtocolVersion::kResp2);
  EXPECT_EQ(client->name(), "");
}

TEST_F(ConnectionCommandsTest, HelloLetsTheDefaultUserInAndNames) {
  EXPECT_THAT(Reply({"HELLO", "3", "AUTH", "default", "anything", "SETNAME", "worker"}), StartsWith("%7\r\n"));
  EXPECT_EQ(client->name(), "worker");
}

TEST_F(ConnectionCommandsTest, Auth) {
  EXPECT_EQ(Reply({"AUTH", "default", "x"}), "+OK\r\n");
  EXPECT_EQ(Reply({"AUTH", "alice", "x"}), "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_THAT(Reply({"AUTH", "x"}), StartsWith("-ERR AUTH <password> called without any password configured"));
}

TEST_F(ConnectionCommandsTest, SelectKnowsOneDatabase) {
  EXPECT_EQ(Reply({"SELECT", "0"}), "+OK\r\n");
  EXPECT_EQ(Reply({"SELECT", "1"}), "-ERR DB index is out of range\r\n");
  EXPECT_EQ(Reply({"SELECT", "-1"}), "-ERR DB index is out of range\r\n");
  EXPECT_EQ(Reply({"SELECT", "x"}), "-ERR value is not an integer or out of range\r\n");
}

TEST_F(ConnectionCommandsTest, QuitEndsTheBatch) {
  EXPECT_EQ(Replies({{"PING"}, {"QUIT"}, {"PING"}}), "+PONG\r\n+OK\r\n");
  EXPECT_EQ(outcome.executed, 2u);
  EXPECT_TRUE(session.closing);
}

TEST_F(ConnectionCommandsTest, ResetMakesItNew) {
  Replies({{"HELLO", "3", "SETNAME", "worker"}, {"MULTI"}, {"PING"}});
  EXPECT_EQ(Reply({"RESET"}), "+RESET\r\n");
  EXPECT_EQ(client->name(), "");
  EXPECT_EQ(session.version, protocol::ProtocolVersion::kResp2);
  EXPECT_EQ(Reply({"PING"}), "+PONG\r\n");
  EXPECT_EQ(Reply({"EXEC"}), "-ERR EXEC without MULTI\r\n");
}

TEST_F(ConnectionCommandsTest, ResetSwitchesRepliesOnAgain) {
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "OFF"}, {"RESET"}, {"PING"}}), "+RESET\r\n+PONG\r\n");
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "OFF"}, {"CLIENT", "REPLY", "SKIP"}, {"RESET"}, {"PING"}}),
            "+RESET\r\n+PONG\r\n");
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "SKIP"}, {"RESET"}, {"PING"}}), "+PONG\r\n") << "as in Redis";
  EXPECT_EQ(Replies({{"MULTI"}, {"CLIENT", "REPLY", "OFF"}, {"RESET"}, {"PING"}}),
            "+OK\r\n-ERR Command not allowed inside a transaction\r\n+RESET\r\n+PONG\r\n");
}

// RESET clears all settings that a connection may have and a new one does not.
TEST_F(ConnectionCommandsTest, ResetLeavesNothingOfWhatWasSet) {
  const std::string fresh = Reply({"CLIENT", "INFO"});
  Reply({"HELLO", "3", "SETNAME", "worker"});
  Reply({"CLIENT", "NO-EVICT", "ON"});
  Reply({"SUBSCRIBE", "a"});
  Reply({"PSUBSCRIBE", "b*"});
  Reply({"MONITOR"});
  Reply({"WATCH", "f"});
  Reply({"MULTI"});
  Reply({"RESET"});
  EXPECT_EQ(Reply({"CLIENT", "INFO"}), fresh);
  EXPECT_FALSE(client->no_evict);
}

}  // namespace
}  // namespace bitsieve::server
