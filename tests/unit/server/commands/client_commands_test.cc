#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ClientCommandsTest : public testing::Test, protected CommandFixture {};

TEST_F(ClientCommandsTest, NamesAndIds) {
  EXPECT_EQ(Reply({"CLIENT", "ID"}), ":7\r\n");
  EXPECT_EQ(Reply({"CLIENT", "GETNAME"}), "$-1\r\n");
  EXPECT_EQ(Reply({"client", "setname", "worker-1"}), "+OK\r\n");
  EXPECT_EQ(Reply({"CLIENT", "GETNAME"}), "$8\r\nworker-1\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", ""}), "+OK\r\n");
  EXPECT_EQ(Reply({"CLIENT", "GETNAME"}), "$-1\r\n");
}

TEST_F(ClientCommandsTest, NamesThatWouldForgeTheListAreRefused) {
  const std::string error = "-ERR Client names cannot contain spaces, newlines or special characters.\r\n";
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", "a b"}), error);
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", "a\nid=1"}), error);
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", "\xff"}), error);
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", std::string(1025, 'a')}),
            "-ERR Client names cannot be longer than 1024 bytes.\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETINFO", "lib-ver", "1 2"}),
            "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETINFO", "colour", "red"}), "-ERR Unrecognized option 'colour'\r\n");
}

TEST_F(ClientCommandsTest, ListHasALineAClient) {
  clients.Add(std::make_shared<ClientRecord>(3, "10.0.0.1:99", "10.0.0.2:7379", 0));
  Replies(
      {{"CLIENT", "SETNAME", "me"}, {"CLIENT", "SETINFO", "LIB-NAME", "lib"}, {"CLIENT", "SETINFO", "LIB-VER", "1.2"}});
  const std::string list = Reply({"CLIENT", "LIST"});
  EXPECT_THAT(list, HasSubstr("\nid=7 addr=127.0.0.1:5000 laddr=127.0.0.1:7379 name=me age="));
  EXPECT_THAT(list, HasSubstr("id=3 addr=10.0.0.1:99 "));
  EXPECT_LT(list.find("id=3"), list.find("id=7"));
  EXPECT_THAT(list, HasSubstr(" cmd=client|list user=default lib-name=lib lib-ver=1.2 resp=2\n"));
  EXPECT_THAT(Reply({"CLIENT", "LIST", "ID", "3", "99"}), AllOf(HasSubstr("id=3"), Not(HasSubstr("id=7"))));
  EXPECT_THAT(Reply({"CLIENT", "LIST", "TYPE", "normal"}), HasSubstr("id=7"));
  EXPECT_EQ(Reply({"CLIENT", "LIST", "TYPE", "pubsub"}), "$0\r\n\r\n");
  EXPECT_THAT(Reply({"CLIENT", "INFO"}), HasSubstr("id=7 addr=127.0.0.1:5000 "));
}

TEST_F(ClientCommandsTest, ListRefusesNonsense) {
  EXPECT_EQ(Reply({"CLIENT", "LIST", "TYPE", "odd"}), "-ERR Unknown client type 'odd'\r\n");
  EXPECT_EQ(Reply({"CLIENT", "LIST", "ID", "x"}), "-ERR Invalid client ID\r\n");
  EXPECT_EQ(Reply({"CLIENT", "LIST", "ID"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"CLIENT", "LIST", "WHAT"}), "-ERR syntax error\r\n");
}

