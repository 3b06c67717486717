// sub_filter.h: one Bloom filter of fixed size, as a sub-filter of a scalable filter. The base holds what every type
// has: its shape, its bits, and the count of items, beyond which it takes no new ones.
//
// Threads: MayContain, Prefetch and the getters may run concurrently with one writer, without a lock. Writers exclude
// each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/families/bloom/add_progress.h"
#include "core/filter/chain.h"
#include "core/filter/false_positive_list.h"
#include "core/filter/filter_params.h"
#include "core/filter/quick_add.h"
#include "core/hash/key_hash.h"
#include "core/memory/bit_memory.h"
#include "core/memory/count_bits.h"

namespace bitsieve::core {

class SubFilter;
struct SubFilterShape;

// How sub-filters of one type lay out their bits: one row for each class of SubFilter.
struct SubFilterLayout {
  // Returns the shape that keeps `error_rate` with `capacity` items, in a filter of these parameters.
  SubFilterShape (*shape_for)(uint64_t capacity, double error_rate, const FilterParams& params);
  // Returns whether a shape read from foreign bytes is one that such a sub-filter can have.
  bool (*is_valid)(const SubFilterShape& shape);
  // Makes an empty sub-filter; `memory` is all 0.
  std::unique_ptr<SubFilter> (*make)(const SubFilterShape& shape, BitMemory memory);
  // Returns the expected error rate once the sub-filter counts `items` items; `items` is more than 0.
  double (*rate_with)(const SubFilterShape& shape, double items);
  bool spreads = true;    // an item touches several pages of a large sub-filter
  bool counters = false;  // counters in place of bits: repeated additions count as items
  // Bits that stay together where neighbours are folded into one (fold.h). 0: such a sub-filter does not fold.
  uint32_t fold_unit_bits = 0;
  bool byte_body = false;  // an image has only the bytes of the bits, without the rest of the last line
};

// All that determines where a sub-filter's bits lie. Persisted, so that later versions may size otherwise.
struct SubFilterShape {
  const SubFilterLayout* layout;
  uint64_t capacity;          // items
  double error_rate;          // of this sub-filter by itself, when full
  uint64_t bits;              // m; counting: counters
  uint32_t hash_functions;    // k, bits set (counters raised) per item over all of its lines
  uint32_t lines_per_item;    // blocked: 1 or 2; others: 0
  uint32_t counter_bits = 1;  // counting: 4 or 8; others: 1
  // Only the type redisbloom uses these two; it stores them.
  uint8_t log2_positions = 0;  // not 0: positions are modulo its power of two, not modulo the bits
  double bits_per_entry = 0;

  uint64_t MemoryBits() const { return bits * counter_bits; }
  uint64_t SizeBytes() const { return (MemoryBits() + kLineBits - 1) / kLineBits * kLineBytes; }
  // Returns how many bytes of the memory an image has.
  uint64_t BodyBytes() const { return layout->byte_body ? bits / 8 : SizeBytes(); }
  bool operator==(const SubFilterShape&) const = default;
};

// Words of 64 bits of a sub-filter's memory: from the first to before the end.
struct WordRange {
  uint64_t first;
  uint64_t end;
};

// A sub-filter. Besides BitSubFilter::Add, the functions that change it belong to its class.
class SubFilter : public ChainMember<SubFilter> {
 public:
  SubFilter(const SubFilter&) = delete;
  SubFilter& operator=(const SubFilter&) = delete;
  virtual ~SubFilter() = default;

  const SubFilterShape& shape() const { return shape_; }
  const BitMemory& memory() const { return memory_; }
  BitMemory& memory() { return memory_; }

  virtual void Prefetch(std::span<const KeyHash> hashes) const = 0;
  // present[i] = 1 where hashes[i] is there; other elements are left as they are.
  virtual void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const = 0;
  // Returns the rate of a lookup now, from the fill; nothing if the sub-filter is too small for the formula.
  virtual std::optional<double> EstimatedRate() const = 0;
  // Returns the set bits in some bytes of the memory; of counters, those that are not 0.
  uint64_t CountSet(std::span<const std::byte> bytes) const { return CountSetFields(bytes, shape_.counter_bits); }

