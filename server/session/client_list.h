// client_list.h: the connections of the server, and the memory that they take together. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "server/session/client_pause.h"
#include "server/session/client_record.h"

namespace bitsieve::server {

class ClientList {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  // A connection that takes less is not worth closing.
  static constexpr uint64_t kLeastEvicted = 8 * 1024;

  void Add(std::shared_ptr<ClientRecord> record);
  void Remove(uint64_t id);
  // By ascending id.
  std::vector<std::shared_ptr<ClientRecord>> All() const;
  size_t Size() const;

  // The connections' memory. A loop reports what it allocated or freed; over the limit the largest connections are
  // closed, until the others are within it.
  void set_memory_limit(uint64_t bytes) { memory_limit_.store(bytes, std::memory_order_relaxed); }
  uint64_t memory_limit() const { return memory_limit_.load(std::memory_order_relaxed); }
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }
  bool OverMemoryLimit() const { return memory_bytes() > memory_limit(); }
  // Returns how many bytes may be allocated until the limit.
  uint64_t MemoryLeft() const {
    const uint64_t limit = memory_limit(), bytes = memory_bytes();
    return limit > bytes ? limit - bytes : 0;
  }
  void UpdateMemory(uint64_t before, uint64_t now) { memory_bytes_.fetch_add(now - before, std::memory_order_relaxed); }
  // O(connections), and only called over the limit.
  void Evict();
  uint64_t evicted() const { return evicted_.load(std::memory_order_relaxed); }

  ClientPause pause;  // thread-safe
  // The server stops: no command waits for anything any more.
  std::atomic<bool> draining{false};

 private:
  mutable core::Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<ClientRecord>> records_ BITSIEVE_GUARDED_BY(mutex_);  // by id

  // Relaxed: sums that steer, and nothing is read on the strength of them.
  std::atomic<uint64_t> memory_bytes_{0};
  std::atomic<uint64_t> memory_limit_{kNoLimit};
  std::atomic<uint64_t> evicted_{0};
};

}  // namespace bitsieve::server
