// ribbon_staging.h: a ribbon filter before it is frozen: it collects the hashes of its items, and answers from them.
//
// States      as in core/filter/staging.h; the frozen filter is that of ribbon_filter.h.
// Answers     exact, as far as hashes of 64 bits distinguish items: with n items, one lookup in 2^64 / n is wrong, one
//             in 2^32 for the most that it takes. Only false positives: an item that was added is always found. 128
//             bits would cost twice the memory, and add nothing to what the frozen filter keeps.
// Notes       known false positives are those of the frozen filter: any item that was not added is noted, and
//             HandOverTo gives the frozen filter those that it shows.
// Growth      beyond the capacity, which is then only the expected number; not with expansion 0.
// Cost        17 to 28 bytes per item while it collects; of less than 100,000 items up to 34.
// Threads     thread-safe. Lookups take no lock.
// Images      the hashes in the order of their coming, as of the capture. What is building is saved as staging.
// Persisted   type 9, docs/formats/filter.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/families/ribbon/hash_set.h"
#include "core/filter/filter.h"
#include "core/filter/staging.h"

namespace bitsieve::core {

class RibbonStaging final : public Filter, public Staging {
 public:
  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget);
  // Makes a filter with the hashes that were read back.
  static Result<std::unique_ptr<Filter>> FromHashes(const FilterParams& params, std::unique_ptr<HashSet> hashes,
                                                    MemoryBudget& budget);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  uint64_t ItemCount() const override { return hashes_->size(); }
  uint64_t ChangeCount() const override;
  FilterInfo Info() const override;
  uint64_t size_bytes() const override;
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override {
    FilterUse use;
    use_.Collect(use);
    return use;
  }

  Staging* staging() override { return this; }
  bool Close() override;
  void Reopen(std::string failure) override;
  // Does what RibbonFilter::Build does.
  Result<std::unique_ptr<Filter>> Build(MemoryBudget& budget, const std::function<bool()>& keep_going) override;
  bool CopyFalsePositivesTo(Filter& frozen) const override;
  bool HandOverTo(Filter& frozen) override;

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return &use_; }
  FalsePositiveSlot* false_positives() const override { return &false_positives_; }
  RecordOutcome RecordFalsePositive(const KeyHash& hash) noexcept override BITSIEVE_REQUIRES(writers());
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  class Image;

  RibbonStaging(const FilterParams& params, std::unique_ptr<HashSet> hashes, MemoryReservation overhead,
                MemoryBudget& budget);
  AddOutcome AddOne(const KeyHash& hash) BITSIEVE_REQUIRES(writers());

  const std::unique_ptr<HashSet> hashes_;
  const MemoryReservation overhead_;
  const uint64_t most_items_;
  std::atomic<uint32_t> percent_{0};  // relaxed: only ever reported
  std::atomic<uint64_t> turns_{0};    // times it was closed or opened again; relaxed, as ChangeCount is

  bool building_ BITSIEVE_GUARDED_BY(writers()) = false;
  bool handed_over_ BITSIEVE_GUARDED_BY(writers()) = false;
  std::string failure_ BITSIEVE_GUARDED_BY(writers());
  UseCounters use_;
  mutable FalsePositiveSlot false_positives_;
};

}  // namespace bitsieve::core
