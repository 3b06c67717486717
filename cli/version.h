// version.h: `bitsieve version`. Confined to the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"

namespace bitsieve::cli {

// "bitsieve 0.1.0"
std::string VersionText();

void AddVersion(CLI::App& program, Action& action);

}  // namespace bitsieve::cli
