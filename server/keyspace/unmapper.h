// unmapper.h: the thread that gives large memory back to the system, wherever it died. See
// core/memory/deferred_unmap.h. One in a server, which outlives its filters. Thread-safe.
#pragma once

#include <atomic>
#include <thread>

#include "core/base/thread_name.h"
#include "core/memory/deferred_unmap.h"

namespace bitsieve::server {

class Unmapper {
 public:
  Unmapper() : thread_([this] { Run(); }) { core::DeferredUnmap::BeginServing(); }
  Unmapper(const Unmapper&) = delete;
  Unmapper& operator=(const Unmapper&) = delete;
  // Whatever waits is unmapped by then.
  ~Unmapper() {
    core::DeferredUnmap::EndServing();
    stopping_.store(true, std::memory_order_release);
    core::DeferredUnmap::Wake();
    thread_.join();
  }

 private:
  void Run() {
    core::NameThread("unmapper");
    while (true) {
      const uint32_t seen = core::DeferredUnmap::Wakes();
      const bool is_last = stopping_.load(std::memory_order_acquire);
      core::DeferredUnmap::UnmapAll();
      if (is_last) return;
      core::DeferredUnmap::AwaitWake(seen);
    }
  }

  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses the above
};

}  // namespace bitsieve::server
