// configuration.h: the configuration that a subcommand runs with, or a clear word on standard error. Confined to the
// main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "config/loader.h"

namespace bitsieve::cli {

// Nothing if something is wrong; then each problem is explained. `problems` are those already known. Arguments that
// `command` did not expect are problems, too, if it allows them to come so far (CLI::App::allow_extras).
std::optional<config::Configuration> LoadOrExplain(const CLI::App& command, const config::Sources& sources,
                                                   config::Problems problems = {});

// A path of a directory as people write it, without what shells add to its end.
std::string WithoutSlashes(std::string path);

// Each problem on a line of standard error, led by the command's name.
void Explain(const CLI::App& command, const config::Problems& problems);

}  // namespace bitsieve::cli
