// clock.h: one interface to the two clocks of the process. It is passed in, so that tests can set the time and a host
// of the core can supply its own. Deadlines of condition variables and timers, and measured durations, use
// std::chrono::steady_clock instead. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace bitsieve::core {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970-01-01 UTC, rounded down. May go backwards: callers must cope with that.
  virtual int64_t WallMs() const = 0;
  // Milliseconds since a fixed moment. Never goes backwards, whatever the system's clock is set to.
  virtual int64_t MonotonicMs() const = 0;
};

// The system's clocks, accurate to a tick of the kernel (1 to 4 ms), at a fifth of the cost of the exact ones: cheap
// enough for each command.
const Clock& SystemClock();

// The clock of filters that age. Setting the system's clock does not move its wall time: that is the time of day when
// the clock was made, plus what has passed since, suspension included. While a log is replayed, it is the time at which
// the changes were made.
class FilterClock final : public Clock {
 public:
  FilterClock();
  int64_t WallMs() const override;
  int64_t MonotonicMs() const override { return SystemClock().MonotonicMs(); }

  // Sets the wall time to that of a change; 0: the present again. Filters that were replayed keep the clock.
  void Replay(uint64_t ms) { replayed_ms_.store(static_cast<int64_t>(ms), std::memory_order_relaxed); }

 private:
  const int64_t boot_ms_;                // when the machine started, by the wall clock
  std::atomic<int64_t> replayed_ms_{0};  // relaxed: set and read by the thread that replays
};

}  // namespace bitsieve::core
