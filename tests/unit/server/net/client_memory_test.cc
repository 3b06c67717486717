// The account of a connection includes the memory that it takes besides its buffers, and releases it with the
// connection.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/manual_workers.h"
#include "tests/unit/server/net/running_server.h"

namespace bitsieve::server {
namespace {

using testing::Client;
using testing::Command;
using testing::Eventually;
using testing::Repeat;
using testing::RunningServer;

class ClientMemory : public ::testing::Test {
 protected:
  // Sends only a PING, and keeps in idle_ what the client takes then.
  ClientMemory() {
    EXPECT_EQ(client_.Ask("PING", 7), "+PONG\r\n");
    idle_ = Sum();
  }
  ~ClientMemory() override { workers_.Stop(); }

  ClientList& clients() { return server_.backend_.clients; }
  uint64_t Sum() { return clients().memory_bytes(); }
  uint64_t Total() { return clients().All().front()->memory.total; }
  // Runs a command of one line and returns how much more the client takes since the last call, at rest.
  uint64_t Grows(const std::string& line, size_t reply_size) {
    const uint64_t before = Total();
    EXPECT_EQ(client_.Ask(line, reply_size).size(), reply_size);
    EXPECT_EQ(client_.Ask("PING", 7).size(), 7U) << "the account of what ran before is closed";
    EXPECT_EQ(Total(), Sum());
    return Total() - before;
  }
  bool Returns() {
    return Eventually([this] { return Sum() == 0; });
  }

  test::ManualWorkers workers_;
  RunningServer server_{1, "127.0.0.1", &workers_};
  Client client_ = server_.Connect();
  uint64_t idle_ = 0;
};

TEST_F(ClientMemory, WatchedNames) {
  const std::string name(1000, 'n');
  const uint64_t grown = Grows("WATCH 1" + name + " 2" + name + " 3" + name, 5);
  EXPECT_GE(grown, 3000U);
  EXPECT_LE(grown, 4000U);
  Grows("UNWATCH", 5);
  EXPECT_EQ(Total(), idle_);
  Grows("WATCH " + name, 5);
  client_.Close();
  EXPECT_TRUE(Returns());
}

TEST_F(ClientMemory, Subscriptions) {
  client_.Ask("HELLO 3", 1);
  client_.ReceiveSome();
  const std::string channel(1000, 'c');
  const size_t confirmation = std::string(">3\r\n$9\r\nsubscribe\r\n$1000\r\n\r\n:1\r\n").size() + 1000;
  const uint64_t grown = Grows("SUBSCRIBE " + channel, confirmation);
  EXPECT_GE(grown, 1000U);
  EXPECT_LE(grown, 2000U);
  EXPECT_EQ(Grows("PSUBSCRIBE " + channel, confirmation + 1), grown);
  Grows("UNSUBSCRIBE " + channel, confirmation + 2);
  Grows("PUNSUBSCRIBE " + channel, confirmation + 3);
  EXPECT_EQ(Total(), idle_);
  Grows("SUBSCRIBE " + channel, confirmation);
  client_.Close();
  EXPECT_TRUE(Returns());
}

TEST_F(ClientMemory, MessagesThatTheClientDoesNotRead) {
  EXPECT_NE(client_.Ask("SUBSCRIBE c", 1), "");
  constexpr uint64_t kUnread = 64ULL << 20;  // more than the system's buffers take
  const std::string payload(1 << 20, 'm');
  for (uint64_t i = 0; i < kUnread / payload.size(); ++i) server_.backend_.pub_sub.Publish("c", payload);
  EXPECT_TRUE(Eventually([&] { return Sum() > kUnread / 2; }));
  EXPECT_GT(clients().All().front()->memory.unsent, kUnread / 2) << "omem";
  client_.Close();
  EXPECT_TRUE(Returns());
}

// More than may be copied, so that the read buffer hands them over, and less, so that they are copied.
TEST_F(ClientMemory, ACommandOnAWorker) {
  for (const size_t names : {10'000, 2'000}) {
    const std::string command = "*" + std::to_string(names + 1) + "\r\n$6\r\nEXISTS\r\n";
    client_.Send(command + Repeat("$8\r\n12345678\r\n", names));
    ASSERT_TRUE(Eventually([this] { return workers_.Waiting() == 1; }));
    const ClientRecord::Memory& memory = clients().All().front()->memory;
    EXPECT_TRUE(Eventually([&] { return memory.waiting >= 8 * names; })) << "argv-mem";
    EXPECT_GE(Total(), idle_ + 8 * names);
    EXPECT_EQ(Total(), Sum());
    workers_.RunNext();
    EXPECT_EQ(client_.Receive(4), ":0\r\n");
    EXPECT_EQ(client_.Ask("PING", 7), "+PONG\r\n");
    EXPECT_EQ(memory.waiting, 0U);
    EXPECT_LE(Total(), idle_ + 8 * 1024);
    EXPECT_EQ(Total(), Sum());
  }
}

TEST_F(ClientMemory, ACommandOnAWorkerWhoseClientHasLeft) {
  constexpr size_t kNames = 10'000;
  client_.Send("*" + std::to_string(kNames + 1) + "\r\n$6\r\nEXISTS\r\n" + Repeat("$8\r\n12345678\r\n", kNames));
  ASSERT_TRUE(Eventually([this] { return workers_.Waiting() == 1; }));
  ASSERT_TRUE(Eventually([this] { return clients().Size() == 1; }));
  clients().All().front()->Close("the test");
  ASSERT_TRUE(Eventually([this] { return clients().Size() == 0; }));
  EXPECT_GE(Sum(), 8 * kNames) << "its bytes are there until it has run";
  workers_.RunNext();
  EXPECT_EQ(Sum(), 0U);
}

// An EXEC's last command outlives the EXEC in the session: its queue is counted once, and until it has run.
TEST_F(ClientMemory, TheLastCommandOfAnExecOnAWorker) {
  constexpr size_t kNames = 10'000;
  client_.Ask("MULTI", 5);
  client_.Send("*" + std::to_string(kNames + 1) + "\r\n$6\r\nEXISTS\r\n" + Repeat("$8\r\n12345678\r\n", kNames));
  EXPECT_EQ(client_.Receive(9), "+QUEUED\r\n");
  const ClientRecord::Memory& memory = clients().All().front()->memory;
  ASSERT_TRUE(Eventually([&] { return memory.queued >= 8 * kNames; })) << "multi-mem";
  client_.Send("EXEC\r\n");
  ASSERT_TRUE(Eventually([this] { return workers_.Waiting() == 1; }));
  EXPECT_TRUE(Eventually([&] { return memory.queued == 0; }));
  EXPECT_GE(memory.waiting, 8 * kNames) << "argv-mem";
  EXPECT_EQ(Total(), Sum());
  workers_.RunNext();
  EXPECT_EQ(client_.Receive(8), "*1\r\n:0\r\n");
  EXPECT_EQ(client_.Ask("PING", 7), "+PONG\r\n");
  EXPECT_LE(Total(), idle_ + 8 * 1024);
  EXPECT_EQ(Total(), Sum());
}

}  // namespace
}  // namespace bitsieve::server
