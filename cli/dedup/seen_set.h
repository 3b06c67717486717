// seen_set.h: all items seen before, in partitions by their hashes. The number of partitions is fixed, so what is new
// never depends on the number of threads.
//
// Threads     different partitions may be used by different threads at the same time; everything else is
//             thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cli/dedup/seen_partition.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/hash/key_hash.h"

namespace bitsieve::cli {

struct SeenParams {
  bool exact = false;
  double error_rate = 0.001;  // of filters
  uint64_t items = 0;         // to be expected, at least 1
  uint64_t seed = 0;
  uint32_t ngram = 0;  // words of an item; 0: an item is a whole one

  bool operator==(const SeenParams&) const = default;
};

class SeenSet {
 public:
  static constexpr size_t kPartitions = 256;

  // Returns the partition of a hash, by bits that no filter uses for items within it (block_kernel.h).
  static size_t PartitionOf(const core::KeyHash& hash) { return (hash.low >> 24) % kPartitions; }
  // Returns the items that a partition is made for. They vary by chance, by their square root: six times that much is
  // exceeded in one of a million sets.
  static uint64_t PartitionItems(uint64_t items);
  // Returns the memory of an empty set, which is enough for `items`.
  static uint64_t BytesFor(const SeenParams& params);

  // kOutOfMemory if the budget, which outlives the set, refuses.
  static core::Result<SeenSet> Make(const SeenParams& params, core::MemoryBudget& budget);
  // Takes the partitions of a set that was read back.
  SeenSet(const SeenParams& params, std::vector<std::unique_ptr<SeenPartition>> partitions)
      : params_(params), partitions_(std::move(partitions)) {}

  const SeenParams& params() const { return params_; }
  SeenPartition& partition(size_t index) { return *partitions_[index]; }
  const SeenPartition& partition(size_t index) const { return *partitions_[index]; }

  uint64_t items() const;
  uint64_t size_bytes() const;
  bool has_grown() const;
  // Returns the share of new items that would be taken for seen now, on average over the partitions.
  double ErrorRate() const;

 private:
  SeenParams params_;
  std::vector<std::unique_ptr<SeenPartition>> partitions_;
};

// Returns the parameters of a partition's filter.
core::FilterParams PartitionParams(const SeenParams& params);

}  // namespace bitsieve::cli
