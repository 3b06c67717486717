#include "commands/command.h"

#include <algorithm>
#include <cctype>

#include "commands/wire_errors.h"

namespace bitsieve::commands {

namespace {

// Adds to the filter's use what was counted between `before` and `now`.
void CountUse(const Tally& now, const Tally& before, core::Filter& filter) {
  filter.CountUse(now.hits - before.hits, now.misses - before.misses, now.added - before.added);
}

bool IsAboutItems(const CommandRow& row) {
  return row.preparation == Preparation::kOneItem || row.preparation == Preparation::kItems;
}

std::string UpperCased(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char byte) { return static_cast<char>(std::toupper(byte)); });
  return upper;
}

}  // namespace

std::string ArityError(const CommandRow& row) {
  const bool is_of_filters = row.group == CommandGroup::kBloom || row.group == CommandGroup::kCuckoo;
  if (!is_of_filters) return wire::WrongArity(row.name);
  return wire::Joined({wire::WrongArity(row.name), "; usage: ", UpperCased(row.name), " ", row.syntax});
}

void RunHandler(CommandContext& context) {
  const Tally before = context.tally;
  const CommandRow& row = *context.row;
  row.handler(context);
  if (context.filter != nullptr && IsAboutItems(row)) CountUse(context.tally, before, *context.filter);
}

void RunItemsHandler(CommandContext& context, core::Filter& filter, std::span<const core::KeyHash> hashes) {
  const Tally before = context.tally;
  context.row->items_handler(context, filter, hashes);
  CountUse(context.tally, before, filter);
}

void CommandContext::ErrorOf(const ArgumentReader& reader) {
  if (reader.error() == wire::kArity) return Error(ArityError(*row));
  Error(reader.error());
}

void CommandContext::MemoryErrorFor(std::string_view name, std::string_view otherwise) {
  const std::optional<QuotaRefusal> quota = keyspace().QuotaRefusalOf(name);
  if (!quota) return Error(otherwise);
  const bool is_of_filters = quota->of == QuotaRefusal::kFilters;
  Error(is_of_filters ? wire::TooManyForQuota(quota->pattern, quota->used, quota->most)
                      : wire::TooLargeForQuota(quota->pattern, quota->used, quota->most));
}

}  // namespace bitsieve::commands
