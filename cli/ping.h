// ping.h: `bitsieve ping`: checks whether a server is running and ready, for people, health checks and probes. Confined
// to the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "cli/command.h"

namespace bitsieve::cli {

// Sends PING and waits for the answer, all within `timeout`. The error states which step failed.
tl::expected<void, std::string> Ping(const std::string& host, uint16_t port, std::chrono::milliseconds timeout);

void AddPing(CLI::App& program, Action& action);

}  // namespace bitsieve::cli
