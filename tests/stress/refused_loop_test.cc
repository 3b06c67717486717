// The thread of an event loop is refused each of the allocations that a client costs it, one after the other. Whatever
// becomes of that client, the loop serves the next one, forgets both and stops.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "server/net/event_loop.h"
#include "tests/support/failing_memory.h"
#include "tests/unit/server/net/fakes.h"

namespace bitsieve::server {
namespace {

// A command that waits for a moment, so that the loop's timer is needed, too.
constexpr std::string_view kRequest = "CLIENT PAUSE 5\r\nPING\r\n";
constexpr std::string_view kReply = "+OK\r\n+PONG\r\n";

Socket Connect(EventLoop& loop) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) ADD_FAILURE() << "no socket pair";
  loop.Adopt({Socket(ends[0]), {}, "client", "server", true});
  return Socket(ends[1]);
}

// Sends the request. Returns what comes until all of the reply is there, or the connection is closed.
std::string Ask(const Socket& client) {
  std::string received;
  client.Send(kRequest);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (received.size() < kReply.size() && std::chrono::steady_clock::now() < deadline) {
    std::array<char, 64> room{};
    const Socket::Transfer some = client.Receive(room);
    if (some.bytes == 0 && !some.blocked()) return received;
    received.append(room.data(), some.bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(some.bytes == 0 ? 1 : 0));
  }
  EXPECT_EQ(received, kReply) << "neither a reply nor the end came in time";
  return received;
}

// Returns how many allocations were refused.
uint64_t RunLap(uint64_t refused) {
  testing::Backend backend;
  const test::Default<protocol::RequestLimits> limits;
  const test::Default<NetSettings> settings;
  Environment environment = backend.environment();
  environment.loop_stats = &backend.stats.loops.emplace_back();
  const auto loop = std::make_shared<EventLoop>(environment, limits, settings);
  loop->Start();
  loop->Post([=] { test::RefuseMemory(test::Whose::kThisThreads, refused); });
  const std::string replies = Ask(Connect(*loop));
  test::AllowMemory();
  const uint64_t count = test::Refused();
  EXPECT_TRUE(kReply.starts_with(replies)) << replies;
  EXPECT_EQ(Ask(Connect(*loop)), kReply);
  loop->Drain(std::chrono::seconds(60));
  loop->Join();
  EXPECT_EQ(backend.clients.Size(), 0);
  EXPECT_EQ(backend.clients.memory_bytes(), 0);
  return count;
}

TEST(RefusedLoop, ServesTheNextClientAndStopsWhateverIsRefused) {
  spdlog::default_logger_raw();
  RunLap(UINT64_MAX - 1);  // takes what is made once
  uint64_t laps = 0;
  while (RunLap(laps) != 0 && !HasFailure()) {
    ASSERT_LT(++laps, 1000);
  }
  EXPECT_GT(laps, 10);
}

}  // namespace
}  // namespace bitsieve::server
