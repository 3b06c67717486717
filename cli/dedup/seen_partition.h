// seen_partition.h: the items seen before, of one partition: a part of the range of hashes, which one thread at a time
// owns. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"
#include "core/filter/filter_params.h"
#include "core/hash/key_hash.h"

namespace bitsieve::cli {

class SeenPartition {
 public:
  using Write = std::function<core::Status(std::string_view)>;

  virtual ~SeenPartition() = default;

  // Prepares for this many items, which are added next: brings memory into the cache that they will touch.
  virtual void Prepare(uint64_t /*items*/) {}
  // Adds in order; outcomes[i] is kPresent if the item was there before, kAdded if it was not. The spans have equal
  // lengths. The error is the outcome that a refused item has: kOutOfMemory or kCannotGrow.
  virtual core::Outcome<void, core::AddOutcome> Add(std::span<const core::KeyHash> hashes,
                                                    std::span<core::AddOutcome> outcomes) = 0;
  virtual uint64_t items() const = 0;
  virtual uint64_t size_bytes() const = 0;
  // Returns the share of new items that would be taken for seen now; nothing if it is not known.
  virtual std::optional<double> ErrorRate() const = 0;
  // Whether it has taken more memory than was planned for its items.
  virtual bool has_grown() const = 0;

  // Returns the length of what Encode writes, as long as nothing is added.
  virtual uint64_t encoded_bytes() const = 0;
  virtual core::Status Encode(const Write& write) const = 0;
};

// Returns the partition that remembers items in a filter of these parameters. kOutOfMemory if the budget refuses.
core::Result<std::unique_ptr<SeenPartition>> MakeFilterPartition(const core::FilterParams& params,
                                                                 core::MemoryBudget& budget);
// Returns the partition of a filter that was read back.
std::unique_ptr<SeenPartition> MakeFilterPartition(std::unique_ptr<core::Filter> filter);

}  // namespace bitsieve::cli
