// BF.TTL and BF.TOUCH: the verbs of the types whose items expire one by one.

#include <algorithm>
#include <array>

#include "commands/filter_commands.h"
#include "commands/item_lookup.h"
#include "commands/notices.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace expiry_commands {
namespace {

// Calls use(hashes) for the items from argument 2 on, a chunk at a time, and begins the reply with their number.
template <class Use>
void ForChunks(CommandContext& context, const core::Filter& filter, const Use& use) {
  const Arguments items = context.arguments.subspan(2);
  HashChunk hashes;
  context.reply.ArrayHeader(items.size());
  for (size_t done = 0; done < items.size(); done += kItemChunk) {
    use(HashItems(filter, items.subspan(done, std::min(kItemChunk, items.size() - done)), hashes));
  }
}

void ReplyAbsent(CommandContext& context) {
  const size_t items = context.arguments.size() - 2;
  context.reply.ArrayHeader(items);
  for (size_t i = 0; i < items; ++i) context.reply.Integer(core::kNoTimeToLive);
}

void TimeToLive(CommandContext& context) {
  const core::Filter* const filter = context.FindFilter();
  if (filter == nullptr) return ReplyAbsent(context);
  if (!filter->capabilities().expire) return context.Error(wire::CannotExpire(filter->type()));
  ForChunks(context, *filter, [&](std::span<const core::KeyHash> hashes) {
    std::array<int64_t, kItemChunk> left_ms;
    filter->TimeToLive(hashes, std::span(left_ms).first(hashes.size()));
    for (size_t i = 0; i < hashes.size(); ++i) context.reply.Integer(left_ms[i]);
  });
}

void Touch(CommandContext& context) {
  core::Filter* const filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (!filter->capabilities().expire) return context.Error(wire::CannotExpire(filter->type()));
  bool changed = false;
  ForChunks(context, *filter, [&](std::span<const core::KeyHash> hashes) {
    std::array<uint8_t, kItemChunk> touched;
    context.AwaitImage(*filter);
    const std::span written(touched.data(), filter->Touch(hashes, std::span(touched).first(hashes.size())));
    context.reply.Booleans(written);
    for (size_t i = written.size(); i < hashes.size(); ++i) context.MemoryError();
    changed = changed || std::ranges::find(written, uint8_t{1}) != written.end();
  });
  if (changed) NotifyChanged(context);
}

constexpr CommandRow kRows[] = {
    {.name = "bf.ttl",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Returns an array of the times, in milliseconds, for which items of an expiring filter will be found; "
                "-2 for those that are not there.",
     .syntax = "key item [item ...]",
     .notes = "An item is kept until its epoch ends: a fourteenth of the filter's TTL too long at most, or a 250th "
              "with EPOCHBITS 8. If there is no such filter, no item is there.",
     .weigh = WeighArguments,
     .handler = TimeToLive},
    {.name = "bf.touch",
     .arity = -3,
     .flags = kWrite,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Lets items of an expiring filter expire a whole TTL from now. Returns an array: 1 for each item that "
                "was there, 0 for the others, which are not added.",
     .syntax = "key item [item ...]",
     .weigh = WeighChanges,
     .handler = Touch},
};

}  // namespace
}  // namespace expiry_commands

std::span<const CommandRow> ExpiryCommands() { return expiry_commands::kRows; }

}  // namespace bitsieve::commands
