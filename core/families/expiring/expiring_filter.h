// expiring_filter.h: a filter whose items expire one by one: "seen, and its time is not over". What is within its time
// is always found; what was never added is found at the requested rate at most; what is over is gone one epoch later
// at the latest. Items can be removed before.
//
// Idea        a chain of cuckoo tables whose fingerprints have a time (expiring_table.h). Time is cut into epochs: a
//             time to live T is 14 of them, or 250.
// Operations  MayContain looks into all tables. Add stores a fingerprint with the epoch of the item's time in the
//             oldest table that has room, unless the item is found: then it renews what is found (if it renews at all),
//             which gets the later one of the two times. Since that may be another item's fingerprint, an item that is
//             found when it is added has no fingerprint of its own.
// Promise     an item that was new when it was added is found until its time is over, unless it is removed. So is one
//             that was found, if the filter renews and the item that it was taken for is not removed.
// Removal     takes the fingerprint from the newest table that holds one, as in a cuckoo filter and for the same
//             reason (cuckoo_filter.h): of the items that were new, it hurts none but the removed one.
// Growth      as a cuckoo filter does, when no table has room. Items go to the oldest table that has room, so that when
//             fewer come, the newest tables are left to expire. One with nothing alive is dropped after the next
//             change; the oldest table stays. A filter that is used at its capacity does not grow, since its tables
//             have room for what waits for the end of its epoch.
// Time        is read once per batch. Time that goes backwards stands still until it has caught up: items are kept
//             longer, never shorter.
// Rate        as a cuckoo filter's. Items that are over make no false positives.
// Cost        bits per item at 1%, 0.1%, 0.01%, 1e-6, with epochs of 4 bits: 15.8, 19.2, 23.7, 30.5.
// Threads     thread-safe. Writers exclude each other for a batch at a time; "new" is reported exactly once.
//             MayContain, TimeToLive and Prefetch take no lock; they pin the tables if there are several
//             (reader_pins.h).
// Persisted   type 10; docs/formats/filter.md, docs/filters/expiring.md.
// References  Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/reader_pins.h"
#include "core/families/expiring/expiring_codec.h"
#include "core/families/expiring/expiring_table.h"
#include "core/filter/chain.h"
#include "core/filter/filter.h"
#include "core/filter/forecast.h"
#include "core/memory/move_version.h"

namespace bitsieve::core {

class ExpiringFilter final : public Filter {
 public:
  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget, const Clock& clock);
  // Makes a filter from tables that were read back, oldest first, at least one, as of `newest_ms`.
  static Result<std::unique_ptr<Filter>> FromTables(const FilterParams& params, uint64_t newest_ms,
                                                    std::vector<std::unique_ptr<ExpiringTable>> tables,
                                                    MemoryBudget& budget, const Clock& clock);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  void TimeToLive(std::span<const KeyHash> hashes, std::span<int64_t> left_ms) const override;
  uint64_t ttl_ms() const override { return epochs_.ttl_ms(); }
  // Returns the number of live items.
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override { return changes_.load(std::memory_order_acquire); }
  FilterInfo Info() const override;
  uint64_t size_bytes() const override { return size_bytes_.load(std::memory_order_relaxed); }
  uint64_t heap_bytes() const override;
  uint32_t SubFilters() const override { return sub_filters_.load(std::memory_order_relaxed); }
  bool ages() const override { return true; }
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override;

  // Returns a forecast as core::ForecastOf does, of a filter with `items` live items.
  static Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items);

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return &use_; }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  void DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept override
      BITSIEVE_REQUIRES(writers());
  void DoTouch(std::span<const KeyHash> hashes, std::span<uint8_t> touched) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());
  void SetItemTime(const ItemTime& time) override BITSIEVE_REQUIRES(writers());
  uint64_t TimeOfChange() const override BITSIEVE_REQUIRES(writers()) { return now_ms_; }
  uint64_t UntilOfChange() const override BITSIEVE_REQUIRES(writers()) { return until_ms_; }

 private:
  // The place of an item in one of the tables.
  struct Holder {
    ExpiringTable* table = nullptr;
    ExpiringTable::Place place;
  };

  ExpiringFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock);

  uint64_t Now() const;
  CuckooKey KeyOf(const KeyHash& hash) const { return oldest_->geometry().KeyOf(hash); }
  // Calls look(newest table), which may use all tables up to that one.
  template <class Look>
  auto WithTables(const Look& look) const;
  // Calls visit(table, pair) for each table up to `last`, oldest first.
  template <class Visit>
  void ForEachTable(const ExpiringTable* last, const CuckooKey& key, const Visit& visit) const;
  bool SomeTableHolds(const CuckooKey& key, const ExpiringTable* last, uint64_t now) const;
  // Returns the epoch at whose end the item will be gone; kNotFound if it is not found. No epoch of a live item is 0.
  static constexpr uint64_t kNotFound = 0;
  uint64_t LastEpochOf(const KeyHash& hash, const ExpiringTable* last, uint64_t now) const;

  // Begins what may be a change: reads the clock, and ends the epochs that are over.
  void BeginChange() BITSIEVE_REQUIRES(writers());
  // Ends it, if the count of changes is no longer `before`: what changed nothing leaves every byte as it was.
  void EndChange(uint64_t before) BITSIEVE_REQUIRES(writers());
  void DropDeadTables() BITSIEVE_REQUIRES(writers());
  // Returns the newest table that holds the item.
  Holder NewestHolder(const CuckooKey& key) const BITSIEVE_REQUIRES(writers());
  AddOutcome AddOne(const CuckooKey& key, AddOutcome& refusal) BITSIEVE_REQUIRES(writers());
  // Returns false if no table has room near the item's buckets. Throws std::bad_alloc as SearchWay does.
  bool Store(const CuckooKey& key) BITSIEVE_REQUIRES(writers());
  // Returns whether that lets the item expire later.
  bool Renew(const Holder& holder) BITSIEVE_REQUIRES(writers());
  AddOutcome Grow() BITSIEVE_REQUIRES(writers());
  Status Append(std::unique_ptr<ExpiringTable> table) BITSIEVE_REQUIRES(writers());
  void PublishSizes() BITSIEVE_REQUIRES(writers());
  void BumpChangeCount() BITSIEVE_REQUIRES(writers()) {
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  const Epochs epochs_;
  const Clock& clock_;
  Chain<ExpiringTable> chain_;
  ExpiringTable* oldest_ = nullptr;  // constant from Make on
  MoveVersion version_;
  mutable ReaderPins pins_;

  uint64_t now_ms_ BITSIEVE_GUARDED_BY(writers()) = 0;  // of the latest change
  uint64_t until_ms_ BITSIEVE_GUARDED_BY(writers()) = 0;
  uint64_t now_ BITSIEVE_GUARDED_BY(writers()) = 0;  // epochs of these two
  uint64_t until_ BITSIEVE_GUARDED_BY(writers()) = 0;
  std::atomic<uint64_t> newest_ms_{0};  // the time never goes back before this one; relaxed, as are the next two
  std::atomic<uint64_t> size_bytes_{0};
  std::atomic<uint32_t> sub_filters_{0};
  std::atomic<uint64_t> changes_{0};  // released after the change it counts
  UseCounters use_;
};

}  // namespace bitsieve::core
