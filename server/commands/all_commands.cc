#include "server/commands/all_commands.h"

#include <vector>

#include "commands/filter_commands.h"

namespace bitsieve::server {

using namespace commands;

const CommandTable& AllCommands() {
  static const CommandTable table = [] {
    std::vector<std::span<const CommandRow>> families;
    for (const auto family : commands::kFilterCommands) families.push_back(family());
    for (const auto family : {KeyCommands, ExpiryCommands, AclCommands, ConnectionCommands, ClientCommands,
                              ServerCommands, WaitAofCommand, MemoryCommands, CommandCommands, TransactionCommands,
                              WatchCommands, PubSubCommands, SlowLogCommands, LatencyCommands, RestoreCommands}) {
      families.push_back(family());
    }
    return CommandTable(families);
  }();
  return table;
}

}  // namespace bitsieve::server
