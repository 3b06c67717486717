// spread_bloom.h: the common part of the Bloom filters whose items set bits all over one array: everything except where
// the bits lie, which `Places` gives. A Places is made from a hash and a Places::Range, and returns one position after
// the other; a Range is made from the number of positions.
//
// Operations  MayContain looks at the first three of the k bits, then at the others until one is clear. Add sets the
//             bits and counts those that were clear: an item is new if there are any. It looks first where there may be
//             no room, or while an image is open.
// Threads     as SubFilter.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/test_and_set_bit.h"
#include "core/families/bloom/spread_lookup.h"
#include "core/families/bloom/sub_filter.h"

namespace bitsieve::core {

template <class Places>
class SpreadBloom : public BitSubFilter {
 public:
  void Prefetch(std::span<const KeyHash> hashes) const final {
    const Range range(positions_);
    for (const KeyHash& hash : hashes) {
      Places places(hash, range);
      for (uint32_t i = 0; i < std::min(kFirstPlaces, shape().hash_functions); ++i) {
        __builtin_prefetch(words() + places.Next() / 64);
      }
    }
  }

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const final {
    MarkPresent(
        looked_up(), hashes, present, [words = words()](uint64_t place) { return BitAt(words, place); },
        [words = words()](uint64_t place) { __builtin_prefetch(words + place / 64); });
  }

  QuickAdd TryAddOne(const KeyHash& hash) noexcept final {
    if (items() >= capacity() || memory().has_images()) return QuickAdd::kDeclined;
    const uint64_t bits_set = SetBits(array(), hash);
    if (bits_set == 0) return QuickAdd::kPresent;
    CountChange(1, bits_set);
    return QuickAdd::kAdded;
  }

 protected:
  SpreadBloom(const SubFilterShape& shape, BitMemory memory, uint64_t positions)
      : BitSubFilter(shape, std::move(memory)), positions_(positions) {}

  // Returns the number of positions that an item may set: the bits, or fewer.
  uint64_t positions() const { return positions_; }

  AddProgress DoAdd(const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added, uint64_t room) final {
    if (room >= count && !memory().has_images() && shape().hash_functions <= kMostInAByte) [[likely]]
      return AddAll(hashes, count, skip, added);
    AddProgress progress{0, 0, 0};
    for (; progress.done < count; ++progress.done) {
      const KeyHash& hash = hashes[progress.done];
      added[progress.done] = 0;
      if (skip[progress.done] != 0 || Contains(hash)) continue;
      if (progress.added == room) break;
      progress.bits_set += AddMissing(hash);
      added[progress.done] = 1;
      ++progress.added;
    }
    return progress;
  }

 private:
  using Range = typename Places::Range;

  static constexpr uint32_t kMostInAByte = UINT8_MAX;

  // A loop has these by value: the compiler would load members again after every byte that it writes.
  struct Array {
    uint64_t* words;
    Range range;
    uint32_t hash_functions;
  };

  bool Contains(const KeyHash& hash) const {
    return IsPresent(looked_up(), hash, [words = words()](uint64_t place) { return BitAt(words, place); });
  }
  // Relaxed, here and below: the result of an add reaches other threads through a socket or a lock, and that orders
  // these bits too.
  static uint64_t BitAt(const uint64_t* words, uint64_t place) {
    return __atomic_load_n(words + place / 64, __ATOMIC_RELAXED) >> (place % 64) & 1;
  }

  // Adds hashes where there is room for all, no image is open, and a byte can count the bits of one. The sums have a
  // loop of their own: they would take registers away from the one that sets bits.
  AddProgress AddAll(const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added) {
    const Array array = this->array();
    for (size_t i = 0; i < count; ++i) added[i] = skip[i] != 0 ? 0 : static_cast<uint8_t>(SetBits(array, hashes[i]));
    uint32_t all_added = 0, all_bits_set = 0;
    for (size_t i = 0; i < count; ++i) {
      all_bits_set += added[i];
      added[i] = added[i] != 0 ? 1 : 0;
      all_added += added[i];
    }
    return {count, all_added, all_bits_set};
  }
  // Returns the number of bits that were clear. No branch depends on what the bits are: for random items it would be
  // mispredicted at every third bit, and the processor would not get to the lines of the next items while it waits for
  // these.
  static uint64_t SetBits(Array array, const KeyHash& hash) {
    Places places(hash, array.range);
    uint64_t were_set = 0;
#pragma GCC unroll 2  // more than two are no faster, since their number then has to be divided
    for (uint32_t i = 0; i < array.hash_functions; ++i) TestAndSetBit(array.words, places.Next(), were_set);
    return array.hash_functions - were_set;
  }
  // A word whose bit is set already is not written, so that no image keeps a copy of it.
  uint64_t AddMissing(const KeyHash& hash) {
    Places places(hash, Range(positions_));
    uint64_t bits_set = 0;
    for (uint32_t i = 0; i < shape().hash_functions; ++i) {
      const uint64_t place = places.Next();
      const uint64_t before = __atomic_load_n(words() + place / 64, __ATOMIC_RELAXED);
      if ((before >> (place % 64) & 1) != 0) continue;
      memory().BeforeWrite(place / 64 * sizeof(uint64_t));
      __atomic_store_n(words() + place / 64, before | uint64_t{1} << (place % 64), __ATOMIC_RELAXED);
      ++bits_set;
    }
    return bits_set;
  }

  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory().data()); }
  Array array() const { return {words(), Range(positions_), shape().hash_functions}; }
  SpreadArray<Places> looked_up() const { return {Range(positions_), shape().hash_functions, shape().bits / 8}; }

  const uint64_t positions_;
};

}  // namespace bitsieve::core
