// client_pause.h: CLIENT PAUSE: until when the commands of all clients, or those that change something, wait.
// Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/base/mutex.h"

namespace bitsieve::server {

class ClientPause {
 public:
  enum class Scope : uint8_t { kNone, kWrites, kAll };

  // Pauses until `until_ms` of the monotonic clock. A pause that is longer or wider stays as long or as wide.
  void Begin(Scope scope, int64_t until_ms, int64_t now_ms) {
    const core::LockGuard lock(mutex_);
    if (ScopeAt(now_ms) == Scope::kNone) End();
    until_ms_.store(std::max(until_ms, until_ms_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    scope_.store(std::max(scope, scope_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  }
  void Cancel() {
    const core::LockGuard lock(mutex_);
    End();
  }

  // One load while there is no pause: cheap enough for each batch.
  bool MayBeActive() const { return scope_.load(std::memory_order_relaxed) != Scope::kNone; }
  Scope ScopeAt(int64_t now_ms) const {
    return now_ms < until_ms_.load(std::memory_order_relaxed) ? scope_.load(std::memory_order_relaxed) : Scope::kNone;
  }

 private:
  void End() BITSIEVE_REQUIRES(mutex_) {
    scope_.store(Scope::kNone, std::memory_order_relaxed);
    until_ms_.store(0, std::memory_order_relaxed);
  }

  core::Mutex mutex_;  // of the writers
  // Relaxed: a command that races with the start or the end of a pause may run on either side of it.
  std::atomic<Scope> scope_{Scope::kNone};
  std::atomic<int64_t> until_ms_{0};
};

}  // namespace bitsieve::server
