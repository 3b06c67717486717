#include "server/auth/command_index.h"

#include <algorithm>

namespace bitsieve::server {

using namespace commands;

const CommandRow* CommandIndex::Find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(rows_, [name](const CommandRow& row) { return EqualsIgnoringCase(row.name, name); });
  return found == rows_.end() ? nullptr : &*found;
}

CommandIndex::Set CommandIndex::Of(const CommandRow& row) const {
  Set set;
  set.set(NumberOf(row));
  for (const CommandRow& subcommand : row.subcommands) set.set(NumberOf(subcommand));
  return set;
}

CommandIndex::Set CommandIndex::Of(const Category& category) const {
  Set set;
  for (const CommandRow& row : rows_) set.set(NumberOf(row), category.has(row));
  return set;
}

}  // namespace bitsieve::server
