// spread_bloom.h: the common part of the Bloom filters whose items set bits all over one array: everything except where
// the bits lie, which `Places` gives. A Places is made from a hash and the number of positions, and returns one
// position after the other.
//
// Operations  MayContain looks at the k bits until one is clear. Add looks first, and sets the bits of an item that is
//             new.
// Threads     as SubFilter.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/families/bloom/sub_filter.h"

namespace bitsieve::core {

template <class Places>
class SpreadBloom : public BitSubFilter {
 public:
  void Prefetch(std::span<const KeyHash> hashes) const final {
    // The first bits of an absent item mostly show that it is absent: loading more lines than these would be a waste.
    constexpr uint32_t kPrefetched = 3;
    for (const KeyHash& hash : hashes) {
      Places places(hash, positions_);
      for (uint32_t i = 0; i < std::min(kPrefetched, shape().hash_functions); ++i) {
        __builtin_prefetch(words() + places.Next() / 64);
      }
    }
  }

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const final {
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (Contains(hashes[i])) present[i] = 1;
    }
  }

 protected:
  SpreadBloom(const SubFilterShape& shape, BitMemory memory, uint64_t positions)
      : BitSubFilter(shape, std::move(memory)), positions_(positions) {}

  // Returns the number of positions that an item may set: the bits, or fewer.
  uint64_t positions() const { return positions_; }

  AddProgress DoAdd(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added,
                    uint64_t room) final {
    AddProgress progress{0, 0, 0};
    for (; progress.done < hashes.size(); ++progress.done) {
      const KeyHash& hash = hashes[progress.done];
      added[progress.done] = 0;
      if (skip[progress.done] != 0) continue;
      if (progress.added == room) {
        if (!Contains(hash)) break;
        continue;
      }
      const uint64_t bits_set = Add(hash);
      progress.bits_set += bits_set;
      added[progress.done] = bits_set != 0;
      progress.added += bits_set != 0;
    }
    return progress;
  }

 private:
  // Relaxed, here and below: the result of an add reaches other threads through a socket or a lock, and that orders
  // these bits too.
  bool Contains(const KeyHash& hash) const {
    Places places(hash, positions_);
    for (uint32_t i = 0; i < shape().hash_functions; ++i) {
      const uint64_t place = places.Next();
      const uint64_t word = __atomic_load_n(words() + place / 64, __ATOMIC_RELAXED);
      if ((word >> (place % 64) & 1) == 0) return false;
    }
    return true;
  }

  // Returns the number of bits newly set, 0 if the item was there. All of its lines are prefetched before the first is
  // read: an addition needs them all, and would otherwise wait for memory once per line.
  uint64_t Add(const KeyHash& hash) {
    constexpr uint32_t kMaxKept = 32;
    const uint32_t count = shape().hash_functions;
    if (count > kMaxKept) [[unlikely]]
      return Contains(hash) ? 0 : AddUnkept(hash);
    std::array<uint64_t, kMaxKept> kept;
    Places places(hash, positions_);
    for (uint32_t i = 0; i < count; ++i) {
      kept[i] = places.Next();
      __builtin_prefetch(words() + kept[i] / 64, 1);
    }
    uint64_t bits_set = 0;
    for (uint32_t i = 0; i < count; ++i) bits_set += SetBit(kept[i]);
    return bits_set;
  }
  uint64_t AddUnkept(const KeyHash& hash) {
    Places places(hash, positions_);
    uint64_t bits_set = 0;
    for (uint32_t i = 0; i < shape().hash_functions; ++i) bits_set += SetBit(places.Next());
    return bits_set;
  }
  // Returns 1 if the bit was clear. A bit that is already set is not written, nor is its line.
  uint64_t SetBit(uint64_t place) {
    const uint64_t before = __atomic_load_n(words() + place / 64, __ATOMIC_RELAXED);
    if ((before >> (place % 64) & 1) != 0) return 0;
    memory().BeforeWrite(place / 64 * sizeof(uint64_t));
    __atomic_store_n(words() + place / 64, before | uint64_t{1} << (place % 64), __ATOMIC_RELAXED);
    return 1;
  }

  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory().data()); }

  const uint64_t positions_;
};

}  // namespace bitsieve::core
