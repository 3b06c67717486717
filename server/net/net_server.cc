#include "server/net/net_server.h"

#include <algorithm>
#include <thread>

namespace bitsieve::server {
namespace {

constexpr uint32_t kMaxDefaultLoops = 8;

uint32_t LoopCount(uint32_t io_threads) {
  if (io_threads != 0) return io_threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxDefaultLoops);
}

}  // namespace

NetServer::NetServer(uint32_t io_threads, Dispatcher::Environment commands, const protocol::RequestLimits& limits,
                     const NetSettings& settings)
    : limits_(limits) {
  for (uint32_t i = 0; i < LoopCount(io_threads); ++i) {
    commands.loop_stats = &commands.stats->loops.emplace_back();
    loops_.push_back(std::make_shared<EventLoop>(commands, limits_, settings));
  }
  listener_ = std::make_unique<Listener>(loops_, slots_, settings);
}

NetServer::~NetServer() { Stop(std::chrono::milliseconds(0)); }

tl::expected<void, std::string> NetServer::Listen(std::string_view bind, uint16_t port) {
  return listener_->Open(bind, port);
}

void NetServer::Start() {
  running_ = true;
  listener_->Start();
  for (const auto& loop : loops_) loop->Start();
}

void NetServer::Stop(std::chrono::milliseconds patience) {
  if (!running_) return;
  running_ = false;
  listener_->Close();
  for (const auto& loop : loops_) loop->Drain(patience);
  for (const auto& loop : loops_) loop->Join();
}

}  // namespace bitsieve::server
