// periodic.h: work that is done at an interval on the thread of a context. Confined to that thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <new>
#include <utility>

namespace bitsieve::server {

class Periodic {
 public:
  Periodic(asio::io_context& context, std::chrono::milliseconds interval, std::function<void()> work)
      : timer_(context), interval_(interval), work_(std::move(work)) {}

  // The first time after an interval.
  void Start() {
    timer_.expires_after(interval_);
    timer_.async_wait([this](const asio::error_code& error) {
      if (error) return;
      try {
        work_();
        Start();
      } catch (const std::bad_alloc&) {
        return;  // what is done at intervals is no reason to end
      }
    });
  }

 private:
  asio::steady_timer timer_;
  const std::chrono::milliseconds interval_;
  const std::function<void()> work_;
};

}  // namespace bitsieve::server
