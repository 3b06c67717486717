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
inline constexpr int kExitUsage = 2;          // the command line, the environment or the configuration file is wrong
inline constexpr int kExitInterrupted = 130;  // as of a process that SIGINT ended

// Reads the configuration and runs the server until it is stopped.
void AddServe(CLI::App& program, Action& action);
// Checks whether a server is running and ready, for people, health checks and probes.
void AddPing(CLI::App& program, Action& action);
// Sends commands to a server and prints the replies: at a prompt, from a pipe, or one of the command line.
void AddCli(CLI::App& program, Action& action);
// Adds the items of files to a filter.
void AddLoad(CLI::App& program, Action& action);
// Prints the lines of a file that are in a filter, or are not.
void AddCheck(CLI::App& program, Action& action);
// Copies files without the records that were seen before, without a server.
void AddDedup(CLI::App& program, Action& action);
// Writes a filter to a file, and makes one from a file.
void AddExport(CLI::App& program, Action& action);
void AddImport(CLI::App& program, Action& action);
// Moves filters from Redis, Valkey or another server, or out of an RDB file.
void AddMigrate(CLI::App& program, Action& action);
// Shows what a data directory contains and checks it for damage.
void AddInspect(CLI::App& program, Action& action);
// Copies the data directory of a server, running or not, and verifies the copy.
void AddBackup(CLI::App& program, Action& action);
// Makes a data directory of a backup.
void AddRestore(CLI::App& program, Action& action);
// Checks a configuration as serve would read it, without starting anything.
void AddCheckConfig(CLI::App& program, Action& action);
// Recommends a filter for a number of items, an error rate or a memory, without a server.
void AddPlan(CLI::App& program, Action& action);
// Prints a script by which a shell completes the other subcommands and their flags.
void AddCompletion(CLI::App& program, Action& action);
void AddVersion(CLI::App& program, Action& action);

// "bitsieve 1.0.0"
std::string VersionText();

}  // namespace bitsieve::cli
