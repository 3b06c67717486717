// categories.h: the categories of commands that access rules and COMMAND name, read off the commands' rows. Those of
// Redis' data types that Bitsieve does not have exist as well, and are empty, so that rules written for Redis hold.
// Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "commands/command.h"

namespace bitsieve::server {

struct Category {
  std::string_view name;  // without the @
  bool (*has)(const commands::CommandRow& row);
};

// In the order of ACL CAT.
std::span<const Category> Categories();
// Null if there is none of this name. Upper and lower case are the same.
const Category* FindCategory(std::string_view name);
// The names of those that have the row.
std::vector<std::string_view> CategoriesOf(const commands::CommandRow& row);

}  // namespace bitsieve::server
