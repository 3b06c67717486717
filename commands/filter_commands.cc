#include "commands/filter_commands.h"

#include <algorithm>

#include "core/base/parse.h"

namespace bitsieve::commands {

const CommandRow* FindFilterCommand(std::string_view name) {
  for (const auto& rows : kFilterCommands) {
    const auto found = std::ranges::find_if(
        rows(), [name](const CommandRow& row) { return core::EqualsIgnoringCase(row.name, name); });
    if (found != rows().end()) return &*found;
  }
  return nullptr;
}

}  // namespace bitsieve::commands
