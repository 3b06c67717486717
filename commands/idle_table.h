// idle_table.h: what clients work on over several commands, by key: a dump being read, a filter being loaded. Clients
// give no notice when they abandon one, so the number of entries is limited, and an entry that has not been used for a
// set time is destroyed, on a thread of the table's own, which starts with the first entry.
//
// Use:    Take it out, work on it, Return it. The taker has it alone: until then, other callers find nothing.
// Full:   a new entry replaces the one that has been idle longest, if it has been idle for a moment at least.
// Thread-safe; values die outside of its lock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread_name.h"

namespace bitsieve::commands {

template <class Value>
class IdleTable {
 public:
  using Duration = std::chrono::milliseconds;

  static constexpr size_t kMax = 64;
  static constexpr Duration kPatience{60'000};
  static constexpr Duration kMoment{1'000};

  // `bury`, if given, destroys what was abandoned, on the table's thread: for values that a host's other threads must
  // not meet in the middle of their end.
  using Bury = void (*)(std::unique_ptr<Value> abandoned);

  explicit IdleTable(size_t most = kMax, Duration patience = kPatience, Duration moment = kMoment, Bury bury = nullptr)
      : most_(most), patience_(patience), moment_(moment), bury_(bury) {
    entries_.reserve(most_);
  }
  IdleTable(const IdleTable&) = delete;
  IdleTable& operator=(const IdleTable&) = delete;
  ~IdleTable() {
    {
      const core::LockGuard lock(mutex_);
      stopping_ = true;
    }
    wake_.NotifyOne();
    if (thread_.joinable()) thread_.join();
  }

  // Begins something new under `key`, in place of what was there. False, and the value is gone, if the table is full
  // of what others are working on.
  bool Put(std::string_view key, std::unique_ptr<Value> value) {
    std::unique_ptr<Value> dying;  // dies after the lock is gone
    const core::LockGuard lock(mutex_);
    const Time now = std::chrono::steady_clock::now();
    auto found = entries_.find(std::string(key));
    if (found == entries_.end() && entries_.size() >= most_) {
      found = LongestLeftAlone();
      if (found == entries_.end() || now - found->second.left < moment_) return false;
    }
    Map fresh;  // made before anything is given up for it
    fresh.emplace(key, Entry{std::move(value), now});
    if (found != entries_.end()) {
      dying = std::move(found->second.value);
      entries_.erase(found);
    }
    entries_.insert(fresh.extract(fresh.begin()));
    Wake();
    return true;
  }

  // Null if there is none, or if it is taken at the moment.
  std::unique_ptr<Value> Take(std::string_view key) {
    const core::LockGuard lock(mutex_);
    const auto found = entries_.find(std::string(key));
    if (found == entries_.end()) return nullptr;
    std::unique_ptr<Value> value = std::move(found->second.value);
    entries_.erase(found);
    return value;
  }

  // Gives back what was taken. False, and the value is gone, if a new entry was begun under its key, or if its place
  // was given to another.
  bool Return(std::string_view key, std::unique_ptr<Value> value) {
    const core::LockGuard lock(mutex_);
    if (entries_.size() >= most_ || entries_.contains(std::string(key))) return false;
    entries_.emplace(key, Entry{std::move(value), std::chrono::steady_clock::now()});
    Wake();
    return true;
  }

  size_t Size() const {
    const core::LockGuard lock(mutex_);
    return entries_.size();
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    std::unique_ptr<Value> value;
    Time left;  // when it was last given back
  };
  using Map = std::unordered_map<std::string, Entry>;

  typename Map::iterator LongestLeftAlone() BITSIEVE_REQUIRES(mutex_) {
    return std::min_element(entries_.begin(), entries_.end(),
                            [](const auto& a, const auto& b) { return a.second.left < b.second.left; });
  }
  // If there is no thread to be had, the next caller tries again.
  void Wake() noexcept BITSIEVE_REQUIRES(mutex_) {
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    } catch (const std::exception&) {
      return;
    }
    wake_.NotifyOne();
  }
  // Null if there is none.
  std::unique_ptr<Value> TakeAbandoned() noexcept BITSIEVE_REQUIRES(mutex_) {
    const auto oldest = LongestLeftAlone();
    if (oldest == entries_.end() || std::chrono::steady_clock::now() - oldest->second.left < patience_) return nullptr;
    std::unique_ptr<Value> abandoned = std::move(oldest->second.value);
    entries_.erase(oldest);
    return abandoned;
  }

  void Run() {
    core::NameThread("abandoned");
    const core::LockGuard lock(mutex_);
    while (true) {
      while (!stopping_ && entries_.empty()) wake_.Wait(mutex_);
      if (stopping_) return;
      const Time until = LongestLeftAlone()->second.left + patience_;
      while (!stopping_ && wake_.WaitUntil(mutex_, until)) continue;
      std::unique_ptr<Value> dying = TakeAbandoned();
      const core::UnlockGuard unlocked(mutex_);
      if (bury_ != nullptr && dying != nullptr) bury_(std::move(dying));
      dying.reset();
    }
  }

  const size_t most_;
  const Duration patience_;
  const Duration moment_;
  const Bury bury_;
  mutable core::Mutex mutex_;
  core::ConditionVariable wake_;
  Map entries_ BITSIEVE_GUARDED_BY(mutex_);
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::thread thread_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::commands
