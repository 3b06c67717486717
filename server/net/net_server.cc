#include "server/net/net_server.h"

#include <algorithm>
#include <new>

namespace bitsieve::server {
namespace {

constexpr uint32_t kMaxDefaultLoops = 8;
// Idle connections are looked for so often: `timeout` is kept to within that.
constexpr std::chrono::seconds kSweepInterval{1};
constexpr std::chrono::milliseconds kOutOfMemoryPause{1};

uint32_t LoopCount(uint32_t io_threads) {
  if (io_threads != 0) return io_threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxDefaultLoops);
}

}  // namespace

NetServer::NetServer(uint32_t io_threads, Dispatcher::Environment commands, const protocol::RequestLimits& limits,
                     const NetSettings& settings)
    : settings_(settings), limits_(limits) {
  for (uint32_t i = 0; i < LoopCount(io_threads); ++i) {
    commands.loop_stats = &commands.stats->loops.emplace_back();
    loops_.push_back(std::make_shared<EventLoop>(commands, limits_, settings));
  }
  listener_ = std::make_unique<Listener>(accepting_, loops_, slots_, settings);
}

NetServer::~NetServer() { Stop(std::chrono::milliseconds(0)); }

tl::expected<void, std::string> NetServer::Listen(std::string_view bind, uint16_t port) {
  return listener_->Open(bind, port);
}

void NetServer::Start() {
  running_ = true;
  for (const auto& loop : loops_) loop->Start();
  listener_->Start();
  thread_ = std::thread([this] { Accept(); });
}

void NetServer::Accept() {
  bool sweeping = false;
  while (true) {
    try {
      if (!sweeping) Sweep();
      sweeping = true;
      accepting_.run();
      return;
    } catch (const std::bad_alloc&) {
      sweeping = false;
      std::this_thread::sleep_for(kOutOfMemoryPause);
    }
  }
}

void NetServer::Sweep() {
  sweep_timer_.expires_after(kSweepInterval);
  sweep_timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    if (settings_.timeout_s.load(std::memory_order_relaxed) != 0) {
      for (const auto& loop : loops_) loop->CloseIdle();
    }
    Sweep();
  });
}

void NetServer::Stop(std::chrono::milliseconds patience) {
  if (!running_) return;
  running_ = false;
  accepting_.stop();
  thread_.join();
  listener_->Close();
  for (const auto& loop : loops_) loop->Drain(patience);
  for (const auto& loop : loops_) loop->Join();
}

}  // namespace bitsieve::server