TEST_F(ClientCommandsTest, KillClosesWhatFitsAllFilters) {
  std::vector<uint64_t> closed;
  for (const uint64_t id : {3, 4, 5}) {
    auto other = std::make_shared<ClientRecord>(id, "10.0.0.1:" + std::to_string(id), "10.0.0.2:7379", 0);
    other->close = [&closed, id](const char*) { closed.push_back(id); };
    clients.Add(other);
  }
  EXPECT_EQ(Reply({"CLIENT", "KILL", "10.0.0.1:9"}), "-ERR No such client\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "10.0.0.1:3"}), "+OK\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "ID", "4", "5", "ADDR", "10.0.0.1:5"}), ":1\r\n");
  EXPECT_EQ(closed, (std::vector<uint64_t>{3, 5}));
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), Not(HasSubstr("id=3 "))) << "it is as good as gone";
  EXPECT_EQ(Reply({"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "no"}), ":0\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "MAXAGE", "10", "USER", "default", "LADDR", "10.0.0.2:7379"}), ":1\r\n");
  EXPECT_FALSE(session.closing);
  EXPECT_EQ(Reply({"CLIENT", "KILL", "SKIPME", "no"}), ":1\r\n");
  EXPECT_TRUE(session.closing) << "it gets its reply first";
}

TEST_F(ClientCommandsTest, KillRefusesNonsense) {
  EXPECT_EQ(Reply({"CLIENT", "KILL", "ID", "0"}), "-ERR client-id should be greater than 0\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "ID", "x"}), "-ERR client-id should be greater than 0\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "ADDR", "a", "SKIPME", "maybe"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "USER", "root"}), "-ERR No such user 'root'\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "TYPE", "odd"}), "-ERR Unknown client type 'odd'\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "MAXAGE", "-1"}), "-ERR maxage is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"CLIENT", "KILL", "COLOUR", "red"}), "-ERR syntax error\r\n");
}

TEST_F(ClientCommandsTest, RepliesCanBeLeftOut) {
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "SKIP"}, {"PING"}, {"ECHO", "a"}}), "$1\r\na\r\n");
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "SKIP"}, {"CLIENT", "REPLY", "SKIP"}, {"PING"}, {"ECHO", "a"}}),
            "$1\r\na\r\n");
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "OFF"}, {"PING"}, {"NOSUCH"}, {"CLIENT", "REPLY", "SKIP"}, {"PING"}}), "");
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), "");
  EXPECT_EQ(Replies({{"BF.ADD", "f", "y"}, {"BF.EXISTS", "f", "y"}}), "");
  EXPECT_EQ(Replies({{"CLIENT", "REPLY", "ON"}, {"BF.EXISTS", "f", "y"}}), "+OK\r\n:1\r\n");
  EXPECT_EQ(Reply({"CLIENT", "REPLY", "NEVER"}), "-ERR syntax error\r\n");
}

TEST_F(ClientCommandsTest, SwitchesOfTheConnection) {
  EXPECT_EQ(Reply({"CLIENT", "NO-EVICT", "ON"}), "+OK\r\n");
  EXPECT_THAT(Reply({"CLIENT", "INFO"}), HasSubstr(" flags=e "));
  EXPECT_EQ(Reply({"CLIENT", "NO-EVICT", "OFF"}), "+OK\r\n");
  EXPECT_EQ(Reply({"CLIENT", "NO-EVICT", "maybe"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"CLIENT", "TRACKING", "OFF"}), "+OK\r\n");
  EXPECT_THAT(Reply({"CLIENT", "TRACKING", "ON", "BCAST"}), StartsWith("-ERR client tracking is not supported"));
}

TEST_F(ClientCommandsTest, HttpAbortsBeforeAnythingElseRuns) {
  EXPECT_EQ(Replies({{"Post", "/", "HTTP/1.1"}, {"BF.ADD", "f", "x"}}), "");
  EXPECT_EQ(session.abort, Session::Abort::kHttp);
  EXPECT_EQ(outcome.executed, 1U);
  session.abort = Session::Abort::kNone;
  Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"HOST:", "a"}, {"EXEC"}});
  EXPECT_EQ(session.abort, Session::Abort::kHttp);
  EXPECT_EQ(registry.Size(), 0U);
}

