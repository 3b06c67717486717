// round_times.h: how long an event loop's rounds take. A round is the work between two waits: as long as it lasts,
// other clients of the loop wait. A histogram since the start, and the longest round of late.
// Begin() and End() are for the loop; everything else is thread-safe. Times are nanoseconds of the monotonic clock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bitsieve::server {

class RoundTimes {
 public:
  // Rounds up to so long are counted together; longer ones in one further place.
  static constexpr std::array<int64_t, 8> kBoundsNs = {100'000,    1'000'000,   5'000'000,   10'000'000,
                                                       50'000'000, 100'000'000, 500'000'000, 1'000'000'000};
  static constexpr size_t kPlaces = kBoundsNs.size() + 1;
  // The longest round is that of the last kLateSeconds to 2 * kLateSeconds.
  static constexpr int kLateSeconds = 17;

  void Begin(int64_t now_ns) { begun_ns_.store(now_ns, std::memory_order_relaxed); }
  // Returns how long the round took.
  int64_t End(int64_t now_ns) {
    const int64_t took_ns = std::max<int64_t>(0, now_ns - begun_ns_.load(std::memory_order_relaxed));
    begun_ns_.store(0, std::memory_order_relaxed);
    size_t place = 0;
    while (place < kBoundsNs.size() && took_ns > kBoundsNs[place]) ++place;
    Add(counts_[place], 1);
    Add(sum_ns_, static_cast<uint64_t>(took_ns));
    RaiseLongest(PeriodOf(now_ns), static_cast<uint64_t>(took_ns));
    return took_ns;
  }

  uint64_t count(size_t place) const { return counts_[place].load(std::memory_order_relaxed); }
  uint64_t sum_ns() const { return sum_ns_.load(std::memory_order_relaxed); }
  // A round that has not ended counts as well.
  int64_t LongestNs(int64_t now_ns) const {
    const uint64_t period = PeriodOf(now_ns);
    uint64_t longest = 0;
    for (const auto& of_period : longest_) {
      const uint64_t noted = of_period.load(std::memory_order_relaxed);
      const bool is_late = noted >> kTimeBits == period || noted >> kTimeBits == ((period - 1) & kPeriodMask);
      if (is_late) longest = std::max(longest, noted & kTimeMask);
    }
    const int64_t begun_ns = begun_ns_.load(std::memory_order_relaxed);
    return std::max(static_cast<int64_t>(longest), begun_ns == 0 ? 0 : now_ns - begun_ns);
  }

 private:
  static constexpr int kPeriodShift = 34;  // 17.2 seconds
  static constexpr int kTimeBits = 40;     // 18 minutes; longer rounds are noted as that
  static constexpr uint64_t kTimeMask = (uint64_t{1} << kTimeBits) - 1;
  static constexpr uint64_t kPeriodMask = UINT64_MAX >> kTimeBits;

  static uint64_t PeriodOf(int64_t now_ns) { return (static_cast<uint64_t>(now_ns) >> kPeriodShift) & kPeriodMask; }
  // For the one writer: cheaper than an atomic addition.
  static void Add(std::atomic<uint64_t>& sum, uint64_t amount) {
    sum.store(sum.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void RaiseLongest(uint64_t period, uint64_t took_ns) {
    std::atomic<uint64_t>& noted = longest_[period & 1];
    const uint64_t before = noted.load(std::memory_order_relaxed);
    took_ns = std::min(took_ns, kTimeMask);
    if (before >> kTimeBits == period && (before & kTimeMask) >= took_ns) return;
    noted.store(period << kTimeBits | took_ns, std::memory_order_relaxed);
  }

  // Relaxed: each is reported on its own, and no other memory is read on the strength of it.
  std::array<std::atomic<uint64_t>, kPlaces> counts_{};
  std::atomic<uint64_t> sum_ns_{0};
  std::atomic<int64_t> begun_ns_{0};                // of the round under way; 0 between rounds
  std::array<std::atomic<uint64_t>, 2> longest_{};  // of a period and the one before: its number, and the time
};

}  // namespace bitsieve::server
