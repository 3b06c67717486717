// command_families.h: the rows of each family, where its handlers are. command_table.cc puts them together.
// Thread-safe: constants.
#pragma once

#include <span>

#include "server/commands/command.h"

namespace bitsieve::server {

std::span<const CommandRow> BloomCommands();
std::span<const CommandRow> BloomSetCommands();
std::span<const CommandRow> DumpCommands();
std::span<const CommandRow> RemovalCommands();
std::span<const CommandRow> FreezeCommands();
std::span<const CommandRow> CuckooCommands();
std::span<const CommandRow> CuckooDumpCommands();
std::span<const CommandRow> KeyCommands();
std::span<const CommandRow> ExpiryCommands();
std::span<const CommandRow> ConnectionCommands();
std::span<const CommandRow> ClientCommands();
std::span<const CommandRow> ServerCommands();
std::span<const CommandRow> ObjectCommands();
std::span<const CommandRow> MemoryCommands();
std::span<const CommandRow> CommandCommands();
std::span<const CommandRow> TransactionCommands();
std::span<const CommandRow> WatchCommands();
std::span<const CommandRow> PubSubCommands();

}  // namespace bitsieve::server
