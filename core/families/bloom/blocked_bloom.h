// blocked_bloom.h: a Bloom filter that looks at one cache line per item, or two for low rates. Answers "definitely not"
// or "probably yes"; wrong with the second at the requested rate, never with the first.
//
// Idea        a lookup in a big filter costs what its cache misses cost. So an item's k bits all lie in one line of 512
//             bits, and are tested at once. Lines fill unevenly (Poisson), which costs a few per cent of memory.
// Layout      an array of 64-byte lines, each 16 lanes of 32 bits; k of the 16 lanes get one bit each:
//
//               line  | lane 0 | lane 1 | lane 2 | ... | lane 15 |      k = 6, lanes {1, 2, 7, 9, 12, 15}
//                          .       1 bit    1 bit          1 bit
//
//             All of it persists. bits = 512 * lines; hash_functions = k over all of an item's lines.
// Hashing     core/families/bloom/block_kernel.h.
// Operations  MayContain tests all bits at once. Add ORs the pattern in, and the item is new if a bit was clear; where
//             there may be no room, or an image is open, it tests first.
// Cost        9.91 bits per item at 1%, 15.55 at 0.1%; with two lines 19.9 at 1e-4 and 31.5 at 1e-6. About 3 ns in
//             cache; beyond, the time of one cache miss (two), of which batches overlap many.
// Limits      below kTwoLinesBelowRate one line would need 15% more memory than the textbook and soon 40%; so two lines
//             are used. Rates below 1e-15 for a sub-filter are not kept.
// Threads     as SubFilter.
// Persisted   type 2; docs/filters/blocked.md.
// References  Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007; Lang, Neumann, Kemper,
//             Boncz, "Performance-Optimal Filtering: Bloom Overtakes Cuckoo at High Throughput", 2019 (choosing lanes).
#pragma once

#include "core/families/bloom/block_kernel.h"
#include "core/families/bloom/sub_filter.h"

namespace bitsieve::core {

extern const SubFilterLayout kBlockedLayout;

class BlockedBloom final : public BitSubFilter {
 public:
  BlockedBloom(const SubFilterShape& shape, BitMemory memory, const BlockKernel& kernel = BestBlockKernel());

  static SubFilterShape ShapeFor(uint64_t capacity, double error_rate);
  static bool IsValidShape(const SubFilterShape& shape);

  void Prefetch(std::span<const KeyHash> hashes) const override {
    const BlockArray array = array_;  // a copy: the compiler knows that nothing changes it
    for (const KeyHash& hash : hashes) PrefetchLines(array, hash);
  }
  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override {
    kernel_.may_contain(array_, hashes.data(), hashes.size(), present.data());
  }
  QuickAdd TryAddOne(const KeyHash& hash) noexcept override {
    if (items() >= capacity() || memory().has_images()) return QuickAdd::kDeclined;
    const unsigned bits_set = kernel_.add_one(array_, hash);
    if (bits_set == 0) return QuickAdd::kPresent;
    CountChange(1, bits_set);
    return QuickAdd::kAdded;
  }
  std::optional<double> EstimatedRate() const override;

  const BlockArray& array() const { return array_; }

 protected:
  AddProgress DoAdd(const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added, uint64_t room) override {
    return kernel_.add(array_, hashes, count, skip, added, room);
  }

 private:
  const BlockArray array_;
  const BlockKernel& kernel_;
};

}  // namespace bitsieve::core
