// run.h: runs a script: the lives of a server one after another, its clients, its disk and its clock, all under one
// scheduler; and checks what each life promised when the next one has begun. Call it once in a process: what a fault
// leaves behind is nothing to continue with.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/script.h"

namespace bitsieve::simulation {

struct RunFigures {
  uint64_t commands = 0;
  uint64_t lookups = 0;         // whose reply was compared with the model
  uint64_t without_memory = 0;  // steps that were refused for want of memory
  uint64_t crashes = 0;
  uint64_t stops = 0;
  uint64_t switches = 0;  // of threads
  int64_t simulated_ms = 0;
  uint64_t digest = 0;  // of the order and the times of the threads' turns

  RunFigures& operator+=(const RunFigures& other) {
    commands += other.commands;
    lookups += other.lookups;
    without_memory += other.without_memory;
    crashes += other.crashes;
    stops += other.stops;
    switches += other.switches;
    simulated_ms += other.simulated_ms;
    digest ^= other.digest;
    return *this;
  }
};

// Does not return if it finds a fault: see FailRun. `directory` is for the socket.
RunFigures RunScript(const Script& script, const std::string& directory);

}  // namespace bitsieve::simulation
