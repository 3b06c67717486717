// clock.h: where filters that age have the time from. Handed in, so that tests turn it by hand; the core reads no
// other. Thread-safe.
#pragma once

#include <cstdint>

namespace bitsieve::core {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970-01-01 UTC, rounded down. May go backwards: whoever asks must bear it.
  virtual uint64_t NowMs() const = 0;
};

// The time of day when the process started, plus what has passed since, suspension included: setting the system's clock
// does not move it.
const Clock& SystemClock();

}  // namespace bitsieve::core