  uint64_t capacity() const { return shape_.capacity; }
  uint64_t size_bytes() const { return shape_.SizeBytes(); }
  uint64_t items() const { return items_.load(std::memory_order_acquire); }
  uint64_t set_bits() const { return set_bits_.load(std::memory_order_relaxed); }
  // Returns how many new items there is room for. Repeated additions of one item may have taken more places than there
  // are.
  uint64_t Room() const { return shape_.capacity - std::min(items(), shape_.capacity); }
  // Counts items and set bits that came by other means than Add; or that went, modulo 2^64.
  void CountChange(uint64_t items, uint64_t bits_set) {
    set_bits_.store(set_bits() + bits_set, std::memory_order_relaxed);
    items_.store(this->items() + items, std::memory_order_release);
  }
  // Returns the number of changes of content by uniting, which may add no item.
  uint64_t united() const { return united_.load(std::memory_order_acquire); }
  void CountUnited(uint64_t changes) { united_.store(united() + changes, std::memory_order_release); }

  // Adds what `other`, of equal shape, holds in some whole words of its memory, while other threads may look items up.
  // Returns how many bits that set; the caller counts them, and the items.
  virtual uint64_t UniteWith(const SubFilter& other, WordRange words) = 0;

  // The filter's list of known false positives, of which each sub-filter knows.
  FalsePositiveSlot& false_positives() { return false_positives_; }
  const FalsePositiveSlot& false_positives() const { return false_positives_; }

  // Sets the counts of a sub-filter read back from bytes, before any other thread sees it.
  void Restore(uint64_t items, uint64_t set_bits);

 protected:
  SubFilter(const SubFilterShape& shape, BitMemory memory) : shape_(shape), memory_(std::move(memory)) {}

 private:
  // Constant after construction, except for the bits themselves.
  const SubFilterShape shape_;
  BitMemory memory_;

  // Written only by the writer.
  std::atomic<uint64_t> items_{0};     // released after an item's bits are set
  std::atomic<uint64_t> set_bits_{0};  // relaxed: only ever reported, never relied on
  std::atomic<uint64_t> united_{0};    // released after what changed
  FalsePositiveSlot false_positives_;
};

// A sub-filter of bits, to which items are added one like the other.
class BitSubFilter : public SubFilter {
 public:
  // Adds in order the hashes whose skip[i] is 0; added[i] = 1 if hashes[i] was new, else 0. Stops before the first new
  // item for which there is no room. What it added is counted.
  AddProgress Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added) {
    const AddProgress progress = DoAdd(hashes.data(), hashes.size(), skip.data(), added.data(), Room());
    if (progress.added != 0) CountChange(progress.added, progress.bits_set);
    return progress;
  }

  // Adds one item and counts it. Declines if there is no room or an image is open.
  virtual QuickAdd TryAddOne(const KeyHash& hash) noexcept = 0;

  uint64_t UniteWith(const SubFilter& other, WordRange range) final;
  // Does the same with these words, of which the first is that of index `first`.
  uint64_t Or(uint64_t first, std::span<const uint64_t> words);

 protected:
  using SubFilter::SubFilter;

  // Does what Add does, for at most `room` new items, and counts nothing.
  virtual AddProgress DoAdd(const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added,
                            uint64_t room) = 0;

 private:
  // Returns how many bits that set.
  template <class WordAt>
  uint64_t OrWords(WordRange range, const WordAt& word_at);
};

// Returns whether a shape read from foreign bytes is one that a sub-filter can have.
bool IsValid(const SubFilterShape& shape);
// Makes an empty sub-filter; kOutOfMemory if the budget refuses. The shape is valid.
Result<std::unique_ptr<SubFilter>> MakeSubFilter(const SubFilterShape& shape, MemoryBudget& budget);

}  // namespace bitsieve::core
