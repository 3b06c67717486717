// BF.*: the verbs that look at several filters at once.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "commands/filter_commands.h"
#include "commands/fold_commands.h"
#include "commands/notices.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"
#include "core/filter/filter_fold.h"
#include "core/filter/filter_union.h"

namespace bitsieve::commands {
namespace bloom_set_commands {
namespace {

using core::KeyHash;

// Filters looked up together: as many cache misses overlap as the processor allows.
constexpr size_t kChunk = 64;

void WriteFound(CommandContext& context, bool present) {
  ++(present ? context.tally.hits : context.tally.misses);
  context.reply.Boolean(present);
}

// Each filter hashes with its own seed, and all start loading before the first is looked up.
void LookUpInFilters(CommandContext& context, std::string_view item, Arguments names) {
  std::array<FilterPtr, kChunk> filters;
  std::array<KeyHash, kChunk> hashes;
  for (size_t i = 0; i < names.size(); ++i) {
    filters[i] = context.keyspace().Find(names[i]);
    if (filters[i] == nullptr) continue;
    hashes[i] = filters[i]->HashOf(item);
    filters[i]->Prefetch({&hashes[i], 1});
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (filters[i] == nullptr) {
      context.reply.Null();
      continue;
    }
    uint8_t present = 0;
    filters[i]->MayContain({&hashes[i], 1}, {&present, 1});
    filters[i]->CountUse(present, 1 - present, 0);
    WriteFound(context, present != 0);
  }
}

void ExistsIn(CommandContext& context) {
  const Arguments names = context.arguments.subspan(2);
  context.reply.ArrayHeader(names.size());
  for (size_t done = 0; done < names.size(); done += kChunk) {
    LookUpInFilters(context, context.arguments[1], names.subspan(done, std::min(kChunk, names.size() - done)));
  }
}

// Empty, and an error replied, if one of them is missing.
std::vector<FilterPtr> FindAll(CommandContext& context, Arguments names) {
  std::vector<FilterPtr> filters;
  for (const std::string_view name : names) {
    filters.push_back(context.keyspace().Find(name));
    if (filters.back() != nullptr) continue;
    context.Error(wire::kNotFound);
    return {};
  }
  return filters;
}

std::vector<const core::Filter*> Pointers(const std::vector<FilterPtr>& filters) {
  std::vector<const core::Filter*> pointers;
  for (const FilterPtr& filter : filters) pointers.push_back(filter.get());
  return pointers;
}

void Estimate(CommandContext& context) {
  const std::vector<FilterPtr> held = FindAll(context, context.arguments.subspan(1));
  if (held.empty()) return;
  const std::vector<const core::Filter*> filters = Pointers(held);
  const core::Result<double> together = core::EstimateUnion(filters);
  if (!together) return context.Error(wire::CannotUnite(together.error().message));
  std::vector<double> each;
  for (size_t i = 0; i < filters.size(); ++i) {
    each.push_back(core::EstimateUnion(std::span(filters).subspan(i, 1)).value());
  }

  const bool two = filters.size() == 2;
  context.reply.MapHeader(two ? 3 : 2);
  context.reply.BulkString("Items");
  context.reply.ArrayHeader(each.size());
  for (const double items : each) context.reply.Integer(std::llround(items));
  context.reply.BulkString("Union");
  context.reply.Integer(std::llround(*together));
  if (!two) return;
  // The union counts common items once. Since all are estimates, the difference is clamped to the possible range.
  const double common = std::clamp(each[0] + each[1] - *together, 0.0, std::min(each[0], each[1]));
  context.reply.BulkString("Intersection");
  context.reply.Integer(std::llround(common));
}

// Returns null, after an error reply, if they cannot be united.
FilterPtr Unite(CommandContext& context, const std::vector<FilterPtr>& filters) {
  FilterKeyspace& keyspace = context.keyspace();
  core::Result<std::unique_ptr<core::Filter>> made =
      core::Unite(Pointers(filters), keyspace.MemoryOf(context.arguments[1]), keyspace.clock());
  if (made) return std::move(*made);
  if (made.error().code == core::ErrorCode::kOutOfMemory) {
    context.MemoryError();
  } else {
    context.Error(wire::CannotUnite(made.error().message));
  }
  return nullptr;
}

// The larger one is folded to the size of the smallest, but not for a union that would be refused: it is tried aside.
bool FoldToSources(CommandContext& context, const FilterPtr& destination, const std::vector<FilterPtr>& sources) {
  const std::vector<const core::Filter*> pointers = Pointers(sources);
  const core::Filter* const smallest = core::SmallestToFoldTo(*destination, pointers);
  if (smallest == nullptr) return true;
  std::vector<FilterPtr> all = sources;
  all.push_back(destination);
  if (Unite(context, all) == nullptr) return false;
  return FoldFilter(context, destination, {smallest->params().capacity, smallest});
}

void MergeInto(CommandContext& context, FilterPtr destination, const std::vector<FilterPtr>& sources) {
  if (!FoldToSources(context, destination, sources)) return;
  destination = context.keyspace().Find(context.arguments[1]);
  if (destination == nullptr) return context.Error(wire::kNotFound);
  const core::Status status = core::UniteInto(*destination, Pointers(sources));
  if (!status) return context.Error(wire::CannotUnite(status.error().message));
  const core::Status logged = context.keyspace().LogRewrite(destination);
  if (!logged) return context.Error(wire::NotLogged(logged.error()));
  NotifyChanged(context);
  context.reply.Ok();
}

// A filter in use is united in place: what took its place could lose what is added to it at the same moment, and what
// was acknowledged is never lost. A new one is made aside and published whole.
void Merge(CommandContext& context) {
  const std::string_view name = context.arguments[1];
  const std::vector<FilterPtr> filters = FindAll(context, context.arguments.subspan(2));
  if (filters.empty()) return;
  if (const FilterPtr destination = context.keyspace().Find(name)) return MergeInto(context, destination, filters);
  const FilterPtr merged = Unite(context, filters);
  if (merged == nullptr) return;
  const auto prepared = context.keyspace().Prepare(merged);
  if (!prepared) return context.Error(wire::NotLogged(prepared.error()));
  const FilterPtr now = context.keyspace().InsertIfAbsent(name, merged);
  if (now == nullptr) return context.MemoryError();
  if (now != merged) return MergeInto(context, now, filters);
  NotifyNew(context, name);
  NotifyChanged(context);
  context.reply.Ok();
}

constexpr KeyPositions kAllButItem{2, -1, 1};
constexpr KeyPositions kAll{1, -1, 1};
constexpr KeyPositions kFirstFromOthers{1, -1, 1, WrittenKeys::kFirst};

constexpr CommandRow kRows[] = {
    {.name = "bf.existsin",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kAllButItem,
     .preparation = Preparation::kNothing,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(keys * sub-filters)",
     .summary = "Tests one item in several filters. Returns an array of what BF.EXISTS returns for each, with nil for "
                "a missing filter.",
     .syntax = "item key [key ...]",
     .weigh = WeighArguments,
     .handler = ExistsIn},
    {.name = "bf.merge",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = kFirstFromOthers,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(bytes)",
     .summary = "Adds all items of other filters to a filter. Creates the filter if there is none.",
     .syntax = "key sourcekey [sourcekey ...]",
     .notes =
         "Filters of the types blocked, classic and counting can be merged; counters are added. The filters must have "
         "the same type, capacity, error rate and seed, which BF.RESERVE sets with SEED; larger ones are first folded "
         "as by BF.FOLD if a divisor leads to the size of the smallest. The command is refused, and "
         "changes nothing, if the union would hold more items than the capacity allows, if a source has grown more "
         "often than the filter under the first name, or if a counting filter has grown at all. The filter under the "
         "first name keeps its items and may be in use: once a lookup finds a merged item, later lookups find it too. "
         "The item count of a union is estimated from the fill; for type counting it is the sum. Large filters are "
         "merged outside the event loop: other connections are served at the same time, also on the same filters.",
     .weigh = WeighFilters,
     .handler = Merge},
    {.name = "bf.estimate",
     .arity = -2,
     .flags = kReadOnly,
     .keys = kAll,
     .preparation = Preparation::kNothing,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(bytes)",
     .summary = "Estimates from the fill how many distinct items filters contain: each filter, all together, and two "
                "in common.",
     .syntax = "key [key ...]",
     .notes = "The reply is a map: Items (an array with a number for each key), Union, and for exactly two filters "
              "Intersection. The filters must have the same type, capacity, error rate and seed, which BF.RESERVE sets "
              "with SEED. The error of an estimate is about the square root of the number. In filters that have grown, "
              "an item that is in different sub-filters of two filters counts twice in the union.",
     .weigh = WeighFilters,
     .handler = Estimate},
};

}  // namespace
}  // namespace bloom_set_commands

std::span<const CommandRow> BloomSetCommands() { return bloom_set_commands::kRows; }

}  // namespace bitsieve::commands
