// help.h: HELP of a command with subcommands: their arguments and summaries, read off its rows. Each such command has
// HelpRow among its subcommands. Thread-safe: constants and a free function.
#pragma once

#include <optional>
#include <string_view>

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

void Help(ServerContext& context);

// `name` is that of the subcommand: "client|help". `category` as in CommandRow.
constexpr commands::CommandRow HelpRow(std::string_view name, std::string_view since,
                                       commands::CommandGroup group = commands::CommandGroup::kServer,
                                       std::optional<commands::CommandGroup> category = {}) {
  return {.name = name,
          .arity = 2,
          .flags = commands::kLoading,
          .group = group,
          .category = category,
          .since = since,
          .complexity = "O(subcommands)",
          .summary = "Lists the subcommands: a line for the arguments of each and one for what it does.",
          .handler = On<Help>};
}

}  // namespace bitsieve::server
