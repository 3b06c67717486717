#include "server/auth/categories.h"

#include <algorithm>

namespace bitsieve::server {

using namespace commands;

namespace {

template <uint32_t kFlag>
bool HasFlag(const CommandRow& row) {
  return (row.flags & kFlag) != 0;
}

// A container that does nothing of its own has no category but @slow, as in Redis.
template <CommandGroup kGroup>
bool IsOfGroup(const CommandRow& row) {
  return row.handler != nullptr && row.category.value_or(row.group) == kGroup;
}

bool IsSlow(const CommandRow& row) { return !HasFlag<kFast>(row); }
bool IsBlocking(const CommandRow& row) { return row.must_wait != nullptr; }
bool IsNone(const CommandRow&) { return false; }

constexpr Category kCategories[] = {
    {"keyspace", IsOfGroup<CommandGroup::kGeneric>},
    {"read", HasFlag<kReadOnly>},
    {"write", HasFlag<kWrite>},
    {"set", IsNone},
    {"sortedset", IsNone},
    {"list", IsNone},
    {"hash", IsNone},
    {"string", IsNone},
    {"bitmap", IsNone},
    {"hyperloglog", IsNone},
    {"geo", IsNone},
    {"stream", IsNone},
    {"pubsub", IsOfGroup<CommandGroup::kPubSub>},
    {"admin", HasFlag<kAdmin | kAdminCategory>},
    {"fast", HasFlag<kFast>},
    {"slow", IsSlow},
    {"blocking", IsBlocking},
    {"dangerous", HasFlag<kAdmin | kAdminCategory | kDangerous>},
    {"connection", IsOfGroup<CommandGroup::kConnection>},
    {"transaction", IsOfGroup<CommandGroup::kTransactions>},
    {"scripting", IsNone},
    {"bloom", IsOfGroup<CommandGroup::kBloom>},
    {"cuckoo", IsOfGroup<CommandGroup::kCuckoo>},
};

}  // namespace

std::span<const Category> Categories() { return kCategories; }

const Category* FindCategory(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kCategories, [name](const Category& category) { return EqualsIgnoringCase(category.name, name); });
  return found == std::end(kCategories) ? nullptr : found;
}

std::vector<std::string_view> CategoriesOf(const CommandRow& row) {
  std::vector<std::string_view> names;
  for (const Category& category : kCategories) {
    if (category.has(row)) names.push_back(category.name);
  }
  return names;
}

}  // namespace bitsieve::server
