// inspect.h: `bitsieve inspect`: shows what a data directory contains and checks it for damage. Confined to the main
// thread.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace bitsieve::cli {

void AddInspect(CLI::App& program, Action& action);

}  // namespace bitsieve::cli
