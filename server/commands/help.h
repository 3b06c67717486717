// help.h: HELP of a command with subcommands: their arguments and summaries, read off its rows. Each such command has
// HelpRow among its subcommands. Thread-safe: constants and a free function.
#pragma once

#include <string_view>

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

void Help(ServerContext& context);

// `name` is that of the subcommand: "client|help".
constexpr CommandRow HelpRow(std::string_view name, std::string_view since,
                             CommandGroup group = CommandGroup::kServer) {
  return {.name = name,
          .arity = 2,
          .flags = kLoading,
          .group = group,
          .since = since,
          .complexity = "O(subcommands)",
          .summary = "The subcommands, a line for the arguments of each and one for what it does.",
          .handler = On<Help>};
}

}  // namespace bitsieve::server
