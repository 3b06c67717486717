// The counter of the processor, in simulated time: a tick is a nanosecond.
#include "core/base/tick_clock.h"

#include "tests/simulation/scheduler.h"

namespace bitsieve::core {

uint64_t TickClock::Now() {
  simulation::Scheduler* const scheduler = simulation::Scheduler::Current();
  return scheduler == nullptr ? 0 : scheduler->ReadTicks();
}

double TickClock::MeasureRate() { return 1; }

}  // namespace bitsieve::core
