// channel.h: hands values from one thread to another, in order. Thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "core/base/mutex.h"

namespace bitsieve::cli {

template <class T>
class Channel {
 public:
  void Put(T value) {
    {
      const core::LockGuard lock(mutex_);
      values_.push_back(std::move(value));
    }
    changed_.NotifyAll();
  }
  // Waits for a value. Returns nothing once the channel is closed and empty.
  std::optional<T> Take() {
    const core::LockGuard lock(mutex_);
    while (values_.empty() && !is_closed_) changed_.Wait(mutex_);
    if (values_.empty()) return std::nullopt;
    std::optional<T> value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  void Close() {
    {
      const core::LockGuard lock(mutex_);
      is_closed_ = true;
    }
    changed_.NotifyAll();
  }

 private:
  core::Mutex mutex_;
  core::ConditionVariable changed_;
  std::deque<T> values_ BITSIEVE_GUARDED_BY(mutex_);
  bool is_closed_ BITSIEVE_GUARDED_BY(mutex_) = false;
};

}  // namespace bitsieve::cli
