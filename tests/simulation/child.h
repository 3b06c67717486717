// child.h: runs a script in a process of its own, so that every run begins in the same state, and one that dies is a
// finding like any other. Thread-compatible; the caller has one thread.
#pragma once

#include <string>

#include "tests/simulation/run.h"
#include "tests/simulation/script.h"

namespace bitsieve::simulation {

struct ChildOutcome {
  bool ok = false;
  std::string message;  // of a fault: what was found
  RunFigures figures;   // if ok
};

// `logs`: the server's log is printed.
ChildOutcome RunInChild(const Script& script, bool logs = false);

// Runs the script that RunInChild left in `directory`, and ends the process. Called for --child.
[[noreturn]] void RunAsChild(const std::string& directory, bool logs);

}  // namespace bitsieve::simulation
