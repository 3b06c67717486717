// ribbon_filter.h: a frozen set, in the least memory: "definitely not" or "probably yes", and nothing else any more.
//
// Idea        core/families/ribbon/ribbon_kernel.h has the layout and the lookup, ribbon_solver.h how a solution is
//             found. RibbonStaging collects the items before.
// Sizing      r columns for the items whose window starts below a shard's split, r + 1 for the others, 2^-r being the
//             smallest such rate that is not below the requested one. The split is where the mean over all starts is
//             the requested rate. So any requested rate is met, at a cost that lies on a line between the powers of
//             two: at most 0.09 bits per item above log2(1/p), besides the overhead.
// Cost        1.03 slots per item, each of log2(1/p) bits: 1.03 log2(1/p) bits per item, 29% less than classic; small
//             sets take more (a shard has 128 slots at least, and its slots are a multiple of 64).
// Hashing     half of KeyHash, `low`. Two items of equal halves, one of n 2^-64, are one.
// Threads     thread-safe: immutable.
// Persisted   type 9, docs/formats/filter.md.
// References  Dillinger, Walzer, "Ribbon filter: practically smaller than Bloom and xor", 2021.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/families/ribbon/hash_set.h"
#include "core/families/ribbon/ribbon_codec.h"
#include "core/families/ribbon/ribbon_kernel.h"
#include "core/filter/filter.h"
#include "core/filter/forecast.h"

namespace bitsieve::core {

class RibbonFilter final : public Filter {
 public:
  // Called now and then with the number of shards solved and of all shards; returns false to stop.
  using Progress = std::function<bool(uint64_t done, uint64_t all)>;

  // Builds the frozen filter of these hashes; no thread may add to them during the call. Null if it was stopped.
  // kOutOfMemory if the budget refuses the result or, besides it, some 2 MB to work with; kUnsupported if a shard
  // cannot be solved, which only happens with hashes that were chosen for it.
  static Result<std::unique_ptr<Filter>> Build(const FilterParams& params, const HashSet& hashes, MemoryBudget& budget,
                                               const Progress& progress);
  // Returns a forecast as core::ForecastOf does, for shards that have equally many items.
  static Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items);
  // Makes a filter from memory that was read back, of the header's size; kCorrupt if it contradicts the header.
  static Result<std::unique_ptr<Filter>> FromMemory(const RibbonHeader& header, BitMemory memory, MemoryBudget& budget);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  uint64_t ItemCount() const override { return items_; }
  uint64_t ChangeCount() const override;
  FilterInfo Info() const override;
  uint64_t size_bytes() const override;
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override {
    FilterUse use;
    use_.Collect(use);
    return use;
  }

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return &use_; }
  FalsePositiveSlot* false_positives() const override { return &false_positives_; }
  // kFrozen for every item.
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  class Image;

  RibbonFilter(const RibbonHeader& header, BitMemory memory, MemoryReservation overhead, MemoryBudget& budget);
  RibbonTable table() const {
    return {reinterpret_cast<const uint64_t*>(memory_.data()), shape_.shards, shape_.columns};
  }

  const RibbonShape shape_;
  const uint64_t items_;
  const BitMemory memory_;
  const MemoryReservation overhead_;
  uint64_t slots_ = 0;     // of all shards
  double error_rate_ = 0;  // by the splits
  UseCounters use_;
  mutable FalsePositiveSlot false_positives_;
};

}  // namespace bitsieve::core