TEST_F(ClientCommandsTest, TheLargestConnectionsAreClosedFirst) {
  std::vector<uint64_t> closed;
  const auto add = [&](uint64_t id, uint64_t bytes) {
    auto other = std::make_shared<ClientRecord>(id, "a:1", "b:2", 0);
    other->close = [&closed, id](const char*) { closed.push_back(id); };
    other->memory.total = bytes;
    clients.UpdateMemory(0, bytes);
    clients.Add(other);
    return other;
  };
  clients.set_memory_limit(1'000'000);
  add(1, 500'000);
  add(2, 700'000);
  add(3, 900'000)->no_evict = true;
  add(4, 1'000);
  EXPECT_TRUE(clients.OverMemoryLimit());
  clients.Evict();
  EXPECT_EQ(closed, (std::vector<uint64_t>{2, 1}));
  clients.Evict();
  EXPECT_EQ(closed.size(), 2U) << "those that are being closed count no longer, and a small one is not worth it";
  EXPECT_EQ(clients.evicted(), 2U);
}

TEST_F(ClientCommandsTest, APauseStopsBeforeTheFirstCommandThatMustWait) {
  EXPECT_EQ(Reply({"CLIENT", "PAUSE", "100000", "WRITE"}), "+OK\r\n");
  EXPECT_EQ(Replies({{"PING"}, {"BF.EXISTS", "f", "x"}, {"BF.ADD", "f", "x"}, {"PING"}}), "+PONG\r\n:0\r\n");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_EQ(outcome.executed, 2U);
  EXPECT_FALSE(outcome.wrote);
  EXPECT_EQ(Reply({"CLIENT", "PAUSE", "100000"}), "+OK\r\n");
  EXPECT_EQ(Replies({{"NOSUCH"}, {"PING"}}).substr(0, 4), "-ERR");
  EXPECT_EQ(outcome.executed, 1U);
  clients.pause.Cancel();
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"}, {"PING"}}), ":1\r\n+PONG\r\n");
  EXPECT_NE(outcome.wait, Wait::kMoment);
}

// Each of these was checked with Redis 7.0.
TEST_F(ClientCommandsTest, APauseOfAllHoldsBackAllThatIsNotRefused) {
  Reply({"CLIENT", "PAUSE", "100000", "ALL"});
  const std::vector<Words> held{{"CLIENT", "UNPAUSE"},
                                {"CLIENT", "ID"},
                                {"SHUTDOWN", "NONSENSE"},
                                {"QUIT"},
                                {"RESET"},
                                {"CONFIG", "GET", "x"},
                                {"MULTI"},
                                {"HELLO"}};
  for (const Words& command : held) {
    EXPECT_EQ(Reply(command), "") << command[0];
    EXPECT_EQ(outcome.wait, Wait::kMoment) << command[0];
  }
  for (const Words& command : {Words{"NOSUCH"}, Words{"BF.ADD", "f"}, Words{"CLIENT", "NOSUCH"}, Words{"CLIENT"}}) {
    EXPECT_THAT(Reply(command), StartsWith("-ERR ")) << command[0];
  }
}

TEST_F(ClientCommandsTest, APauseOfWritesHoldsBackMessagesAndNotUnpause) {
  Reply({"CLIENT", "PAUSE", "100000", "WRITE"});
  for (const Words& command : {Words{"PUBLISH", "c", "m"}, Words{"FLUSHALL"}}) {
    EXPECT_EQ(Reply(command), "") << command[0];
  }
  EXPECT_EQ(Reply({"SUBSCRIBE", "c"}).substr(0, 2), "*3");
  EXPECT_EQ(Replies({{"UNSUBSCRIBE"}, {"CLIENT", "UNPAUSE"}, {"PUBLISH", "c", "m"}}),
            "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n+OK\r\n:0\r\n");
}

TEST_F(ClientCommandsTest, APauseHoldsBackWhatMultiWouldQueue) {
  Reply({"MULTI"});
  clients.pause.Begin(ClientPause::Scope::kWrites, core::SystemClock().MonotonicMs() + 100000,
                      core::SystemClock().MonotonicMs());
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), "+QUEUED\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), "");
  EXPECT_EQ(Reply({"PUBLISH", "c", "m"}), "");
  EXPECT_EQ(Reply({"EXEC"}), "*1\r\n:0\r\n");
  clients.pause.Cancel();
  Replies({{"MULTI"}, {"PUBLISH", "c", "m"}});
  clients.pause.Begin(ClientPause::Scope::kWrites, core::SystemClock().MonotonicMs() + 100000,
                      core::SystemClock().MonotonicMs());
  EXPECT_EQ(Reply({"EXEC"}), "");
  clients.pause.Begin(ClientPause::Scope::kAll, core::SystemClock().MonotonicMs() + 100000,
                      core::SystemClock().MonotonicMs());
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), "");
}

TEST_F(ClientCommandsTest, APreparedRunOfCommandsIsPausedToo) {
  Reply({"BF.ADD", "f", "x"});
  clients.pause.Begin(ClientPause::Scope::kWrites, core::SystemClock().MonotonicMs() + 100000,
                      core::SystemClock().MonotonicMs());
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "x"}, {"BF.ADD", "f", "y"}, {"BF.ADD", "f", "z"}}), ":1\r\n");
  EXPECT_EQ(outcome.executed, 1U);
}

