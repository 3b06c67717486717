// processor_clock.h: the clock of the processor, which code reads by an instruction (rdtsc) and not by a function of
// the C library. Where there is such an instruction, the kernel is asked to refuse it, and what it would have returned
// is the simulated time. Call it once, before the simulation; other threads inherit it.
#pragma once

namespace bitsieve::simulation {

void SimulateProcessorClock();

}  // namespace bitsieve::simulation
