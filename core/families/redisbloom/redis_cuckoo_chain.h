// redis_cuckoo_chain.h: the sub-filters of a RedisCuckoo that has grown, or is large: redis_cuckoo.h describes how it
// works.
// Threads: as RedisCuckoo.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/families/redisbloom/redis_cuckoo_codec.h"
#include "core/families/redisbloom/redis_cuckoo_table.h"
#include "core/filter/chain.h"
#include "core/filter/filter.h"
#include "core/memory/move_version.h"

namespace bitsieve::core {

class RedisCuckooChain final : public Filter {
 private:
  enum class Due : uint8_t { kNo, kYes, kTaken };

 public:
  static constexpr uint64_t kChunkBytes = 16 << 20;  // as many as RedisBloom hands out at once

  // Makes a chain from tables that were filled from outside, oldest first, each with its items counted; as many and as
  // large as in the header. The header's item count is ignored.
  static Result<std::unique_ptr<RedisCuckooChain>> FromTables(const RedisCuckooHeader& header,
                                                              std::vector<std::unique_ptr<RedisCuckooTable>> tables,
                                                              MemoryBudget& budget);

  ~RedisCuckooChain() override;

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  void Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const override;
  uint64_t ItemCount() const override { return items_.load(std::memory_order_relaxed); }
  uint64_t ChangeCount() const override { return changes_.load(std::memory_order_acquire); }
  FilterInfo Info() const override;
  uint64_t size_bytes() const override;
  uint64_t heap_bytes() const override;
  uint32_t SubFilters() const override { return chain_.size(); }
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override { return chain_.Use(); }

  // Compared returns with how many fingerprints an absent item is compared in a sub-filter: with those in its two
  // buckets. The two are one bucket for as many of the 255 fingerprints as are multiples of the number of buckets, a
  // power of two.
  static constexpr uint64_t kFingerprints = 255;
  static double Compared(uint64_t buckets, uint64_t items);

  // Determines how an addition treats items that are already there; a parameter of RedisCuckoo::Insert.
  enum class Presence : uint8_t {
    kIgnored,   // every item is kAdded, without a check whether it was there
    kReported,  // what is there is kPresent, and added once more
    kSkipped,   // what is there is kPresent, and not added again
  };
  // Moves as many fingerprints as it can to older sub-filters. This is not reported to the listener: adding and
  // removing do not do that. Works in slices of some 50 us, between which other writers may run.
  void Compact();
  // Removals compact a small filter on their own, as RedisBloom's do. A large one they would hold for up to seconds:
  // there they leave it to their caller. True if one is due; then one of the other two must be called. Until then, no
  // other one is due.
  bool TakeDueCompaction() {
    Due due = Due::kYes;
    return due_.load(std::memory_order_relaxed) == due && due_.compare_exchange_strong(due, Due::kTaken);
  }
  void CompactAfterRemovals();
  void ForgetDueCompaction() { due_.store(Due::kNo, std::memory_order_relaxed); }

  // Returns the header of the current content, exactly.
  RedisCuckooHeader Header() const;
  // The bytes of the sub-filters, oldest first, are one body: those from `offset` on, to the end of a sub-filter, at
  // most `most`; none past the end.
  std::string ReadChunk(uint64_t offset, uint64_t most) const;
  // Puts bytes in place of those that ReadChunk returns from `offset` on, as RedisBloom does when chunks arrive of a
  // filter that is there; its items are then as many as there are fingerprints. False, and nothing done, if they are
  // not all of one sub-filter.
  bool WriteChunk(uint64_t offset, std::string_view bytes);
  uint64_t filters() const { return chain_.size(); }

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return chain_.use_counters(); }
  // kPresent of an item that looked present: it has one fingerprint more. A full filter is kFull for all items, since
  // each addition needs room.
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  void DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  friend class RedisCuckoo;

  RedisCuckooChain(const RedisCuckooHeader& header, MemoryBudget& budget, MemoryReservation overhead);
  static Result<std::unique_ptr<RedisCuckooChain>> MakeBare(const RedisCuckooHeader& header, MemoryBudget& budget);

  struct Compaction;
  struct FullPairs;

  bool Contains(const CuckooFingerprint& fingerprint) const;
  void CompactInSlices(bool past_stuck);

  RedisCuckooHeader CurrentHeader() const BITSIEVE_REQUIRES(writers());
  AddOutcome AddOne(const CuckooFingerprint& fingerprint, Presence presence) BITSIEVE_REQUIRES(writers());
  AddOutcome Store(const CuckooFingerprint& fingerprint) BITSIEVE_REQUIRES(writers());
  AddOutcome Grow() BITSIEVE_REQUIRES(writers());
  Status Append(std::unique_ptr<RedisCuckooTable> table) BITSIEVE_REQUIRES(writers());
  uint64_t HeldBytes() const BITSIEVE_REQUIRES(writers());
  bool RemoveOne(const CuckooFingerprint& fingerprint) BITSIEVE_REQUIRES(writers());
  bool Compact(Compaction& compaction, uint64_t steps) BITSIEVE_REQUIRES(writers());
  void CompactIfDue(uint64_t items) BITSIEVE_REQUIRES(writers());
  uint64_t MoveInto(RedisCuckooTable& from, uint64_t slot, uint64_t index) BITSIEVE_REQUIRES(writers());
  uint64_t FullBefore(const CuckooFingerprint& fingerprint) const BITSIEVE_REQUIRES(writers());
  void MarkFull(const CuckooFingerprint& fingerprint) BITSIEVE_REQUIRES(writers());
  void MarkRoom(uint64_t index) BITSIEVE_REQUIRES(writers());
  void BumpChangeCount() BITSIEVE_REQUIRES(writers()) {
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  const MemoryReservation overhead_;
  const RedisCuckooHeader shape_;  // except for items, deletes and filters
  Chain<RedisCuckooTable> chain_;
  uint64_t deletes_ BITSIEVE_GUARDED_BY(writers()) = 0;
  // Null while there are few sub-filters, or no memory for it.
  std::unique_ptr<FullPairs> full_ BITSIEVE_GUARDED_BY(writers());
  // Written with the lock of the writers held.
  MoveVersion version_;
  std::atomic<uint64_t> items_{0};    // relaxed: only ever reported
  std::atomic<Due> due_{Due::kNo};    // a compaction
  std::atomic<uint64_t> changes_{0};  // released after the fingerprints it counts
};

}  // namespace bitsieve::core
