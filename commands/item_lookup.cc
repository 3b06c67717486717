#include "commands/item_lookup.h"

#include <algorithm>

namespace bitsieve::commands {

namespace {

static_assert(kMaxRun <= kItemChunk);

// The item that is argument 2. Of no filter any hash will do.
core::KeyHash HashOfItem(const CommandContext& context, const core::Filter* filter) {
  return filter == nullptr ? core::KeyHash{} : filter->HashOf(context.arguments[2]);
}

}  // namespace

bool WriteAdded(CommandContext& context, std::span<const core::AddOutcome> outcomes) {
  constexpr auto kAdded = static_cast<uint8_t>(core::AddOutcome::kAdded);
  static_assert(kAdded == 1 && static_cast<uint8_t>(core::AddOutcome::kPresent) == 0);
  const std::span answers(reinterpret_cast<const uint8_t*>(outcomes.data()), outcomes.size());
  uint8_t all = 0;
  uint64_t added = 0;
  for (const uint8_t answer : answers) {
    all |= answer;
    added += answer;
  }
  if (all > kAdded) return false;
  context.tally.added += added;
  context.reply.Booleans(answers);
  return true;
}

void WritePresence(CommandContext& context, const core::Filter* filter, std::span<const core::KeyHash> hashes) {
  std::array<uint8_t, kItemChunk> room;
  const std::span present(room.data(), hashes.size());
  if (filter != nullptr) {
    filter->MayContain(hashes, present);
  } else {
    std::ranges::fill(present, uint8_t{0});
  }
  const auto hits = static_cast<uint64_t>(std::ranges::count(present, uint8_t{1}));
  context.reply.Booleans(present);
  context.tally.hits += hits;
  context.tally.misses += present.size() - hits;
}

void WriteCounts(CommandContext& context, const core::Filter* filter, std::span<const core::KeyHash> hashes) {
  std::array<uint64_t, kItemChunk> room{};
  const std::span counts(room.data(), hashes.size());
  if (filter != nullptr) filter->Count(hashes, counts);
  for (const uint64_t each : counts) context.reply.Integer(static_cast<int64_t>(each));
}

void ReplyPresence(CommandContext& context, const core::Filter* filter) {
  const core::KeyHash hash = HashOfItem(context, filter);
  WritePresence(context, filter, {&hash, 1});
}

void ReplyCount(CommandContext& context, const core::Filter* filter) {
  const core::KeyHash hash = HashOfItem(context, filter);
  WriteCounts(context, filter, {&hash, 1});
}

void ReplyPresences(CommandContext& context, const core::Filter* filter) {
  const Arguments items = context.arguments.subspan(2);
  HashChunk hashes;
  context.reply.ArrayHeader(items.size());
  for (size_t done = 0; done < items.size(); done += kItemChunk) {
    const Arguments chunk = items.subspan(done, std::min(kItemChunk, items.size() - done));
    if (filter != nullptr) HashItems(*filter, chunk, hashes);
    WritePresence(context, filter, std::span(hashes).first(chunk.size()));
  }
}

}  // namespace bitsieve::commands
