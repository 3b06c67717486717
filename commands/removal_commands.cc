// BF.DEL, BF.MDEL and BF.COUNT: the verbs of the types that can remove and count.

#include <algorithm>
#include <array>

#include "commands/cuckoo_lookup.h"
#include "commands/filter_commands.h"
#include "commands/item_lookup.h"
#include "commands/notices.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace removal_commands {
namespace {

using core::KeyHash;

// Returns how many were removed.
size_t Remove(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  std::array<uint8_t, kItemChunk> removed;
  const std::span written(removed.data(), filter.Remove(hashes, std::span(removed.data(), hashes.size())));
  context.reply.Booleans(written);
  for (size_t i = written.size(); i < hashes.size(); ++i) context.MemoryError();
  CompactIfDue(context, filter);
  return static_cast<size_t>(std::ranges::count_if(written, [](uint8_t each) { return each != 0; }));
}

void AnswerRemovals(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  if (!filter.capabilities().remove) {
    for (size_t i = 0; i < hashes.size(); ++i) context.Error(wire::CannotRemove(filter.type()));
    return;
  }
  for (size_t left = Remove(context, filter, hashes); left > 0; --left) NotifyChanged(context);
}

void Delete(CommandContext& context) {
  core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  const KeyHash hash = filter->HashOf(context.arguments[2]);
  AnswerRemovals(context, *filter, {&hash, 1});
}

void MultiDelete(CommandContext& context) {
  core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (!filter->capabilities().remove) return context.Error(wire::CannotRemove(filter->type()));
  const Arguments items = context.arguments.subspan(2);
  HashChunk hashes;
  size_t removed = 0;
  context.reply.ArrayHeader(items.size());
  for (size_t done = 0; done < items.size(); done += kItemChunk) {
    const Arguments chunk = items.subspan(done, std::min(kItemChunk, items.size() - done));
    context.AwaitImage(*filter);
    removed += Remove(context, *filter, HashItems(*filter, chunk, hashes));
  }
  if (removed != 0) NotifyChanged(context);
}

void AnswerCounts(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  if (!filter.capabilities().count) {
    for (size_t i = 0; i < hashes.size(); ++i) context.Error(wire::CannotCount(filter.type()));
    return;
  }
  WriteCounts(context, &filter, hashes);
}

void Count(CommandContext& context) {
  core::Filter* const filter = context.FindFilter();
  if (filter != nullptr && !filter->capabilities().count) return context.Error(wire::CannotCount(filter->type()));
  ReplyCount(context, filter);
}

constexpr CommandRow kRows[] = {
    {.name = "bf.del",
     .arity = 3,
     .flags = kWrite | kFast,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Removes an item. Returns 1 if it was removed, 0 if it is not there. An item that was added twice must "
                "be removed twice, except from an expiring filter.",
     .syntax = "key item",
     .notes = "Works on filters of the types counting, cuckoo, expiring and rediscuckoo. Remove only what was added: "
              "removing an item that only looks present (a false positive) changes counters or fingerprints of other "
              "items, which can then be missed. From an expiring filter, remove only items that were new when they "
              "were added, and whose time is not over. A saturated item is never removed, and the reply is 0. An item "
              "is saturated if all of its counters are at their largest value (15 additions with 4 bits, 255 with 8), "
              "or in a cuckoo filter if it fills its two buckets (8 additions with buckets of 4).",
     .items_handler = AnswerRemovals,
     .weigh = WeighArguments,
     .handler = Delete},
    {.name = "bf.mdel",
     .arity = -3,
     .flags = kWrite,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Removes items. Returns an array of what BF.DEL returns for each.",
     .syntax = "key item [item ...]",
     .weigh = WeighChanges,
     .handler = MultiDelete},
    {.name = "bf.count",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Returns how often an item was added minus how often it was removed: an estimate that may be too high. "
                "Returns 0 if the item is not there, or if there is no such filter.",
     .syntax = "key item",
     .notes = "Works on filters of the types counting, cuckoo and rediscuckoo. The largest count of a counting filter "
              "is 15 with counters of 4 bits and 255 with 8, and means that number or more. The largest count of a "
              "cuckoo filter is 8 per table with buckets of 4, that of a rediscuckoo filter 4 with buckets of 2.",
     .items_handler = AnswerCounts,
     .weigh = WeighArguments,
     .handler = Count},
};

}  // namespace
}  // namespace removal_commands

std::span<const CommandRow> RemovalCommands() { return removal_commands::kRows; }

}  // namespace bitsieve::commands
