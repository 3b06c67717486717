// BF.FPADD: the verb of the types that deny known false positives.

#include <algorithm>
#include <array>

#include "commands/filter_commands.h"
#include "commands/item_lookup.h"
#include "commands/notices.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace false_positive_commands {
namespace {

using core::RecordOutcome;

void WriteOutcome(CommandContext& context, RecordOutcome outcome) {
  switch (outcome) {
    case RecordOutcome::kNothing:
      return context.reply.Boolean(false);
    case RecordOutcome::kRecorded:
      return context.reply.Boolean(true);
    case RecordOutcome::kMoved:
      return context.Error(wire::kBeingFrozen);
    case RecordOutcome::kTooMany:
      return context.Error(wire::kTooManyFalsePositives);
    case RecordOutcome::kOutOfMemory:
      return context.MemoryError();
  }
}

bool CanNote(const core::Filter* filter) { return filter != nullptr && filter->capabilities().deny; }

// A filter that was frozen meanwhile makes room for another one, under its name: if that is there, the items are noted
// in it.
void Record(CommandContext& context, core::Filter*& filter, Arguments items, std::span<RecordOutcome> outcomes) {
  HashChunk hashes;
  filter->RecordFalsePositives(HashItems(*filter, items, hashes), outcomes);
  if (outcomes[0] != RecordOutcome::kMoved) return;
  const FilterPtr now = context.keyspace().Find(context.arguments[1]);
  if (now.get() == filter || !CanNote(now.get())) return;
  filter = context.Hold(now);
  filter->RecordFalsePositives(HashItems(*filter, items, hashes), outcomes);
}

void AddFalsePositives(CommandContext& context) {
  core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (!CanNote(filter)) return context.Error(wire::CannotDeny(filter->type()));
  const Arguments items = context.arguments.subspan(2);
  std::array<RecordOutcome, kItemChunk> outcomes;
  bool changed = false;
  context.reply.ArrayHeader(items.size());
  for (size_t done = 0; done < items.size(); done += kItemChunk) {
    const Arguments chunk = items.subspan(done, std::min(kItemChunk, items.size() - done));
    const std::span here = std::span(outcomes).first(chunk.size());
    Record(context, filter, chunk, here);
    for (const RecordOutcome outcome : here) WriteOutcome(context, outcome);
    changed |= std::ranges::find(here, RecordOutcome::kRecorded) != here.end();
  }
  if (changed) NotifyChanged(context);
}

constexpr CommandRow kRows[] = {
    {.name = "bf.fpadd",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Records items as known false positives: BF.EXISTS returns 0 for them until they are added. Returns an "
                "array: 1 if the item was recorded, 0 if BF.EXISTS returned 0 for it anyway.",
     .syntax = "key item [item ...]",
     .notes = "Works on filters of the types blocked, classic and ribbon. Record only items that were never added: an "
              "item that was added and is recorded is missed from then on. A ribbon filter that is not frozen yet has "
              "no false positives: it records every item that was not added, returns 1, and uses the records once it "
              "is frozen. The items are stored with the filter as 128 bits of their hash, also in dumps and on disk: "
              "up to 65536 per filter, at 24 to 48 bytes each. BF.INFO shows how many are known. BF.MERGE keeps those "
              "that none of the filters contains.",
     .weigh = WeighArguments,
     .handler = AddFalsePositives},
};

}  // namespace
}  // namespace false_positive_commands

std::span<const CommandRow> FalsePositiveCommands() { return false_positive_commands::kRows; }

}  // namespace bitsieve::commands
