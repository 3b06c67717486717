#include "core/bits/stripe_locks.h"

#include <sched.h>

namespace bitsieve::core {

alignas(64) uint8_t StripeLocks::locks_[StripeLocks::kCount];

void StripeLocks::LockSlowly(size_t stripe) {
  constexpr int kSpins = 64;
  do {
    for (int i = 0; i < kSpins && __atomic_load_n(&locks_[stripe], __ATOMIC_RELAXED) != 0; ++i) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
    if (__atomic_load_n(&locks_[stripe], __ATOMIC_RELAXED) != 0) sched_yield();
  } while (__atomic_exchange_n(&locks_[stripe], 1, __ATOMIC_ACQUIRE) != 0);
}

}  // namespace bitsieve::core
