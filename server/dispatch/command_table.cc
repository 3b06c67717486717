#include "server/dispatch/command_table.h"

#include <algorithm>
#include <cassert>

#include "commands/argument_reader.h"

namespace bitsieve::server {

using namespace commands;

namespace {

std::string_view OwnName(const CommandRow& subcommand) { return subcommand.name.substr(subcommand.name.find('|') + 1); }

}  // namespace

CommandTable::CommandTable(std::span<const std::span<const CommandRow>> families) {
  for (const std::span<const CommandRow> family : families)
    all_rows_.insert(all_rows_.end(), family.begin(), family.end());
  const size_t containers = all_rows_.size();
  for (size_t i = 0; i < containers; ++i) {
    const std::span<const CommandRow> subcommands = all_rows_[i].subcommands;
    all_rows_.insert(all_rows_.end(), subcommands.begin(), subcommands.end());
  }
  size_t at = containers;  // from here on nothing moves
  for (size_t i = 0; i < containers; ++i) {
    CommandRow& row = all_rows_[i];
    row.subcommands = all_rows().subspan(at, row.subcommands.size());
    at += row.subcommands.size();
    Insert(row);
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
