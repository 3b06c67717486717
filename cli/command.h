// command.h: what main and the subcommands agree on. Each subcommand adds itself to the program and, if the command
// line asks for it, leaves its action; main runs that once all is parsed. Confined to the main thread.
#pragma once

#include <functional>

namespace bitsieve::cli {

// Returns the exit status of the process.
using Action = std::function<int()>;

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // the command line, the environment or the configuration file is wrong

}  // namespace bitsieve::cli
