// all_commands.h: the rows of the server's own commands, each family where its handlers are, and the table of all
// commands. Thread-safe: constants.
#pragma once

#include <span>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/server_context.h"

namespace bitsieve::server {

std::span<const commands::CommandRow> KeyCommands();
std::span<const commands::CommandRow> ExpiryCommands();
std::span<const commands::CommandRow> AclCommands();
std::span<const commands::CommandRow> ConnectionCommands();
std::span<const commands::CommandRow> ClientCommands();
std::span<const commands::CommandRow> ServerCommands();
std::span<const commands::CommandRow> WaitAofCommand();
std::span<const commands::CommandRow> MemoryCommands();
std::span<const commands::CommandRow> CommandCommands();
std::span<const commands::CommandRow> TransactionCommands();
std::span<const commands::CommandRow> WatchCommands();
std::span<const commands::CommandRow> PubSubCommands();
std::span<const commands::CommandRow> SlowLogCommands();  // and MONITOR
std::span<const commands::CommandRow> LatencyCommands();
std::span<const commands::CommandRow> RestoreCommands();

// Those, and the commands on filters. Built on first use.
const CommandTable& AllCommands();

}  // namespace bitsieve::server
