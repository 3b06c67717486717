// fake_durability.h: a log whose failures and progress the test controls. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/session/durability.h"

namespace bitsieve::test {

class FakeDurability final : public server::Durability {
 public:
  using Reached = std::function<void()>;

  bool InTrouble() const override { return in_trouble; }
  std::string Trouble() const override { return "log/7: No space left\non device"; }
  uint64_t AwaitedPosition() const override {
    const std::lock_guard lock(mutex_);
    return holds_replies && end_ > durable_ ? end_ : 0;
  }
  void Await(uint64_t position, Reached reached) override {
    if (!Keep(position, reached)) reached();
  }

  bool HasLog() const override { return has_log; }
  uint64_t End() const override {
    const std::lock_guard lock(mutex_);
    return end_;
  }
  bool IsSynced(uint64_t position) const override {
    const std::lock_guard lock(mutex_);
    return durable_ >= position;
  }

  // Replies are held from now on, until the log has come to `end`.
  void Append(uint64_t end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
  }
  // The log has come so far.
  void Reach(uint64_t position) {
    for (auto& [awaited, reached] : Advance(position)) Await(awaited, std::move(reached));
  }
  size_t Waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  std::atomic<bool> in_trouble{false};
  std::atomic<bool> has_log{true};
  std::atomic<bool> holds_replies{true};  // appendfsync always

 private:
  using Waiters = std::vector<std::pair<uint64_t, Reached>>;

  bool Keep(uint64_t position, Reached& reached) {
    const std::lock_guard lock(mutex_);
    if (position <= durable_) return false;
    waiting_.emplace_back(position, std::move(reached));
    return true;
  }
  Waiters Advance(uint64_t position) {
    const std::lock_guard lock(mutex_);
    durable_ = position;
    return std::exchange(waiting_, {});
  }

  mutable std::mutex mutex_;
  // Protected by mutex_.
  uint64_t end_ = 0;
  uint64_t durable_ = 0;
  Waiters waiting_;
};

}  // namespace bitsieve::test
