// thread_name.h: the names that tools of the system show threads by (top -H, ps -L, a debugger). Thread-safe: it
// concerns the caller alone.
#pragma once

#include <sys/prctl.h>

namespace bitsieve::core {

inline constexpr int kMaxThreadNameBytes = 15;  // the system cuts off what is longer

// Allocates nothing.
inline void NameThread(const char* name) { prctl(PR_SET_NAME, name); }

}  // namespace bitsieve::core
