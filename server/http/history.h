// history.h: some figures of the last hour, taken at equal intervals, so that a page that is opened now has curves.
// Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "server/dispatch/environment.h"
#include "server/stats/command_stats.h"

namespace bitsieve::server {

class History {
 public:
  static constexpr std::chrono::seconds kInterval{5};
  static constexpr size_t kPoints = 720;  // an hour

  // Fields of INFO, as they were; counters are not yet rates. After them the latencies, which are of the interval
  // before the point, in seconds; 0 if no command ran in it.
  static std::span<const std::string_view> Fields();

  struct Point {
    uint64_t number;  // of all that were ever taken, from 1 on
    int64_t unix_ms;
    std::vector<double> values;  // of Fields()
  };

  void Take(const Environment& server);
  // Those with higher numbers, oldest first.
  std::vector<Point> After(uint64_t number) const;

 private:
  mutable core::Mutex mutex_;
  std::deque<Point> points_ BITSIEVE_GUARDED_BY(mutex_);
  uint64_t taken_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  CommandTotals before_ BITSIEVE_GUARDED_BY(mutex_);  // of all commands, at the last point
};

}  // namespace bitsieve::server
