// inbox.h: the messages that wait for one connection. Publishers put them in, from any thread, without ever waiting for
// the connection; its loop takes them out when the socket has room. A message is shared by all its receivers. An inbox
// that holds more than the limit loses everything and stays closed: its connection is then closed, too, and frees what
// was lost, which may be millions of messages: not the publisher.
//
// Thread-safe; Take() is only for the connection's loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "core/base/mutex.h"

namespace bitsieve::server {

struct Message {
  std::string channel;
  std::string payload;
  bool is_line = false;  // of MONITOR: the payload is all there is to it
};

class Inbox {
 public:
  static constexpr size_t kWakeBytes = 16 * 1024;

  struct Item {
    std::shared_ptr<const Message> message;
    std::shared_ptr<const std::string> pattern;  // that the channel fits; null: the channel itself is subscribed to

    // Returns the bytes that the item counts for, as if no other inbox had its message.
    size_t bytes() const {
      return sizeof(Item) + message->channel.size() + message->payload.size() + (pattern ? pattern->size() : 0);
    }
  };

  // `wake` is called from any thread: once until the inbox was found empty, and each time it has grown by kWakeBytes,
  // so that its connection can account for it. The work that it starts may run late.
  Inbox(std::function<void()> wake, const std::atomic<uint64_t>& limit_bytes)
      : wake_(std::move(wake)), limit_bytes_(limit_bytes) {}

  // Whether Wake() is to be called now.
  bool Put(Item item) noexcept {
    const core::LockGuard lock(mutex_);
    if (overflowed()) return false;
    const size_t bytes = bytes_.load(std::memory_order_relaxed) + item.bytes();
    if (bytes > limit_bytes_.load(std::memory_order_relaxed) || !Append(std::move(item))) {
      bytes_.store(0, std::memory_order_relaxed);
      overflowed_.store(true, std::memory_order_relaxed);
      return true;  // even if it was woken already: it may wait for its client to read
    }
    bytes_.store(bytes, std::memory_order_relaxed);
    const bool has_grown = bytes >= woken_bytes_ + kWakeBytes;
    if (has_grown) woken_bytes_ = bytes;
    return !std::exchange(woken_, true) || has_grown;
  }
  void Wake() noexcept {
    try {
      if (wake_) wake_();
    } catch (const std::bad_alloc&) {
      const core::LockGuard lock(mutex_);
      woken_ = false;  // the next message tries again
    }
  }

  // Calls `visit` with the oldest items, as long as it returns true. False if more are left; else the next one wakes.
  template <class Visit>
  bool Take(Visit&& visit) {
    for (bool more = true; more;) {
      Item item;
      {
        const core::LockGuard lock(mutex_);
        if (overflowed() || items_.empty()) {
          woken_ = false;
          return true;
        }
        item = std::move(items_.front());
        items_.pop_front();
        const size_t bytes = bytes_.load(std::memory_order_relaxed) - item.bytes();
        bytes_.store(bytes, std::memory_order_relaxed);
        woken_bytes_ = std::min(woken_bytes_, bytes);
      }
      more = visit(item);
    }
    return false;
  }

  // Called when the connection is closed: nothing more comes in.
  void Close() noexcept {
    const core::LockGuard lock(mutex_);
    bytes_.store(0, std::memory_order_relaxed);
    overflowed_.store(true, std::memory_order_relaxed);
  }
  bool overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  // Returns the bytes that its items count for.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // False if there is no memory for it.
  bool Append(Item item) BITSIEVE_REQUIRES(mutex_) {
    try {
      items_.push_back(std::move(item));
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  const std::function<void()> wake_;
  const std::atomic<uint64_t>& limit_bytes_;
  core::Mutex mutex_;
  std::deque<Item> items_ BITSIEVE_GUARDED_BY(mutex_);
  bool woken_ BITSIEVE_GUARDED_BY(mutex_) = false;
  // Bytes that were there when it was last woken for its growth, or fewer if items were taken out since.
  size_t woken_bytes_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  // Changed under mutex_; relaxed: read for their own sake.
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> overflowed_{false};
};

}  // namespace bitsieve::server