TEST_F(ClientCommandsTest, ATransactionThatWritesIsPausedAsAWhole) {
  Replies({{"MULTI"}, {"BF.ADD", "f", "x"}});
  clients.pause.Begin(ClientPause::Scope::kWrites, core::SystemClock().MonotonicMs() + 100000,
                      core::SystemClock().MonotonicMs());
  EXPECT_EQ(Reply({"EXEC"}), "");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_EQ(Replies({{"DISCARD"}, {"MULTI"}, {"BF.EXISTS", "f", "x"}, {"EXEC"}}),
            "+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:0\r\n");
}

TEST_F(ClientCommandsTest, APauseGrowsAndEnds) {
  ClientPause pause;
  pause.Begin(ClientPause::Scope::kAll, 100, 10);
  pause.Begin(ClientPause::Scope::kWrites, 50, 10);
  EXPECT_EQ(pause.ScopeAt(99), ClientPause::Scope::kAll);
  EXPECT_EQ(pause.ScopeAt(100), ClientPause::Scope::kNone);
  pause.Begin(ClientPause::Scope::kWrites, 150, 110);  // the first one is over
  EXPECT_EQ(pause.ScopeAt(120), ClientPause::Scope::kWrites);
}

TEST_F(ClientCommandsTest, PauseRefusesNonsense) {
  EXPECT_EQ(Reply({"CLIENT", "PAUSE", "-1"}), "-ERR timeout is negative\r\n");
  EXPECT_EQ(Reply({"CLIENT", "PAUSE", "soon"}), "-ERR timeout is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"CLIENT", "PAUSE", "9223372036854775807"}), "-ERR timeout is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"CLIENT", "PAUSE", "1", "READ"}), "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n");
  EXPECT_EQ(Reply({"PING"}), "+PONG\r\n");
}

TEST_F(ClientCommandsTest, SubcommandsHaveTheirOwnErrors) {
  EXPECT_EQ(Reply({"CLIENT"}), "-ERR wrong number of arguments for 'client' command\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETNAME"}), "-ERR wrong number of arguments for 'client|setname' command\r\n");
  EXPECT_THAT(Reply({"CLIENT", "MAINT_NOTIFICATIONS", "ON"}),
              StartsWith("-ERR unknown subcommand 'MAINT_NOTIFICATIONS', must be one of: help, id, getname, "));
}

TEST_F(ClientCommandsTest, Resp3ListIsVerbatim) {
  session.version = protocol::ProtocolVersion::kResp3;
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), StartsWith("="));
}

TEST(ClientListTest, KeepsRecordsById) {
  ClientList list;
  for (const uint64_t id : {5, 1, 3}) list.Add(std::make_shared<ClientRecord>(id, "", "", 0));
  list.Remove(3);
  list.Remove(4);
  ASSERT_EQ(list.Size(), 2u);
  EXPECT_EQ(list.All()[0]->id, 1u);
  EXPECT_EQ(list.All()[1]->id, 5u);
}

}  // namespace
}  // namespace bitsieve::server
