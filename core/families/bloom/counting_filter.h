// counting_filter.h: a chain of CountingBloom sub-filters: a scalable filter from which items can be removed. Every
// addition counts: an item that was added twice and removed once is still there.
//
// Rule        all live additions of an item are in one sub-filter: the oldest that holds it. So Add raises the item's
//             counters in the oldest sub-filter that holds it, and in the newest if none does; Remove and Count turn to
//             the oldest that holds it. A newer sub-filter may take the item for one of its own by chance; had Remove
//             turned to that one, it would have taken counts away from other items, which could then be missed.
// Why it holds  a sub-filter that is not the newest gains nothing: only items that it holds are counted in it, so that
//             none of its counters ever leaves 0 again. So a sub-filter that did not hold an item when it was added to
//             a newer one never will. An item that an older sub-filter held by chance is counted there, and then is
//             really there.
// "New"       is reported for an item that no sub-filter held. Only that needs room, since only that fills the filter:
//             repeated additions are kPresent in a full filter too. But all of them are counted as items, so that
//             additions less removals are exact, and a new item finds room as long as items are fewer than the
//             capacity.
// Removal     makes room in the newest sub-filter. Older sub-filters only empty; their memory stays, and so does their
//             room: a chain whose live items fit into its newest sub-filter does not grow.
// Saturation  an older sub-filter counts all items that it holds by chance, however large the chain has become. When
//             the newest is some thousand times larger, counters of 4 bits in the oldest saturate, and items that it
//             holds by chance (its share of the rate) can no longer be removed.
// Wrong removals  of items that were never added but are believed present take counts from others. Those can then be
//             missed, and what is left of the wrong item stays for ever. No structure of this size can detect that.
// Threads     thread-safe; MayContain, Count and Prefetch take no lock.
#pragma once

#include <atomic>

#include "core/families/bloom/counting_bloom.h"
#include "core/families/bloom/scalable_filter.h"

namespace bitsieve::core {

class CountingFilter final : public ScalableFilter {
 public:
  using ScalableFilter::ScalableFilter;

  void Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const override;
  uint64_t ChangeCount() const override { return united() + changes_.load(std::memory_order_acquire); }

 private:
  const ChainType& chain_type() const override;
  QuickAdd TryAddOne(const KeyHash& /*hash*/) noexcept override BITSIEVE_REQUIRES(writers()) {
    return QuickAdd::kDeclined;
  }
  void PrefetchLinesToAdd(std::span<const KeyHash> hashes) const override { PrefetchLines(hashes); }
  size_t AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) override
      BITSIEVE_REQUIRES(writers());
  void DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept override
      BITSIEVE_REQUIRES(writers());
  AddOutcome AddOne(const KeyHash& hash, AddOutcome& refusal) BITSIEVE_REQUIRES(writers());
  bool RemoveOne(const KeyHash& hash) BITSIEVE_REQUIRES(writers());
  // Among `first`, which may be null, and those older than it; null if none of them holds the item.
  static CountingBloom* OldestHolder(const KeyHash& hash, SubFilter* first);
  void BumpChangeCount() BITSIEVE_REQUIRES(writers()) {
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  CountingBloom* newest() const { return static_cast<CountingBloom*>(chain().newest()); }

  std::atomic<uint64_t> changes_{0};  // released after the counters they cover
};

}  // namespace bitsieve::core
