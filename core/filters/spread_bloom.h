// spread_bloom.h: what the Bloom filters share whose items set bits all over one array: all but where those lie, which
// is what `Places` says, made from a hash and the number of positions, by one position after the other.
//
// Operations  MayContain looks at the k bits until one is clear. Add looks first, without a lock; only for an item that
//             looks new it takes the stripe of the item's hash, looks again, and sets the bits with atomic ORs, since
//             other items share their words.
// Threads     thread-safe; MayContain takes no lock; "new" is told exactly once.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "core/bits/stripe_locks.h"
#include "core/filters/link.h"

namespace bitsieve::core {

template <class Places>
class SpreadBloom : public Link {
 public:
  void Prefetch(const KeyHash& hash) const final {
    // An absent item is mostly found out by its first bits: more lines than these would be loaded for nothing.
    constexpr uint32_t kPrefetched = 3;
    Places places(hash, positions_);
    for (uint32_t i = 0; i < std::min(kPrefetched, shape().hash_functions); ++i) {
      __builtin_prefetch(words() + places.Next() / 64);
    }
  }

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const final {
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (Contains(hashes[i])) present[i] = 1;
    }
  }

  LinkProgress Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added,
                   uint64_t room) final {
    LinkProgress progress{0, 0, 0};
    for (; progress.done < hashes.size(); ++progress.done) {
      const KeyHash& hash = hashes[progress.done];
      added[progress.done] = 0;
      if (skip[progress.done] != 0 || Contains(hash)) continue;
      if (progress.added == room) break;
      // Another item may have set the last missing bit just now: then this one is present, whoever set it.
      const uint32_t bits_set = SetIfNew(hash);
      added[progress.done] = bits_set != 0;
      progress.added += bits_set != 0;
      progress.bits_set += bits_set;
    }
    return progress;
  }

  uint64_t UniteWith(const Link& other) final {
    const auto* from = reinterpret_cast<const uint64_t*>(other.memory().data());
    uint64_t bits_set = 0;
    for (uint64_t i = 0; i < memory().size_bytes() / sizeof(uint64_t); ++i) {
      const uint64_t bits = __atomic_load_n(from + i, __ATOMIC_RELAXED);
      if (bits == 0) continue;
      bits_set += static_cast<uint64_t>(std::popcount(bits & ~__atomic_fetch_or(words() + i, bits, __ATOMIC_RELAXED)));
    }
    return bits_set;
  }

 protected:
  SpreadBloom(const LinkShape& shape, BitMemory memory, uint64_t positions)
      : Link(shape, std::move(memory)), positions_(positions) {}

  // That an item may set: the bits, or fewer.
  uint64_t positions() const { return positions_; }

 private:
  // Relaxed loads and ORs: what an adder was told reaches others through a socket or a lock, and that orders these bits
  // too.
  bool Contains(const KeyHash& hash) const {
    Places places(hash, positions_);
    for (uint32_t i = 0; i < shape().hash_functions; ++i) {
      const uint64_t place = places.Next();
      const uint64_t word = __atomic_load_n(words() + place / 64, __ATOMIC_RELAXED);
      if ((word >> (place % 64) & 1) == 0) return false;
    }
    return true;
  }

  // The bits newly set, or 0 if another thread was first.
  uint32_t SetIfNew(const KeyHash& hash) {
    const StripeGuard guard(StripeLocks::OfHash(hash.low ^ reinterpret_cast<uintptr_t>(this)));
    if (Contains(hash)) return 0;
    Places places(hash, positions_);
    uint32_t bits_set = 0;
    for (uint32_t i = 0; i < shape().hash_functions; ++i) {
      const uint64_t place = places.Next();
      const uint64_t bit = uint64_t{1} << (place % 64);
      bits_set += (__atomic_fetch_or(words() + place / 64, bit, __ATOMIC_RELAXED) & bit) == 0;
    }
    return bits_set;
  }

  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory().data()); }

  const uint64_t positions_;
};

}  // namespace bitsieve::core
