// inspect.h: `bitsieve inspect`: tells what lies in a data directory, and whether it is whole. Confined to the main
// thread.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace bitsieve::cli {

void AddInspect(CLI::App& program, Action& action);

}  // namespace bitsieve::cli
