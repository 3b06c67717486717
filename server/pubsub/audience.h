// audience.h: the inboxes that are subscribed to one channel, or to one pattern, and how a message comes into all of
// them: a bucket at a time, so that no one who subscribes or unsubscribes waits for more than one bucket, however many
// subscribers there are. An inbox that was erased before its bucket's turn does not get the message.
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "server/pubsub/inbox.h"

namespace bitsieve::server {

using InboxPtr = std::shared_ptr<Inbox>;

// Inboxes to be woken once locks are released, at the latest when this ends. Thread-compatible.
class Sleepers {
 public:
  static constexpr size_t kMax = 64;

  Sleepers() = default;
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;
  ~Sleepers() { WakeAll(); }

  // If there are many already, it is woken at once.
  void Add(const InboxPtr& inbox) noexcept {
    if (size_ == kMax) return inbox->Wake();
    inboxes_[size_++] = inbox;
  }
  void WakeAll() noexcept {
    for (; size_ > 0; --size_) std::exchange(inboxes_[size_ - 1], nullptr)->Wake();
  }

 private:
  std::array<InboxPtr, kMax> inboxes_;
  size_t size_ = 0;
};

class Audience {
 public:
  // Nothing if it is there already. Throws std::bad_alloc, and has done nothing then.
  void Insert(const InboxPtr& inbox) {
    const core::LockGuard lock(mutex_);
    if (senders_ == 0 && size() >= buckets_.size() * kBucket) Grow();
    Bucket& bucket = BucketOf(inbox);
    if (std::ranges::find(bucket, inbox) != bucket.end()) return;
    bucket.push_back(inbox);
    size_.fetch_add(1, std::memory_order_relaxed);
  }
  // Whether it was there.
  bool Erase(const InboxPtr& inbox) noexcept {
    const core::LockGuard lock(mutex_);
    Bucket& bucket = BucketOf(inbox);
    const auto found = std::ranges::find(bucket, inbox);
    if (found == bucket.end()) return false;
    std::swap(*found, bucket.back());
    bucket.pop_back();
    size_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  // How many inboxes there are.
  size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  // Puts the item into all inboxes and returns how many there were. Those of one bucket may be left to `sleepers`.
  uint64_t Send(const Inbox::Item& item, Sleepers& sleepers) noexcept {
    uint64_t receivers = 0;
    bool is_last = false;
    for (size_t i = 0; !is_last; ++i) {
      if (i != 0) sleepers.WakeAll();
      const core::LockGuard lock(mutex_);
      if (i == 0) ++senders_;  // from now on the buckets stay where they are
      for (const InboxPtr& inbox : buckets_[i]) {
        if (inbox->Put(item)) sleepers.Add(inbox);
      }
      receivers += buckets_[i].size();
      is_last = i + 1 == buckets_.size();
      if (is_last) --senders_;
    }
    return receivers;
  }

 private:
  using Bucket = std::vector<InboxPtr>;
  // Inboxes of a bucket, on average at most. While a message is under way they may become more.
  static constexpr size_t kBucket = Sleepers::kMax;
  static constexpr size_t kGrowth = 4;

  static size_t PlaceOf(const InboxPtr& inbox, size_t buckets) noexcept {
    const uint64_t hash = reinterpret_cast<uintptr_t>(inbox.get()) * 0x9E3779B97F4A7C15U;
    return (hash >> 32) % buckets;
  }
  Bucket& BucketOf(const InboxPtr& inbox) noexcept BITSIEVE_REQUIRES(mutex_) {
    return buckets_[PlaceOf(inbox, buckets_.size())];
  }
  // All memory is there before the first inbox is moved.
  void Grow() BITSIEVE_REQUIRES(mutex_) {
    std::vector<Bucket> grown(buckets_.size() * kGrowth);
    std::vector<size_t> sizes(grown.size());
    for (const Bucket& bucket : buckets_) {
      for (const InboxPtr& inbox : bucket) ++sizes[PlaceOf(inbox, grown.size())];
    }
    for (size_t i = 0; i < grown.size(); ++i) grown[i].reserve(sizes[i]);
    for (Bucket& bucket : buckets_) {
      for (InboxPtr& inbox : bucket) {
        Bucket& to = grown[PlaceOf(inbox, grown.size())];
        to.push_back(std::move(inbox));
      }
    }
    buckets_.swap(grown);
  }

  core::Mutex mutex_;
  std::vector<Bucket> buckets_ BITSIEVE_GUARDED_BY(mutex_) = std::vector<Bucket>(1);
  size_t senders_ BITSIEVE_GUARDED_BY(mutex_) = 0;  // Send() calls under way
  std::atomic<size_t> size_{0};                     // relaxed: read for its own sake
};

}  // namespace bitsieve::server
