// all_commands.h: the rows of the server's own commands, each family where its handlers are, and the table of all
// commands. Thread-safe: constants.
#pragma once

#include <span>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/server_context.h"
#include "server/namespace.h"

namespace bitsieve::server {

std::span<const CommandRow> KeyCommands();
std::span<const CommandRow> ExpiryCommands();
std::span<const CommandRow> AclCommands();
std::span<const CommandRow> ConnectionCommands();
std::span<const CommandRow> ClientCommands();
std::span<const CommandRow> ServerCommands();
std::span<const CommandRow> ObjectCommands();
std::span<const CommandRow> MemoryCommands();
std::span<const CommandRow> CommandCommands();
std::span<const CommandRow> TransactionCommands();
std::span<const CommandRow> WatchCommands();
std::span<const CommandRow> PubSubCommands();
std::span<const CommandRow> SlowLogCommands();  // and MONITOR
std::span<const CommandRow> LatencyCommands();
std::span<const CommandRow> RestoreCommands();

// Those, and the commands on filters. Built on first use.
const CommandTable& AllCommands();

}  // namespace bitsieve::server
