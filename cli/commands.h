// commands.h: what main and the subcommands agree on. Each subcommand adds itself to the program and, if the command
// line asks for it, leaves its action; main runs that once all is parsed. Confined to the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace bitsieve::cli {

// Returns the exit status of the process.
using Action = std::function<int()>;

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // the command line, the environment or the configuration file is wrong

// Reads the configuration and runs the server until it is stopped.
void AddServe(CLI::App& program, Action& action);
// Checks whether a server is running and ready, for people, health checks and probes.
void AddPing(CLI::App& program, Action& action);
// Shows what a data directory contains and checks it for damage.
void AddInspect(CLI::App& program, Action& action);
void AddVersion(CLI::App& program, Action& action);

// "bitsieve 0.1.0"
std::string VersionText();

}  // namespace bitsieve::cli
