// cuckoo_filter.h: a chain of cuckoo tables: fingerprints of items, which can be counted and removed. Answers
// "definitely not" or "probably yes"; wrong with the second at the requested rate, never with the first, as long as
// only what was added is removed.
//
// Idea        a table (cuckoo_table.h) keeps one fingerprint per addition. When the tables are full, a larger one is
//             put before them, unless the filter does not grow. The rates of the tables add up, and share the requested
//             rate as the sub-filters of a ScalableFilter do.
// Operations  MayContain looks into all tables. Add stores a fingerprint in the newest table, or in an older one that
//             has room again, whether the item is there or not: what was added n times can be removed n times. Count is
//             the number of equal fingerprints.
// Removal     takes a fingerprint from the *newest* table that holds one. That never hurts another item, since tables
//             are nested: items that a table cannot distinguish, no older one can. Proof: let each live addition own a
//             stored fingerprint that finds it. Removing x takes a fingerprint c from table j. If x owns c, we are
//             done. Otherwise x owns one in a table t, and t is j or older, since j is the newest that holds x. The
//             owner of c looks like x in j, hence in t: so it may own the fingerprint of x there instead. Every
//             remaining addition owns one again.
// "New"       is reported for an item that no table held.
// Full        a table takes as many additions as its capacity, repeated ones among them. If then no table has room and
//             the filter does not grow, an addition is refused (kFull), of items that are there too: it would not be
//             counted, and removing it later would take another one's fingerprint. An insert that finds no way to a
//             free slot is as in a full table; by chance that hardly happens below the capacity (cuckoo_sizing.h).
// Saturation  an item whose two buckets hold nothing but its own fingerprint, 2 b times, is added without being stored,
//             and can never be removed: it is not known how often it was added. So it can only cause false positives.
// Growth      a table has m times the buckets of the newest one: m is the expansion, or what gives it a quarter of all
//             capacity before it. Fingerprints get wider as the shares of the rate get smaller; if that would take
//             more than 32 bits, growing is refused (kCannotGrow).
// Wrong removals  of items that were never added but are believed present take fingerprints of others, which can
//             then be missed.
// Images      are exact: they show the moment of capture, even while writers continue.
// Cost        bits per item at 1%, 0.1%, 0.01%, 1e-6: 10.5, 13.7, 17.9, 24.2; a few more in small or growing filters.
// Limits      the smallest rate is 1.8e-9 with buckets of 4, 2.3e-9 for a filter that may grow.
// Threads     thread-safe. Writers exclude each other for a batch at a time; "new" is reported exactly once.
//             MayContain, Count and Prefetch take no lock: a lookup that misses while something was moved looks again.
// Persisted   type 4; docs/formats/filter.md, docs/filters/cuckoo.md.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/families/cuckoo/cuckoo_codec.h"
#include "core/families/cuckoo/cuckoo_table.h"
#include "core/filter/chain.h"
#include "core/filter/filter.h"
#include "core/filter/forecast.h"
#include "core/memory/move_version.h"

namespace bitsieve::core {

class CuckooFilter final : public Filter {
 public:
  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget);
  // Makes a filter from tables that were read back, oldest first, at least one.
  static Result<std::unique_ptr<Filter>> FromTables(const FilterParams& params,
                                                    std::vector<std::unique_ptr<CuckooTable>> tables,
                                                    MemoryBudget& budget);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  void Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const override;
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override { return changes_.load(std::memory_order_acquire); }
  FilterInfo Info() const override;
  uint64_t size_bytes() const override { return chain_.newest()->total_bytes(); }
  uint64_t heap_bytes() const override;
  uint32_t SubFilters() const override { return chain_.size(); }
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override { return chain_.Use(); }

  // Returns a forecast as core::ForecastOf does.
  static Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items);
  // Returns what each table takes from the budget besides its bits.
  static uint64_t OverheadBytes();

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return chain_.use_counters(); }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  void DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  CuckooFilter(const FilterParams& params, MemoryBudget& budget) : Filter(params, budget) {}

  Status Append(std::unique_ptr<CuckooTable> table) BITSIEVE_REQUIRES(writers());
  CuckooTable& newest() const { return *chain_.newest(); }
  AddOutcome AddOne(const CuckooKey& key, AddOutcome& refusal) BITSIEVE_REQUIRES(writers());
  // Returns false if no table has room near the item's buckets. Throws std::bad_alloc as SearchWay does.
  bool Store(const CuckooKey& key) BITSIEVE_REQUIRES(writers());
  bool RemoveOne(const CuckooKey& key) BITSIEVE_REQUIRES(writers());
  AddOutcome Grow() BITSIEVE_REQUIRES(writers());
  void BumpChangeCount() BITSIEVE_REQUIRES(writers()) {
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  CuckooKey KeyOf(const KeyHash& hash) const { return oldest_->KeyOf(hash); }
  bool SomeTableHolds(const CuckooKey& key) const;
  uint64_t CountOnce(const CuckooKey& key) const;

  Chain<CuckooTable> chain_;
  const CuckooTable* oldest_ = nullptr;  // constant from Make on
  MoveVersion version_;
  std::atomic<uint64_t> changes_{0};  // released after the change it counts
};

}  // namespace bitsieve::core
