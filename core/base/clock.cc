#include "core/base/clock.h"

#include <ctime>

namespace bitsieve::core {

namespace {

uint64_t ReadMs(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000 + static_cast<uint64_t>(time.tv_nsec) / 1'000'000;
}

class ProcessClock final : public Clock {
 public:
  uint64_t NowMs() const override { return start_ + ReadMs(CLOCK_BOOTTIME); }

 private:
  const uint64_t start_ = ReadMs(CLOCK_REALTIME) - ReadMs(CLOCK_BOOTTIME);
};

}  // namespace

const Clock& SystemClock() {
  static const ProcessClock clock;
  return clock;
}

}  // namespace bitsieve::core
