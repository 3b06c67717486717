#include "server/net/reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace bitsieve::server {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr std::chrono::minutes kLong{1};

void Round(Reactor& reactor, std::optional<milliseconds> patience) {
  reactor.Wait(patience);
  reactor.Work();
}

struct Log final : Reactor::Watcher {
  void OnReady(Reactor::Readiness readiness) override {
    reports.push_back(readiness);
    if (std::exchange(out_of_memory, false)) throw std::bad_alloc();
  }
  std::vector<Reactor::Readiness> reports;
  bool out_of_memory = false;
};

std::pair<Socket, Socket> Pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) ADD_FAILURE() << "no socket pair";
  return {Socket(ends[0]), Socket(ends[1])};
}

TEST(Reactor, ReportsAChangeOnce) {
  Reactor reactor;
  auto [mine, theirs] = Pair();
  Log log;
  reactor.Watch(mine, log);
  Round(reactor, kLong);
  ASSERT_EQ(log.reports.size(), 1);
  EXPECT_FALSE(log.reports[0].readable);
  EXPECT_TRUE(log.reports[0].writable);

  ASSERT_EQ(theirs.Send("x").bytes, 1);
  Round(reactor, kLong);
  ASSERT_EQ(log.reports.size(), 2);
  EXPECT_TRUE(log.reports[1].readable);
  EXPECT_FALSE(log.reports[1].ended);
  Round(reactor, milliseconds(0));
  EXPECT_EQ(log.reports.size(), 2);

  // Another change, although nothing was received.
  ASSERT_EQ(theirs.Send("y").bytes, 1);
  Round(reactor, kLong);
  EXPECT_EQ(log.reports.size(), 3);
}

TEST(Reactor, ReportsTheEnd) {
  Reactor reactor;
  auto [mine, theirs] = Pair();
  Log log;
  reactor.Watch(mine, log);
  theirs.Close();
  Round(reactor, kLong);
  ASSERT_EQ(log.reports.size(), 1);
  EXPECT_TRUE(log.reports[0].readable);
  EXPECT_TRUE(log.reports[0].ended);
}

TEST(Reactor, ReportsThatASocketTakesBytesAgain) {
  Reactor reactor;
  auto [mine, theirs] = Pair();
  Log log;
  reactor.Watch(mine, log);
  Round(reactor, kLong);
  const std::string bytes(64 * 1024, 'x');
  while (!mine.Send(bytes).blocked()) continue;
  Round(reactor, milliseconds(0));
  const size_t before = log.reports.size();
  std::string room(bytes.size(), ' ');
  while (theirs.Receive(room).bytes != 0) continue;
  Round(reactor, kLong);
  ASSERT_GT(log.reports.size(), before);
  EXPECT_TRUE(log.reports.back().writable);
}

TEST(Reactor, AClosedSocketIsNotReported) {
  Reactor reactor;
  auto [mine, theirs] = Pair();
  Log log;
  reactor.Watch(mine, log);
  mine.Close();
  Round(reactor, milliseconds(0));
  EXPECT_TRUE(log.reports.empty());
}

TEST(Reactor, RunsWhatIsPostedInOrder) {
  Reactor reactor;
  std::vector<int> ran;
  reactor.Post([&] {
    ran.push_back(1);
    reactor.Post([&] { ran.push_back(3); });
  });
  reactor.Post([&] { ran.push_back(2); });
  Round(reactor, kLong);
  EXPECT_THAT(ran, ElementsAre(1, 2));
  Round(reactor, kLong);
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST(Reactor, PostingEndsAWait) {
  Reactor reactor;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  int ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) reactor.Post([&] { ++ran; });
    });
  }
  while (ran < kThreads * kEach) Round(reactor, std::nullopt);
  for (std::thread& thread : threads) thread.join();
}

TEST(Reactor, WaitsNoLongerThanThePatience) {
  Reactor reactor;
  const auto begin = std::chrono::steady_clock::now();
  Round(reactor, milliseconds(5));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(4));
}

TEST(Reactor, GoesOnAfterWhatRanOutOfMemory) {
  Reactor reactor;
  auto [first, first_peer] = Pair();
  auto [second, second_peer] = Pair();
  Log first_log;
  Log second_log;
  reactor.Watch(first, first_log);
  reactor.Watch(second, second_log);
  first_log.out_of_memory = true;
  bool posted_ran = false;
  reactor.Post([] { throw std::bad_alloc(); });
  reactor.Post([&] { posted_ran = true; });
  EXPECT_THROW(Round(reactor, kLong), std::bad_alloc);
  EXPECT_THROW(Round(reactor, kLong), std::bad_alloc);
  Round(reactor, kLong);
  EXPECT_EQ(first_log.reports.size(), 1);
  EXPECT_EQ(second_log.reports.size(), 1);
  EXPECT_TRUE(posted_ran);
}

// Thousands of functions that were posted at once must not delay sockets that become ready while they run.
TEST(Reactor, PostedWorkTakesTurnsWithWhatIsReady) {
  Reactor reactor;
  auto [mine, theirs] = Pair();
  Log log;
  reactor.Watch(mine, log);
  Round(reactor, kLong);
  std::vector<int> done;
  for (int i = 0; i < 3; ++i) {
    reactor.Post([&, i] {
      done.push_back(i);
      std::this_thread::sleep_for(2 * kTurn);
    });
  }
  Round(reactor, kLong);
  EXPECT_THAT(done, ElementsAre(0));
  ASSERT_EQ(theirs.Send("x").bytes, 1);
  Round(reactor, kLong);  // does not wait: there is work left
  EXPECT_THAT(done, ElementsAre(0, 1));
  EXPECT_EQ(log.reports.size(), 2);
  Round(reactor, kLong);
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace bitsieve::server
