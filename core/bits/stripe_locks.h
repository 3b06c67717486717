// stripe_locks.h: one array of byte locks for the whole process, chosen by the address of a cache line or by a hash.
// Only an item that looks new takes one, for the few instructions between looking again and setting its bits. Two
// things that share a lock by chance merely wait for each other. Thread-safe.
//
// The locks lie beside the filters, not inside their lines: a line is then loaded once and keeps all of its bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/always_inline.h"

namespace bitsieve::core {

class StripeLocks {
 public:
  static constexpr unsigned kIndexBits = 14;
  static constexpr size_t kCount = size_t{1} << kIndexBits;

  // The stripe of a cache line.
  BITSIEVE_ALWAYS_INLINE static size_t Of(const std::byte* line) {
    return OfHash(reinterpret_cast<uintptr_t>(line) / 64);
  }
  BITSIEVE_ALWAYS_INLINE static size_t OfHash(uint64_t hash) {
    return (hash * 0x9E3779B97F4A7C15ULL) >> (64 - kIndexBits);
  }

  BITSIEVE_ALWAYS_INLINE static void Lock(size_t stripe) {
    if (__atomic_exchange_n(&locks_[stripe], 1, __ATOMIC_ACQUIRE) != 0) [[unlikely]]
      LockSlowly(stripe);
  }
  BITSIEVE_ALWAYS_INLINE static void Unlock(size_t stripe) { __atomic_store_n(&locks_[stripe], 0, __ATOMIC_RELEASE); }

 private:
  // Spins a little, then gives the processor away: the holder may have been put to sleep.
  static void LockSlowly(size_t stripe);

  static uint8_t locks_[kCount];
};

// Holds the stripes of one or two lines, in ascending order so that two holders never wait for each other.
class StripeGuard {
 public:
  BITSIEVE_ALWAYS_INLINE explicit StripeGuard(size_t stripe) : StripeGuard(stripe, stripe) {}
  BITSIEVE_ALWAYS_INLINE StripeGuard(size_t a, size_t b) : low_(a < b ? a : b), high_(a < b ? b : a) {
    StripeLocks::Lock(low_);
    if (high_ != low_) StripeLocks::Lock(high_);
  }
  StripeGuard(const StripeGuard&) = delete;
  StripeGuard& operator=(const StripeGuard&) = delete;
  BITSIEVE_ALWAYS_INLINE ~StripeGuard() {
    if (high_ != low_) StripeLocks::Unlock(high_);
    StripeLocks::Unlock(low_);
  }

 private:
  const size_t low_;
  const size_t high_;
};

}  // namespace bitsieve::core
