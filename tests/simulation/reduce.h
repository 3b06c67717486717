// reduce.h: makes a script that fails shorter, as long as it fails in the same way (Zeller, Hildebrandt, "Simplifying
// and Isolating Failure-Inducing Input", 2002). Thread-compatible.
#pragma once

#include <chrono>
#include <string>

#include "tests/simulation/script.h"

namespace bitsieve::simulation {

struct Reduced {
  Script script;
  std::string message;  // of its failure; empty if the script does not fail
};

// Leaving out a line changes the order of all that follows, so each shorter script is tried with a few seeds. After
// `patience`, returns the shortest one so far.
Reduced Reduce(const Script& script, std::chrono::seconds patience);

}  // namespace bitsieve::simulation
