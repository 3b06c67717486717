// Replies to commands that changed something wait for the log; see connection.h.

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/net/running_server.h"

namespace bitsieve::server {
namespace {

using testing::Client;
using testing::Command;
using testing::Eventually;
using testing::Repeat;
using testing::RunningServer;

// Its filters are none; what counts is that the command may have changed something.
const std::string kWriting = Command({"DEL", "f"});
const std::string kWritten = ":0\r\n";

class HeldReplies : public ::testing::Test {
 protected:
  HeldReplies() { log().Append(100); }

  test::FakeDurability& log() { return server_.backend_.durability; }
  bool Waits(size_t connections) {
    return Eventually([&] { return log().Waiting() == connections; });
  }
  // Sends a command that changes something and waits until its reply is held.
  Client Writing() {
    Client client = server_.Connect();
    client.Send(kWriting);
    EXPECT_TRUE(Waits(1));
    return client;
  }

  RunningServer server_{1};
};

TEST_F(HeldReplies, AreHeldUntilTheLogHasComeFarEnough) {
  Client client = Writing();
  log().Reach(99);
  EXPECT_TRUE(Waits(1));
  EXPECT_EQ(server_.Sum(&LoopStats::output_bytes), 0);
  log().Reach(100);
  EXPECT_EQ(client.Receive(4), kWritten);
  EXPECT_EQ(client.Ask("DEL f", 4), kWritten) << "nothing to wait for any more";
}

// WAITAOF holds its own connection up, and no other.
TEST_F(HeldReplies, AWaitForTheSyncHoldsNoOtherConnectionUp) {
  log().holds_replies = false;
  Client client = server_.Connect(), other = server_.Connect();
  client.Send(kWriting + Command({"WAITAOF", "1", "0", "0"}) + Command({"PING"}));
  EXPECT_EQ(client.Receive(4), kWritten);
  EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
  log().Reach(100);
  EXPECT_EQ(client.Receive(19), "*2\r\n:1\r\n:0\r\n+PONG\r\n");
}

TEST_F(HeldReplies, AStopEndsTheWaitForTheSync) {
  log().holds_replies = false;
  Client client = server_.Connect();
  client.Send(kWriting + Command({"WAITAOF", "1", "0", "0"}));
  EXPECT_EQ(client.Receive(4), kWritten);
  server_.Stop();
  EXPECT_EQ(client.ReceiveAll(), "*2\r\n:0\r\n:0\r\n");
}

TEST_F(HeldReplies, AllRepliesOfABatchKeepTheirOrder) {
  Client client = server_.Connect();
  client.Send(Command({"PING"}) + kWriting + Command({"ECHO", "a"}));
  ASSERT_TRUE(Waits(1));
  client.Send(Command({"ECHO", "b"}) + kWriting);
  EXPECT_EQ(server_.Sum(&LoopStats::output_bytes), 0);
  // ECHO a may wait, too, if the connection had worked for so long that it was the turn of others.
  EXPECT_LE(server_.Sum(&LoopStats::commands), 3) << "nothing is run meanwhile";
  log().Append(200);
  log().Reach(100);
  EXPECT_EQ(client.Receive(18), "+PONG\r\n:0\r\n$1\r\na\r\n");
  ASSERT_TRUE(Waits(1));
  log().Reach(200);
  EXPECT_EQ(client.Receive(11), "$1\r\nb\r\n:0\r\n");
}

TEST_F(HeldReplies, ReadsOfOthersGoOn) {
  Client client = Writing();
  Client other = server_.Connect();
  EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
  EXPECT_EQ(other.Ask("BF.EXISTS f x", 4), ":0\r\n");
  log().Reach(100);
  EXPECT_EQ(client.Receive(4), kWritten);
}

TEST_F(HeldReplies, SeveralConnectionsAreReleasedEachInItsTime) {
  std::vector<Client> clients;
  for (size_t i = 0; i < 3; ++i) {
    log().Append(10 * (i + 1));
    clients.push_back(server_.Connect());
    clients[i].Send(Command({"ECHO", std::to_string(i)}) + kWriting);
    ASSERT_TRUE(Waits(i + 1));
  }
  log().Reach(20);
  EXPECT_EQ(clients[0].Receive(11), "$1\r\n0\r\n:0\r\n");
  EXPECT_EQ(clients[1].Receive(11), "$1\r\n1\r\n:0\r\n");
  EXPECT_TRUE(Waits(1));
  log().Reach(30);
  EXPECT_EQ(clients[2].Receive(11), "$1\r\n2\r\n:0\r\n");
}

TEST_F(HeldReplies, AlsoOfATransaction) {
  Client client = server_.Connect();
  EXPECT_EQ(client.Ask("MULTI", 5), "+OK\r\n");
  EXPECT_EQ(client.Ask("DEL f", 9), "+QUEUED\r\n");
  client.Send("EXEC\r\n");
  ASSERT_TRUE(Waits(1));
  log().Reach(100);
  EXPECT_EQ(client.Receive(8), "*1\r\n:0\r\n");
}

// So much that it would be written before the batch is done, and that commands are left to be run.
TEST_F(HeldReplies, LongRepliesAmidABatchAreHeldToo) {
  constexpr size_t kTimes = 200;
  const std::string long_reply = [&] {
    Client client = server_.Connect();
    client.Send(Command({"COMMAND"}) + Command({"QUIT"}));
    return client.ReceiveAll();
  }();
  const auto before = server_.Sum(&LoopStats::output_bytes);
  Client client = server_.Connect();
  client.Send(kWriting + Repeat(Command({"COMMAND"}), kTimes) + Command({"QUIT"}));
  ASSERT_TRUE(Waits(1));
  EXPECT_EQ(server_.Sum(&LoopStats::output_bytes), before);
  log().Reach(100);
  const std::string ok = "+OK\r\n";
  const std::string expected = kWritten + Repeat(long_reply.substr(0, long_reply.size() - ok.size()), kTimes) + ok;
  EXPECT_TRUE(client.ReceiveAll() == expected);
}

TEST_F(HeldReplies, ASnapshotAskedForBehindAChangeIsMadeAfterTheReply) {
  Client client = server_.Connect();
  client.Send(kWriting + Command({"SAVE"}) + kWriting + Command({"PING"}));
  ASSERT_TRUE(Waits(1));
  log().Append(200);
  log().Reach(100);
  EXPECT_EQ(client.Receive(4), kWritten);
  server_.backend_.control.TakeSave()({});
  ASSERT_TRUE(Waits(1));
  log().Reach(200);
  EXPECT_EQ(client.Receive(16), "+OK\r\n:0\r\n+PONG\r\n");
}

TEST_F(HeldReplies, QuitBehindAChangeIsAnsweredAfterIt) {
  Client client = server_.Connect();
  client.Send(kWriting + Command({"QUIT"}));
  ASSERT_TRUE(Waits(1));
  log().Reach(100);
  EXPECT_EQ(client.ReceiveAll(), kWritten + "+OK\r\n");
}

TEST_F(HeldReplies, AProtocolErrorBehindAChangeIsToldAfterIt) {
  Client client = server_.Connect();
  client.Send(kWriting + "*x\r\n");
  ASSERT_TRUE(Waits(1));
  log().Reach(100);
  EXPECT_TRUE(client.ReceiveAll().starts_with(kWritten + "-ERR Protocol error"));
}

TEST_F(HeldReplies, AClientThatLeftIsForgotten) {
  Writing();
  Client other = server_.Connect();
  log().Reach(100);
  EXPECT_TRUE(Eventually([&] { return server_.backend_.clients.Size() == 1; }));
  EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
}

TEST_F(HeldReplies, AWaitingClientIsNotIdle) {
  Client client = Writing();
  server_.settings_.timeout_s = 1;
  Client idle = server_.Connect();
  EXPECT_EQ(idle.ReceiveAll(), "");
  log().Reach(100);
  EXPECT_EQ(client.Receive(4), kWritten);
}

TEST_F(HeldReplies, AreWrittenAtTheStopIfTheyAreEarned) {
  Client client = server_.Connect();
  client.Send(kWriting + Command({"PING"}));
  ASSERT_TRUE(Waits(1));
  auto stopped = std::async(std::launch::async, [&] { server_.Stop(); });
  EXPECT_TRUE(Eventually([&] { return !server_.Connect().connected(); }));
  log().Reach(100);
  EXPECT_EQ(client.ReceiveAll(), kWritten + "+PONG\r\n");
  stopped.get();
}

TEST_F(HeldReplies, AreNotWrittenAtTheStopIfTheyAreNot) {
  Client client = Writing();
  server_.Stop(std::chrono::milliseconds(50));
  EXPECT_EQ(client.ReceiveAll(), "");
  log().Reach(100);  // to a connection that is gone
}

TEST(HeldRepliesOfTheGone, TheLogMayOutliveTheLoop) {
  test::FakeDurability log;
  log.Append(1);
  {
    testing::Backend backend;
    auto environment = backend.environment();
    environment.durability = &log;
    const test::Default<NetSettings> settings;
    NetServer server(1, environment, test::Default<protocol::RequestLimits>(), settings);
    ASSERT_TRUE(server.Listen("127.0.0.1", 0));
    server.Start();
    Client client(server.port());
    client.Send(kWriting);
    ASSERT_TRUE(Eventually([&] { return log.Waiting() == 1; }));
    server.Stop(std::chrono::milliseconds(0));
  }
  log.Reach(1);
  EXPECT_EQ(log.Waiting(), 0);
}

}  // namespace
}  // namespace bitsieve::server
