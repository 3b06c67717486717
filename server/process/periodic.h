// periodic.h: work that is done at an interval on the thread of a context. Work that runs out of memory is done again
// after the interval. Confined to that thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"

namespace bitsieve::server {

class Periodic {
 public:
  Periodic(asio::io_context& context, std::chrono::milliseconds interval, std::function<void()> work)
      : timer_(context), interval_(interval), work_(std::move(work)) {}

  // The first time after an interval.
  void Start() {
    core::UntilThereIsMemory([this] {
      timer_.expires_after(interval_);
      timer_.async_wait([this](const asio::error_code& error) {
        if (!error) WorkAndRepeat();
      });
    });
  }

 private:
  void WorkAndRepeat() {
    try {
      work_();
    } catch (const std::bad_alloc&) {
      // Work that is done at intervals may be left out once.
    }
    Start();
  }

  asio::steady_timer timer_;
  const std::chrono::milliseconds interval_;
  const std::function<void()> work_;
};

}  // namespace bitsieve::server
