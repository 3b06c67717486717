#include "cli/dedup/deduplicator.h"

#include <algorithm>
#include <atomic>

namespace bitsieve::cli {
namespace {

// Returns how many items a block can have. An n-gram begins at every other byte if all words are of one letter, and
// there is one in every empty record.
uint64_t MaxItems(const BlockLimits& limits, const SeenParams& params) {
  if (params.ngram == 0) return limits.records;
  return (limits.text_bytes + limits.chunk_bytes + kMaxRecordBytes) / 2 + limits.records;
}

}  // namespace

Deduplicator::Deduplicator(const Settings& settings, SeenSet& seen, WorkerTeam& team)
    : settings_(settings),
      seen_(seen),
      team_(team),
      is_plain_(ItemHasher::IsPlain(settings.format, seen.params())),
      hashers_(team.size(), ItemHasher(seen.params())),
      memory_(MaxItems(settings.limits, seen.params())) {}

core::Outcome<void> Deduplicator::Run(Block& block) {
  if (items_.size() < block.chunks.size()) items_.resize(block.chunks.size());
  if (auto hashed = HashChunks(block); !hashed) return hashed;
  if (auto added = AddItems(block); !added) return added;
  return KeepNew(block);
}

core::Outcome<void> Deduplicator::HashChunks(const Block& block) {
  memory_.Clear();
  std::vector<std::optional<ItemHasher::BadRecord>> bad(block.chunks.size());
  team_.Run(block.chunks.size(), [&](size_t i, size_t worker) {
    const Chunk& chunk = block.chunks[i];
    if (chunk.is_header) return items_[i].Clear();
    bad[i] = items_[i].Hash(block, chunk, hashers_[worker], is_plain_, settings_.skip_bad, memory_);
  });
  if (settings_.skip_bad) return {};
  for (size_t i = 0; i < bad.size(); ++i) {
    if (!bad[i]) continue;
    const Chunk& chunk = block.chunks[i];
    return tl::unexpected(settings_.names[chunk.input] + ": " +
                          chunk.parser->Located(chunk.records_before + bad[i]->record + 1, bad[i]->problem));
  }
  return {};
}

core::Outcome<void> Deduplicator::AddItems(const Block& block) {
  std::atomic<core::AddOutcome> refusal{core::AddOutcome::kAdded};  // relaxed: the team orders it
  team_.Run(SeenSet::kPartitions, [&](size_t partition, size_t) {
    size_t items = 0;
    for (size_t i = 0; i < block.chunks.size(); ++i) items += items_[i].HashesOf(partition).size();
    seen_.partition(partition).Prepare(items);
    for (size_t i = 0; i < block.chunks.size(); ++i) {
      const auto added = seen_.partition(partition).Add(items_[i].HashesOf(partition), items_[i].OutcomesOf(partition));
      if (!added) return refusal.store(added.error(), std::memory_order_relaxed);
    }
  });
  switch (refusal.load(std::memory_order_relaxed)) {
    case core::AddOutcome::kAdded:
      return {};
    case core::AddOutcome::kCannotGrow:
      return tl::unexpected<std::string>(
          "there are far more different items than expected, and the filters cannot grow further at this error rate: "
          "state their number with --items");
    default:
      return tl::unexpected<std::string>(
          "there are more different items than the memory is for: state their number with --items, or raise "
          "--memory-limit");
  }
}

core::Outcome<void> Deduplicator::KeepNew(Block& block) {
  std::vector<core::Outcome<void>> outcomes(block.chunks.size());
  team_.Run(block.chunks.size(), [&](size_t i, size_t) {
    Chunk& chunk = block.chunks[i];
    if (chunk.is_header) {
      chunk.kept_bytes = chunk.is_written ? block.EndOf(chunk, chunk.records - 1) - chunk.begin : 0;
    } else {
      items_[i].KeepNew(block, chunk, settings_.threshold);
    }
    const Compression compression = settings_.compression_of(chunk.input);
    if (compression == Compression::kNone || chunk.kept_bytes == 0) return;
    auto compressed = Compressed(block.KeptText(chunk), compression);
    if (compressed) chunk.compressed = std::move(*compressed);
    if (!compressed) outcomes[i] = tl::unexpected(settings_.names[chunk.input] + ": " + compressed.error());
  });
  for (const auto& outcome : outcomes) {
    if (!outcome) return outcome;
  }
  return {};
}

uint64_t Deduplicator::BytesFor(const BlockLimits& limits, const SeenParams& params, size_t workers) {
  constexpr uint64_t kBytesPerItem = sizeof(core::KeyHash) + 2;  // with its partition and outcome
  const uint64_t items = MaxItems(limits, params);
  const uint64_t chunk_items = params.ngram == 0 ? limits.chunk_records : limits.chunk_bytes / 2;
  return items * kBytesPerItem + limits.records * sizeof(uint32_t) + workers * chunk_items * sizeof(core::KeyHash);
}

}  // namespace bitsieve::cli
