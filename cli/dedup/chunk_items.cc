#include "cli/dedup/chunk_items.h"

#include <cstring>

namespace bitsieve::cli {

static_assert(SeenSet::kPartitions <= 256);  // a partition's number is a byte

void ChunkItems::Clear() {
  offsets_.fill(0);
  counts_.clear();
}

std::optional<ItemHasher::BadRecord> ChunkItems::Hash(const Block& block, const Chunk& chunk, ItemHasher& hasher,
                                                      bool is_plain, bool skip_bad, ItemMemory& memory) {
  counts_.resize(is_plain ? 0 : chunk.records);
  auto bad = hasher.Hash(block, chunk, counts_, skip_bad);
  const std::span<const core::KeyHash> hashes = hasher.hashes();
  room_ = memory.Take(hashes.size());
  uint8_t* const partitions = room_.partitions;
  std::array<uint32_t, SeenSet::kPartitions> at{};
  for (size_t i = 0; i < hashes.size(); ++i) {
    partitions[i] = static_cast<uint8_t>(SeenSet::PartitionOf(hashes[i]));
    ++at[partitions[i]];
  }
  offsets_[0] = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    offsets_[i + 1] = offsets_[i] + at[i];
    at[i] = offsets_[i];
  }
  core::KeyHash* const sorted = room_.hashes;
  // Brings the memory into the cache in order, which takes half of the time of what follows off it.
  std::memset(static_cast<void*>(sorted), 0, hashes.size() * sizeof(core::KeyHash));
  for (size_t i = 0; i < hashes.size(); ++i) sorted[at[partitions[i]]++] = hashes[i];
  return bad;
}

void ChunkItems::KeepNew(const Block& block, Chunk& chunk, double threshold) {
  std::array<uint32_t, SeenSet::kPartitions> at;
  std::copy_n(offsets_.begin(), at.size(), at.begin());
  const uint8_t* partition = room_.partitions;
  const core::AddOutcome* const outcomes = room_.outcomes;
  if (counts_.empty()) {
    return Keep(block, chunk, [&](size_t) { return outcomes[at[*partition++]++] == core::AddOutcome::kAdded; });
  }
  Keep(block, chunk, [&](size_t record) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < counts_[record]; ++i) seen += outcomes[at[*partition++]++] == core::AddOutcome::kPresent;
    chunk.bad_records += counts_[record] == 0;
    return counts_[record] != 0 && seen < threshold * counts_[record];
  });
}

// Moves records that follow each other at once.
template <class IsNew>
void ChunkItems::Keep(const Block& block, Chunk& chunk, const IsNew& is_new) {
  char* const text = block.text.get();
  size_t to = chunk.begin;
  size_t run = chunk.begin;  // begin of the records that are kept and not yet moved
  const auto move_run = [&](size_t end) {
    if (run != to) std::memmove(text + to, text + run, end - run);
    to += end - run;
  };
  size_t begin = chunk.begin;
  for (size_t i = 0; i < chunk.records; ++i) {
    const size_t end = block.EndOf(chunk, i);
    if (is_new(i)) {
      ++chunk.kept_records;
    } else {
      move_run(begin);
      run = end;
    }
    begin = end;
  }
  move_run(begin);
  chunk.kept_bytes = to - chunk.begin;
}

}  // namespace bitsieve::cli
