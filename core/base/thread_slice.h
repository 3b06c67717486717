// thread_slice.h: how long a thread wants to run before others get its core. Thread-safe: it concerns the caller alone.
#pragma once

namespace bitsieve::core {

// For a thread that mostly waits, and then works for a short time: it gets a core sooner once it has work, before
// threads that compute for long. Advice: Linux before 6.12 does not know it.
void RequestShortSlices();

}  // namespace bitsieve::core
