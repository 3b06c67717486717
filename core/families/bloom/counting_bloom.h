// counting_bloom.h: a Bloom filter with a small counter where the textbook has a bit, so that items can be removed.
// Answers "definitely not" or "probably yes"; wrong with the second at the requested rate, never with the first, as
// long as only what was added is removed.
//
// Idea        Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol", 2000: adding
//             raises an item's k counters, removing lowers them; an item whose counters are all above 0 is probably
//             there.
// Layout      m counters of c bits, 4 or 8; counter x is bits x * c to x * c + c - 1 of the memory, bit b of it in byte
//             b / 8 under the mask 1 << (b % 8), rounded up to whole lines; the spare bits stay clear. All persists.
// Hashing     k positions as ClassicBloom has them (positions.h). Places that an item hits twice count once.
// Saturation  a counter at its largest value, 15 or 255, is never changed again: it is not known how many it stands
//             for. So it can only cause false positives, never a false negative. By chance a counter of 4 bits comes
//             there with probability 1.4e-15 in a full filter; what fills counters is adding the same item again and
//             again.
// Cost        c times the bits of ClassicBloom: 38.3 at 1% and 57.5 at 0.1% with c = 4. k cache lines per item.
// Limits      k up to 64.
// Threads     as SubFilter; Contains and Count as MayContain.
// Persisted   type 3; docs/filters/counting.md.
#pragma once

#include "core/families/bloom/positions.h"
#include "core/families/bloom/spread_lookup.h"
#include "core/families/bloom/sub_filter.h"

namespace bitsieve::core {

// The effect of one call on the counters of an item.
struct CounterChange {
  bool there = false;    // all of the item's counters were above 0
  bool changed = false;  // at least one was not saturated, and was changed
  // Counters that left 0, less those that returned to it. May be negative, modulo 2^64.
  uint64_t bits_set = 0;
};

extern const SubFilterLayout kCountingLayout;

class CountingBloom final : public SubFilter {
 public:
  static constexpr uint32_t kMaxHashFunctions = kMaxPositions;

  CountingBloom(const SubFilterShape& shape, BitMemory memory);

  static SubFilterShape ShapeFor(uint64_t capacity, double error_rate, uint32_t counter_bits);
  static bool IsValidShape(const SubFilterShape& shape);

  void Prefetch(std::span<const KeyHash> hashes) const override;
  // Starts loading all counters of an item that is about to be added.
  void PrefetchAll(const KeyHash& hash) const;
  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  std::optional<double> EstimatedRate() const override;
  uint64_t UniteWith(const SubFilter& other, WordRange range) override;

  bool Contains(const KeyHash& hash) const;
  // Returns the least of the item's counters: at least the additions that are live, unless it is saturated. 0: not
  // there.
  uint64_t Count(const KeyHash& hash) const;

  // Adds an item by raising every counter, including those at 0.
  CounterChange Raise(const KeyHash& hash);
  // Removes an item that is there; changes nothing if it is not.
  CounterChange Lower(const KeyHash& hash);

 private:
  struct Step {
    uint64_t before, after;
    bool changed() const { return before != after; }
    uint64_t bits_set() const { return uint64_t{after != 0} - uint64_t{before != 0}; }
  };

  // Sets a counter that is not saturated to next(its value).
  template <class Next>
  Step Change(uint64_t position, Next next);
  uint64_t Load(uint64_t position) const;
  SpreadArray<Positions> looked_up() const { return {shape().bits, shape().hash_functions, shape().MemoryBits() / 8}; }
  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory().data()); }

  const uint32_t counter_bits_;
  const uint64_t largest_;  // value of a counter; also its mask
};

}  // namespace bitsieve::core
