// expiry_index.h: the entries that have an expiry, the soonest first. Thread-compatible, except for next_ms(), which
// any thread may call at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <limits>

namespace bitsieve::server {

struct Entry;

class ExpiryIndex {
 public:
  struct Item {
    int64_t expires_ms;
    size_t shard;
    Entry* entry;
    auto operator<=>(const Item&) const = default;
  };
  // Counts without walking: a million names may end at the same moment.
  using Items = __gnu_pbds::tree<Item, __gnu_pbds::null_type, std::less<Item>, __gnu_pbds::rb_tree_tag,
                                 __gnu_pbds::tree_order_statistics_node_update>;

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  void Insert(const Item& item) {
    items_.insert(item);
    sum_ms_ += item.expires_ms;
    UpdateNext();
  }
  void Erase(const Item& item) {
    items_.erase(item);
    sum_ms_ -= item.expires_ms;
    UpdateNext();
  }
  // Empties the index; what was in it may die later.
  void TakeAll(Items& all) {
    items_.swap(all);
    sum_ms_ = 0;
    UpdateNext();
  }

  const Items& items() const { return items_; }
  // Returns the sum of all expiries: 64 bits would be too few for a million of them.
  __int128 sum_ms() const { return sum_ms_; }
  // The soonest expiry, kNever if there is none. Relaxed: callers that need more than a hint hold the lock.
  int64_t next_ms() const { return next_ms_.load(std::memory_order_relaxed); }

  uint64_t CountDue(int64_t now_ms) const {
    return items_.order_of_key({now_ms, std::numeric_limits<size_t>::max(), nullptr});
  }

 private:
  void UpdateNext() { next_ms_.store(items_.empty() ? kNever : items_.begin()->expires_ms, std::memory_order_relaxed); }

  Items items_;
  __int128 sum_ms_ = 0;
  std::atomic<int64_t> next_ms_{kNever};
};

}  // namespace bitsieve::server
