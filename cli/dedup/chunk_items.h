// chunk_items.h: the items of a chunk on their way through the set of those seen before: sorted by partition, each
// partition's in the order of the input, and back again.
//
//   records     r0 r1 r2 r3 r4 ...          item of r0 in partition 7, of r1 in partition 0, ...
//   partitions   7  0  7  1  0 ...
//   hashes      | r1 r4 .. | r3 .. | ...    grouped by partition; outcomes lie likewise
//
// Threads: thread-compatible; but different partitions may be used by different threads at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/dedup/block.h"
#include "cli/dedup/item_hasher.h"
#include "cli/dedup/scratch.h"
#include "cli/dedup/seen_set.h"
#include "core/filter/filter.h"

namespace bitsieve::cli {

class ChunkItems {
 public:
  // Hashes the chunk's items and sorts them by partition. `is_plain`: as ItemHasher::IsPlain.
  std::optional<ItemHasher::BadRecord> Hash(const Block& block, const Chunk& chunk, ItemHasher& hasher, bool is_plain,
                                            bool skip_bad);
  // Begins a chunk without items, such as a header.
  void Clear();

  std::span<const core::KeyHash> HashesOf(size_t partition) const {
    return {hashes_.data() + offsets_[partition], CountOf(partition)};
  }
  std::span<core::AddOutcome> OutcomesOf(size_t partition) {
    return {outcomes_.data() + offsets_[partition], CountOf(partition)};
  }

  // Takes out of the block's text the records of which so large a share of the items was seen before, when all
  // outcomes are known. Sets what the chunk says of what is left.
  void KeepNew(const Block& block, Chunk& chunk, double threshold);

 private:
  size_t CountOf(size_t partition) const { return offsets_[partition + 1] - offsets_[partition]; }
  template <class IsNew>
  void Keep(const Block& block, Chunk& chunk, const IsNew& is_new);

  Scratch<core::KeyHash> hashes_;
  Scratch<core::AddOutcome> outcomes_;
  Scratch<uint8_t> partitions_;      // of each item, in order
  std::vector<uint32_t> counts_;     // of the items of each record; empty: one each
  std::array<uint32_t, SeenSet::kPartitions + 1> offsets_{};  // of each partition's first item
};

}  // namespace bitsieve::cli
