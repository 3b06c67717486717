// item_lookup.h: the items of a command as a filter knows them, some at a time, and the replies to membership tests and
// counts, which BF.* and CF.* share. Confined to the context's loop.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "commands/command.h"
#include "core/filter/filter.h"

namespace bitsieve::commands {

// Items of one command that are hashed, prefetched, and looked up or added together: more than the processor can have
// cache misses under way, and all items of most commands, so that these take the lock of a filter's writers once.
inline constexpr size_t kItemChunk = 128;
using HashChunk = std::array<core::KeyHash, kItemChunk>;

// Hashes items into `room`, which has a place for each, and starts loading what they will touch.
inline std::span<const core::KeyHash> HashItems(const core::Filter& filter, Arguments items,
                                                std::span<core::KeyHash> room) {
  const std::span hashes = room.first(items.size());
  filter.HashItems(items, hashes);
  filter.Prefetch(hashes);
  return hashes;
}

// A yes or no to each outcome of an addition, and the count of those that are new; false, and nothing done, if one of
// them is a refusal.
bool WriteAdded(CommandContext& context, std::span<const core::AddOutcome> outcomes);
// The same, or write(context, outcome) for each of them if one is a refusal.
inline void WriteOutcomes(CommandContext& context, std::span<const core::AddOutcome> outcomes,
                          void (*write)(CommandContext& context, core::AddOutcome outcome)) {
  if (WriteAdded(context, outcomes)) return;
  for (const core::AddOutcome outcome : outcomes) write(context, outcome);
}

// Each of the following takes null for a filter that holds nothing, and replies as of an empty one.

// Write one reply per hash, for at most kItemChunk hashes.
void WritePresence(CommandContext& context, const core::Filter* filter, std::span<const core::KeyHash> hashes);
void WriteCounts(CommandContext& context, const core::Filter* filter, std::span<const core::KeyHash> hashes);

// Reply for the item that is argument 2.
void ReplyPresence(CommandContext& context, const core::Filter* filter);
void ReplyCount(CommandContext& context, const core::Filter* filter);
// Replies with an array, for the items from argument 2 on.
void ReplyPresences(CommandContext& context, const core::Filter* filter);

}  // namespace bitsieve::commands
