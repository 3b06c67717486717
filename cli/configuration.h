// configuration.h: the configuration that a subcommand runs with, or a clear word on standard error. Confined to the
// main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "config/flags.h"
#include "config/loader.h"

namespace bitsieve::cli {

// Nothing if something is wrong; then each problem has its line on standard error, led by the command's name. Arguments
// that `command` did not expect are such problems, if it allows them to come so far (CLI::App::allow_extras).
std::optional<config::Configuration> LoadOrExplain(const CLI::App& command, const config::Flags& flags);

}  // namespace bitsieve::cli
