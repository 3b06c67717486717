// command_index.h: sets of commands and subcommands, as bits by their place in the command table.
// Immutable: thread-safe.
#pragma once

#include <bitset>
#include <cassert>
#include <cstddef>
#include <span>
#include <string_view>

#include "commands/command.h"
#include "server/auth/categories.h"

namespace bitsieve::server {

class CommandIndex {
 public:
  static constexpr size_t kMaxCommands = 512;
  using Set = std::bitset<kMaxCommands>;

  // All rows of a table, subcommands included; it outlives the index.
  explicit CommandIndex(std::span<const commands::CommandRow> rows) : rows_(rows) {
    assert(rows.size() <= kMaxCommands);
  }

  // `row` is one of those.
  size_t NumberOf(const commands::CommandRow& row) const { return static_cast<size_t>(&row - rows_.data()); }
  // "config" or "config|get", in any case. Null if there is none of this name.
  const commands::CommandRow* Find(std::string_view name) const;
  // The command, with all its subcommands.
  Set Of(const commands::CommandRow& row) const;
  Set Of(const Category& category) const;

 private:
  const std::span<const commands::CommandRow> rows_;
};

}  // namespace bitsieve::server
