#include "server/net/net_server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"
#include "server/net/tls_context.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

constexpr uint32_t kMaxDefaultLoops = 8;
// Idle connections and slow handshakes are looked for so often: their limits are kept to within that.
constexpr std::chrono::seconds kSweepInterval{1};

uint32_t LoopCount(uint32_t io_threads) {
  if (io_threads != 0) return io_threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxDefaultLoops);
}

void LogCertificate(const TlsContext& context) {
  const auto level = context.HasExpired() ? spdlog::level::warn : spdlog::level::info;
  spdlog::log(level, "The certificate of the TLS port{}: {}", context.HasExpired() ? " HAS EXPIRED" : "",
              context.Certificate());
}

}  // namespace

NetServer::NetServer(uint32_t io_threads, Environment commands, const protocol::RequestLimits& limits,
                     const NetSettings& settings)
    : settings_(settings), limits_(limits) {
  for (uint32_t i = 0; i < LoopCount(io_threads); ++i) {
    commands.loop_stats = &commands.stats->loops.emplace_back();
    loops_.push_back(std::make_shared<EventLoop>(commands, limits_, settings));
  }
  listener_ = std::make_unique<Listener>(accepting_, loops_, slots_, settings);
}

NetServer::~NetServer() { Stop(std::chrono::milliseconds(0)); }

core::Outcome<void> NetServer::Listen(std::string_view bind, uint16_t port) {
  auto opened = listener_->Open(bind, port, Transport::kTcp);
  if (!opened) return tl::unexpected(opened.error());
  port_ = *opened;
  return {};
}

core::Outcome<void> NetServer::ListenByTls(std::string_view bind, uint16_t port, const TlsSettings& settings) {
  auto context = TlsContext::ForServer(settings);
  if (!context) return tl::unexpected(context.error());
  auto opened = listener_->Open(bind, port, Transport::kTls);
  if (!opened) return tl::unexpected(opened.error());
  tls_port_ = *opened;
  UseTls(std::move(*context));
  return {};
}

core::Outcome<void> NetServer::ListenOnUnixSocket(const std::string& path, std::optional<mode_t> permissions) {
  return listener_->OpenUnixSocket(path, permissions);
}

core::Result<NetServer::Tls> NetServer::ReadTls(const TlsSettings& settings) const {
  if (tls_port_ == 0) return nullptr;
  auto context = TlsContext::ForServer(settings);
  if (!context) return core::Fail(core::ErrorCode::kInvalidArgument, context.error());
  return std::move(*context);
}

void NetServer::UseTls(Tls tls) {
  if (tls == nullptr) return;
  LogCertificate(*tls);
  listener_->SetTls(std::move(tls));
}

void NetServer::Start() {
  running_ = true;
  for (const auto& loop : loops_) loop->Start();
  listener_->Start();
  thread_ = std::thread([this] { Accept(); });
}

void NetServer::Accept() {
  core::NameThread("accept");
  bool sweeping = false;
  while (true) {
    try {
      if (!sweeping) Sweep();
      sweeping = true;
      accepting_.run();
      return;
    } catch (const std::bad_alloc&) {
      sweeping = false;
      std::this_thread::sleep_for(core::kOutOfMemoryPause);
    }
  }
}

void NetServer::Sweep() {
  sweep_timer_.expires_after(kSweepInterval);
  sweep_timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    if (settings_.timeout_s.load(std::memory_order_relaxed) != 0 || tls_port_ != 0) {
      for (const auto& loop : loops_) loop->CloseOverdue();
    }
    Sweep();
  });
}

void NetServer::ProveAlive(std::function<void()> alive) {
  asio::post(accepting_, [this, alive = std::move(alive)] {
    const auto missing =
        core::UntilThereIsMemory([this] { return std::make_shared<std::atomic<size_t>>(loops_.size()); });
    for (const auto& loop : loops_) {
      // Relaxed: that the last one comes last is all that counts.
      core::UntilThereIsMemory([&] {
        loop->Post([missing, alive] {
          if (missing->fetch_sub(1, std::memory_order_relaxed) == 1) alive();
        });
      });
    }
  });
}

void NetServer::Stop(std::chrono::milliseconds patience) {
  if (!running_) return;
  running_ = false;
  accepting_.stop();
  thread_.join();
  listener_->Close();
  for (const auto& loop : loops_) core::UntilThereIsMemory([&] { loop->Drain(patience); });
  for (const auto& loop : loops_) loop->Join();
}

}  // namespace bitsieve::server
