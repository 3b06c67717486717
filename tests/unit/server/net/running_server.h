// running_server.h: a NetServer on a free port of loopback, wired to fakes.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "server/net/net_server.h"
#include "tests/unit/server/net/client.h"
#include "tests/unit/server/net/fakes.h"

namespace bitsieve::server::testing {

class RunningServer {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  // Without `workers` every command runs on its loop.
  explicit RunningServer(uint32_t loops = 2, const std::string& bind = "127.0.0.1",
                         commands::Workers* workers = nullptr)
      : backend_(workers), net_(std::make_unique<NetServer>(loops, backend_.environment(), limits_, settings_)) {
    // Makes what spdlog makes at its first use. ThreadSanitizer does not see that its library lets threads wait for it.
    spdlog::default_logger_raw();
    const auto listening = net_->Listen(bind, 0);
    if (!listening) ADD_FAILURE() << listening.error();
    net_->Start();
  }

  uint16_t port() const { return net_->port(); }
  Client Connect() const { return Client(port()); }
  void Stop(std::chrono::milliseconds patience = kPatience) { net_->Stop(patience); }
  uint64_t Sum(std::atomic<uint64_t> LoopStats::*counter) const { return backend_.stats.Sum(counter); }

  Backend backend_;
  test::Default<protocol::RequestLimits> limits_;
  test::Default<NetSettings> settings_;
  std::unique_ptr<NetServer> net_;
};

// Waits until `condition` holds; false if it does not within a minute.
template <class Condition>
bool Eventually(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + RunningServer::kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace bitsieve::server::testing
