#include "server/net/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "server/session/turn.h"
#include "tests/unit/server/net/client.h"
#include "tests/unit/server/net/fakes.h"
#include "tests/unit/server/net/running_server.h"

namespace bitsieve::server {
namespace {

using ::testing::ElementsAre;
using testing::Eventually;

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() {
    spdlog::default_logger_raw();
    Environment environment = backend_.environment();
    environment.loop_stats = &backend_.stats.loops.emplace_back();
    loop_ = std::make_shared<EventLoop>(environment, limits_, settings_);
  }
  ~EventLoopTest() override {
    loop_->Drain(std::chrono::seconds(60));
    loop_->Join();
  }

  // Returns the client's end of a connection that the loop serves.
  Socket Connect() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) ADD_FAILURE() << "no socket pair";
    loop_->Adopt({Socket(ends[0]), {}, "client", "server", true});
    return Socket(ends[1]);
  }
  // Waits until all that was posted before has run.
  void Settle() {
    std::promise<void> done;
    loop_->Post([&] { done.set_value(); });
    done.get_future().wait();
  }
  static std::string Receive(const Socket& socket, size_t bytes) {
    std::string received;
    std::array<char, 4096> room{};
    Eventually([&] {
      received.append(room.data(), socket.Receive(room).bytes);
      return received.size() >= bytes;
    });
    return received;
  }

  testing::Backend backend_;
  test::Default<protocol::RequestLimits> limits_;
  test::Default<NetSettings> settings_;
  std::shared_ptr<EventLoop> loop_;
};

TEST_F(EventLoopTest, RunsWhatIsPostedInOrder) {
  loop_->Start();
  std::vector<int> ran;
  std::promise<void> second_is_posted;
  loop_->Post([&] {
    second_is_posted.get_future().wait();
    ran.push_back(1);
    loop_->Post([&] { ran.push_back(3); });
  });
  loop_->Post([&] { ran.push_back(2); });
  second_is_posted.set_value();
  Settle();
  Settle();
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST_F(EventLoopTest, RunsWhatManyThreadsPostWhileItSleepsAndWakes) {
  loop_->Start();
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  int ran = 0;  // of the loop
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        loop_->Post([&] { ++ran; });
        if (j % 16 == 0) Settle();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Settle();
  EXPECT_EQ(ran, kThreads * kEach);
}

TEST_F(EventLoopTest, GoesOnAfterWhatRanOutOfMemory) {
  loop_->Start();
  const Socket client = Connect();
  loop_->Post([] { throw std::bad_alloc(); });
  loop_->Post([] { throw std::bad_alloc(); });
  ASSERT_EQ(client.Send("PING\n").bytes, 5);
  EXPECT_EQ(Receive(client, 7), "+PONG\r\n");
  Settle();
}

// Thousands of functions that were posted at once must not delay sockets that become ready while they run.
TEST_F(EventLoopTest, PostedWorkTakesTurnsWithWhatIsReady) {
  const Socket client = Connect();
  std::vector<size_t> received;
  for (int i = 0; i < 3; ++i) {
    loop_->Post([&, i] {
      if (i == 0) client.Send("PING\n");
      std::this_thread::sleep_for(2 * kTurn);
      std::array<char, 16> room{};
      received.push_back(client.Receive(room).bytes);
    });
  }
  loop_->Start();
  Settle();
  ASSERT_EQ(received.size(), 3);
  EXPECT_EQ(received[2], 7) << "the reply is there before the last one has run";
}

// More clients than a group has, each with commands of its own, so that rounds prepare them together.
TEST_F(EventLoopTest, ServesManyClientsOfARound) {
  constexpr size_t kClients = 200;
  std::vector<Socket> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(Connect());
    const std::string command = testing::Command({"ECHO", std::string(i * 5, static_cast<char>('a' + i % 26))});
    ASSERT_EQ(clients.back().Send(command).bytes, command.size());
  }
  loop_->Start();
  for (size_t i = 0; i < kClients; ++i) {
    const std::string text(i * 5, static_cast<char>('a' + i % 26));
    const std::string expected = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    ASSERT_EQ(Receive(clients[i], expected.size()), expected) << i;
  }
}

// One of a group ends its connection, and discards what it has sent, while the others' commands are at hand.
TEST_F(EventLoopTest, AClientThatLeavesDoesNotDisturbTheOthersOfItsRound) {
  constexpr int kClients = 64;
  std::vector<Socket> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(Connect());
    const std::string command = i % 3 == 1   ? "QUIT\r\nECHO no\r\n"
                                : i % 3 == 2 ? "*x\r\n" + std::string(3000, 'y')
                                             : testing::Command({"ECHO", "number " + std::to_string(100 + i)});
    ASSERT_EQ(clients.back().Send(command).bytes, command.size());
    if (i % 5 == 4) clients.back().Close();
  }
  loop_->Start();
  for (int i = 0; i < kClients; ++i) {
    if (i % 3 != 0 || i % 5 == 4) continue;
    const std::string expected = "$10\r\nnumber " + std::to_string(100 + i) + "\r\n";
    ASSERT_EQ(Receive(clients[static_cast<size_t>(i)], expected.size()), expected);
  }
}

TEST_F(EventLoopTest, DrainingAnswersWhatWasSentAndEndsTheThread) {
  const Socket client = Connect();
  ASSERT_EQ(client.Send(testing::Repeat("PING\n", 5000)).bytes, 25000);
  loop_->Start();
  loop_->Drain(std::chrono::seconds(60));
  loop_->Join();
  std::string received;
  std::array<char, 4096> room{};
  for (size_t bytes = 1; bytes != 0;) {
    bytes = client.Receive(room).bytes;
    received.append(room.data(), bytes);
  }
  EXPECT_EQ(received, testing::Repeat("+PONG\r\n", 5000));
}

}  // namespace
}  // namespace bitsieve::server
