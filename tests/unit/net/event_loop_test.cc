#include "server/net/event_loop.h"

#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "tests/unit/net/fakes.h"

namespace bitsieve::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The loop is busy while its idle sweep falls due and while it is told to stop: the sweep's handler is then queued
// behind the stop, which can no longer cancel it, and once began the next sweep, and the next, for ever.
TEST(EventLoop, ASweepThatFallsDueWhileStoppingDoesNotKeepTheLoop) {
  testing::Backend backend;
  LoopStats stats;
  Dispatcher::Environment commands = backend.Environment();
  commands.loop_stats = &stats;
  const protocol::RequestLimits limits;
  const NetSettings settings;
  const auto loop = std::make_shared<EventLoop>(commands, limits, settings);
  loop->Start();
  std::promise<void> busy;
  asio::post(loop->context(), [&busy] {
    busy.set_value();
    std::this_thread::sleep_for(milliseconds(1500));  // longer than from one sweep to the next
  });
  busy.get_future().wait();
  loop->Drain(seconds(1));
  auto ended = std::async(std::launch::async, [&] { loop->Join(); });
  const bool in_time = ended.wait_for(seconds(60)) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  if (!in_time) loop->context().stop();
}

}  // namespace
}  // namespace bitsieve::server
