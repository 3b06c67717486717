#include "server/dispatch/command_table.h"

#include <algorithm>
#include <cassert>

#include "commands/argument_reader.h"
#include "server/namespace.h"

namespace bitsieve::server {
namespace {

std::string_view OwnName(const CommandRow& subcommand) { return subcommand.name.substr(subcommand.name.find('|') + 1); }

}  // namespace

CommandTable::CommandTable(std::span<const std::span<const CommandRow>> families) {
  for (const std::span<const CommandRow> family : families) {
    for (const CommandRow& row : family) Insert(row);
  }
  std::ranges::sort(rows_, {}, [](const CommandRow* row) { return row->name; });
}

void CommandTable::Insert(const CommandRow& row) {
  assert(row.name.size() <= kMaxNameBytes && Find(row.name) == nullptr && rows_.size() < kSlots / 2);
  const Word2 key = LowerCased(row.name);
  size_t at = SlotOf(key);
  while (slots_[at].row != nullptr) at = (at + 1) % kSlots;
  slots_[at] = {key, &row};
  rows_.push_back(&row);
}

const CommandRow* CommandTable::FindFull(std::string_view name) const {
  const size_t bar = name.find('|');
  const CommandRow* row = Find(name.substr(0, bar));
  if (row == nullptr || bar == std::string_view::npos) return row;
  return FindSubcommand(*row, name.substr(bar + 1));
}

const CommandRow* CommandTable::FindSubcommand(const CommandRow& container, std::string_view name) {
  for (const CommandRow& row : container.subcommands) {
    if (EqualsIgnoringCase(OwnName(row), name)) return &row;
  }
  return nullptr;
}

}  // namespace bitsieve::server
