#include "server/commands/command_table.h"

#include <algorithm>
#include <cassert>

#include "server/commands/argument_reader.h"
#include "server/commands/command_families.h"

namespace bitsieve::server {
namespace {

using Family = std::span<const CommandRow> (*)();

// The one list of families.
constexpr Family kFamilies[] = {
    BloomCommands,      RemovalCommands, FreezeCommands,  BloomSetCommands,    DumpCommands,   CuckooCommands,
    CuckooDumpCommands, KeyCommands,     ExpiryCommands,  ConnectionCommands,  ClientCommands, ServerCommands,
    ObjectCommands,     MemoryCommands,  CommandCommands, TransactionCommands, WatchCommands,  PubSubCommands};

std::string_view OwnName(const CommandRow& subcommand) { return subcommand.name.substr(subcommand.name.find('|') + 1); }

}  // namespace

const CommandTable& CommandTable::Instance() {
  static const CommandTable table;
  return table;
}

CommandTable::CommandTable() {
  for (const Family family : kFamilies) {
    for (const CommandRow& row : family()) Insert(row);
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
