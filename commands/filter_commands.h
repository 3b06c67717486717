// filter_commands.h: the rows of all commands on filters, BF.* and CF.*, by family. Thread-safe: constants.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "commands/command.h"

namespace bitsieve::commands {

std::span<const CommandRow> BloomCommands();
std::span<const CommandRow> BloomSetCommands();
std::span<const CommandRow> DumpCommands();
std::span<const CommandRow> ChangeCommands();
std::span<const CommandRow> RemovalCommands();
std::span<const CommandRow> ExpiryCommands();
std::span<const CommandRow> FoldCommands();
std::span<const CommandRow> FreezeCommands();
std::span<const CommandRow> FalsePositiveCommands();
std::span<const CommandRow> CuckooCommands();
std::span<const CommandRow> CuckooDumpCommands();

inline constexpr std::array kFilterCommands{BloomCommands,         RemovalCommands,  ExpiryCommands,    FreezeCommands,
                                            FalsePositiveCommands, BloomSetCommands, FoldCommands,      DumpCommands,
                                            ChangeCommands,        CuckooCommands,   CuckooDumpCommands};

// The row of that name, in any case; null if there is none.
const CommandRow* FindFilterCommand(std::string_view name);

}  // namespace bitsieve::commands
