// serve.h: `bitsieve serve`: reads the configuration and runs the server until it is stopped. Confined to the main
// thread.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace bitsieve::cli {

void AddServe(CLI::App& program, Action& action);

}  // namespace bitsieve::cli
