// deduplicator.h: takes out of blocks the records that were seen before, in three steps, each divided among the
// workers: chunks are hashed; partitions of the set look up and add their items, in the order of the input; chunks lose
// the records whose items were seen. So the result is that of one record after the other. Confined to one thread, apart
// from its workers. Errors are for people.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/dedup/block.h"
#include "cli/dedup/chunk_items.h"
#include "cli/dedup/compression.h"
#include "cli/dedup/item_hasher.h"
#include "cli/dedup/seen_set.h"
#include "cli/dedup/worker_team.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class Deduplicator {
 public:
  struct Settings {
    std::vector<std::string> names;  // of the inputs, for errors
    RecordFormat format;
    BlockLimits limits = {};
    double threshold = 1;   // share of seen items that makes a record a repeated one
    bool skip_bad = false;  // records without an item are dropped and counted, not an error
    std::function<Compression(size_t input)> compression_of = [](size_t) { return Compression::kNone; };
  };

  // The set and the team outlive it.
  Deduplicator(const Settings& settings, SeenSet& seen, WorkerTeam& team);

  // Removes the repeated records and sets what each chunk says of what is left. After an error the set is of no use.
  core::Outcome<void> Run(Block& block);

  // Returns the memory for the items of a block, at most.
  static uint64_t BytesFor(const BlockLimits& limits, const SeenParams& params, size_t workers);

 private:
  core::Outcome<void> HashChunks(const Block& block);
  core::Outcome<void> AddItems(const Block& block);
  core::Outcome<void> KeepNew(Block& block);

  const Settings settings_;
  SeenSet& seen_;
  WorkerTeam& team_;
  const bool is_plain_;
  std::vector<ItemHasher> hashers_;  // of each worker
  std::vector<ChunkItems> items_;    // of each chunk
  ItemMemory memory_;                // of a block
};

}  // namespace bitsieve::cli
