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
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/dedup/big_buffer.h"
#include "cli/dedup/block.h"
#include "cli/dedup/item_hasher.h"
#include "cli/dedup/seen_set.h"
#include "core/filter/filter.h"

namespace bitsieve::cli {

// Memory for the items of all chunks of a block. Take is thread-safe.
class ItemMemory {
 public:
  // For `items` items at most.
  explicit ItemMemory(size_t items) : hashes_(items), outcomes_(items), partitions_(items) {}

  struct Room {
    core::KeyHash* hashes = nullptr;
    core::AddOutcome* outcomes = nullptr;
    uint8_t* partitions = nullptr;
  };
  Room Take(size_t items) {
    const size_t begin = used_.fetch_add(items, std::memory_order_relaxed);
    return {hashes_.get() + begin, outcomes_.get() + begin, partitions_.get() + begin};
  }
  // Begins another block.
  void Clear() { used_.store(0, std::memory_order_relaxed); }

 private:
  BigBuffer<core::KeyHash> hashes_;
  BigBuffer<core::AddOutcome> outcomes_;
  BigBuffer<uint8_t> partitions_;
  std::atomic<size_t> used_{0};  // relaxed: only divides the memory
};

class ChunkItems {
 public:
  // Hashes the chunk's items and sorts them by partition. `is_plain`: as ItemHasher::IsPlain. The memory is used until
  // it is cleared.
  std::optional<ItemHasher::BadRecord> Hash(const Block& block, const Chunk& chunk, ItemHasher& hasher, bool is_plain,
                                            bool skip_bad, ItemMemory& memory);
  // Begins a chunk without items, such as a header.
  void Clear();

  std::span<const core::KeyHash> HashesOf(size_t partition) const {
    return {room_.hashes + offsets_[partition], CountOf(partition)};
  }
  std::span<core::AddOutcome> OutcomesOf(size_t partition) {
    return {room_.outcomes + offsets_[partition], CountOf(partition)};
  }

  // Takes out of the block's text the records of which so large a share of the items was seen before, when all
  // outcomes are known. Sets what the chunk says of what is left.
  void KeepNew(const Block& block, Chunk& chunk, double threshold);

 private:
  size_t CountOf(size_t partition) const { return offsets_[partition + 1] - offsets_[partition]; }
  template <class IsNew>
  void Keep(const Block& block, Chunk& chunk, const IsNew& is_new);

  ItemMemory::Room room_;                                     // the partitions are those of each item, in order
  std::vector<uint32_t> counts_;                              // of the items of each record; empty: one each
  std::array<uint32_t, SeenSet::kPartitions + 1> offsets_{};  // of each partition's first item
};

}  // namespace bitsieve::cli
