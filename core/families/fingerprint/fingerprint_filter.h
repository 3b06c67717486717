// fingerprint_filter.h: a chain of ordered tables of fingerprints. Answers "definitely not" or "probably yes"; wrong
// with the second at the requested rate, never with the first.
//
// Idea        a table (fingerprint_table.h) keeps one fingerprint per item, in or after the slot that the item's hash
//             chooses. When it is full, a larger one is put before it, unless the filter does not grow; sizes and
//             shares of the requested rate follow the law of all chains (filter_params.h).
// Operations  MayContain looks into the tables, newest first. Add looks into all, then adds what is new to the newest.
//             Only the newest ever changes.
// Removal     not possible. To take a fingerprint out of a run, later ones would have to move up, but not before their
//             homes, and a fingerprint's home slot is not stored.
// Cost        r / load bits per item: 11.1 at 1%, 15.0 at 0.1%, 19.6 at 0.01%, 27.5 at 1e-6: more than classic and
//             blocked at the higher rates, less than both below about 1e-5. One cache line per lookup, seldom two.
// Limits      fingerprints have 32 bits at most, so the rate of a table cannot be below 4.7e-10: growing stops there
//             (kCannotGrow), after 20 tables at 1e-6, 10 at 1e-7, and at once at 1e-8.
// Images      are exact: they show the moment of capture, even while writers continue.
// Threads     thread-safe. MayContain and Prefetch take no lock: a lookup that misses while something was moved looks
//             again.
// Persisted   type 8; docs/formats/filter.md, docs/filters/fingerprint.md.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/families/fingerprint/fingerprint_table.h"
#include "core/filter/chain.h"
#include "core/filter/filter.h"
#include "core/filter/forecast.h"
#include "core/memory/move_version.h"

namespace bitsieve::core {

class FingerprintFilter final : public Filter {
 public:
  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget);
  // Makes a filter from tables that were read back, oldest first, at least one.
  static Result<std::unique_ptr<Filter>> FromTables(const FilterParams& params,
                                                    std::vector<std::unique_ptr<FingerprintTable>> tables,
                                                    MemoryBudget& budget);

  // Returns a forecast as core::ForecastOf does.
  static Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override { return ItemCount(); }
  FilterInfo Info() const override;
  uint64_t size_bytes() const override { return chain_.newest()->total_bytes(); }
  uint64_t heap_bytes() const override;
  uint32_t SubFilters() const override { return chain_.size(); }
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override { return chain_.Use(); }

  // Returns what each table takes from the budget besides its bits.
  static uint64_t OverheadBytes();

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return chain_.use_counters(); }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  FingerprintFilter(const FilterParams& params, MemoryBudget& budget) : Filter(params, budget) {}

  bool SomeTableHolds(const KeyHash& hash) const;

  AddOutcome AddOne(const KeyHash& hash, AddOutcome& refusal) BITSIEVE_REQUIRES(writers());
  AddOutcome Grow() BITSIEVE_REQUIRES(writers());
  Status Append(std::unique_ptr<FingerprintTable> table) BITSIEVE_REQUIRES(writers());

  Chain<FingerprintTable> chain_;
  MoveVersion version_;
};

}  // namespace bitsieve::core
