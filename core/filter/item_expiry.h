// item_expiry.h: when items expire, in filters of the types that give each item a time of its own (Capabilities::
// expire). Times are those of the filter's clock, in milliseconds. Thread-safe: plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace bitsieve::core {

// When items that are added expire. By default: after the filter's own time to live, which is also the longest.
struct ItemTime {
  uint64_t ttl_ms = 0;    // from now on; 0: not stated
  uint64_t until_ms = 0;  // a Unix time, which takes precedence; 0: not stated
};

// The remaining time of an item that the filter does not find.
inline constexpr int64_t kNoTimeToLive = -2;

// The state of a filter whose items expire. It divides time into epochs; an item is gone once its epoch is over.
struct ExpiryInfo {
  std::vector<uint64_t> items_by_epoch = {};  // live items by the epoch in which they expire, the current one first
  uint64_t epoch_left_ms = 0;                 // until the current epoch is over
  uint64_t next_left_ms = 0;                  // until the first live items expire; 0 if there are none
};

}  // namespace bitsieve::core
