// wall_times.h: what the clock of the time of day has shown in a run that sets it ahead and back. Confined to threads
// of the simulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/simulation/scheduler.h"

namespace bitsieve::simulation {

class WallClock {
 public:
  explicit WallClock(Scheduler& scheduler) : scheduler_(scheduler) {}

  int64_t now_ms() const { return scheduler_.wall_ms(); }
  void Step(int64_t step_ms) {
    latest_ms_ = std::max(latest_ms_, now_ms());
    scheduler_.StepWallClock(step_ms * 1'000'000);
    steps_.push_back({scheduler_.now_ns(), now_ms()});
  }
  // Returns the latest time that it has shown until now.
  int64_t LatestMs() const { return std::max(latest_ms_, now_ms()); }
  // Returns the earliest time that it has shown since `since_ns`, when it showed `then_ms`.
  int64_t EarliestMs(int64_t since_ns, int64_t then_ms) const {
    int64_t earliest = then_ms;
    for (const Shown& step : steps_) {
      if (step.at_ns >= since_ns) earliest = std::min(earliest, step.wall_ms);
    }
    return earliest;
  }

 private:
  struct Shown {
    int64_t at_ns;
    int64_t wall_ms;
  };

  Scheduler& scheduler_;
  int64_t latest_ms_ = 0;
  std::vector<Shown> steps_;
};

}  // namespace bitsieve::simulation
