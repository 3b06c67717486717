// redis_cuckoo.h: RedisBloom's cuckoo filter, byte for byte: its answers and its dumps are the same as RedisBloom's.
// The error rate cannot be chosen: fingerprints have one byte.
//
// Idea        an item leaves a fingerprint of one byte in one of two buckets. Either bucket and the fingerprint give
//             the other bucket, so that fingerprints can be moved between their buckets to make room, and removed.
// Layout      sub-filters, oldest first; sub-filter i has buckets * expansion^i buckets of bucket_size slots of one
//             byte, 0 for a free slot:
//
//               sub-filter 0   | p p | p . | . . | p . |          4 buckets of 2
//               sub-filter 1   | p . | . . | . . | . . | ...      as many with expansion 1, 8 with expansion 2
//
//             The number of buckets and the expansion are powers of two, so all numbers of buckets are.
// Hashing     h = MurmurHash64A(item, seed 0) is KeyHash::low. The fingerprint is h mod 255 + 1, the buckets are h and
//             h xor (fingerprint * 0x5bd1e995), modulo the number of buckets: the same fingerprint in every sub-filter.
// Operations  Add puts a fingerprint into the first free slot, from the newest sub-filter to the oldest. If both
//             buckets are full in all, fingerprints of the newest are moved on, each to its other bucket, at most
//             max_iterations of them; if that finds no free slot either, all are moved back, and a further sub-filter
//             is added. Every addition leaves a fingerprint of its own, also of an item that looks present: else a
//             removal would take the fingerprint that another item needs. MayContain looks into both buckets of all
//             sub-filters, Count counts.
// Removal     takes the first equal fingerprint, from the newest sub-filter to the oldest, and that is as good as the
//             item's own: any item that finds this fingerprint here has the same fingerprint and the same two buckets,
//             as far as this sub-filter distinguishes buckets. Older ones distinguish no better, since their number of
//             buckets divides this one's. The item's own fingerprint is here or in an older sub-filter, so that the
//             other item finds that one there. It holds only if what is removed was added: see
//             docs/filters/rediscuckoo.md.
// Repeats     of one item fill its buckets in one sub-filter after the other, and make a further one with every few.
//             To find that all are full, each addition would look into all of them. So a filter of many sub-filters
//             notes of the last pairs of buckets how many of the oldest sub-filters have no room there: only removals
//             and compactions make any. 140,000 times the same item take 0.1 s instead of 26.
// Compaction  moves fingerprints from the newest sub-filters into older ones, which find their buckets from the bucket
//             and the fingerprint. A newest sub-filter that became empty is taken off. Its memory stays with the filter
//             and serves the next growth, which needs one of just that size: so no reader ever looks at memory that is
//             gone, and the filter never takes more than it had taken at its largest.
// Small       one sub-filter of at most kMaxSmallBytes lies after the filter itself, or in a block of its own where
//             one block would be rounded up to more than two. That is 48 bytes and the slots; what commands did with
//             such a filter is not counted. A filter that grows, or is larger from the beginning, has a
//             RedisCuckooChain, whose oldest sub-filter keeps the slots where they are.
// Cost        8 bits per slot. Fingerprints are moved in a fixed order, which may lead round in a circle: with buckets
//             of 2 the first item that finds no room comes when 30 to 70% of the slots are taken, with buckets of 4 at
//             77%; later items still take the free slots. A lookup reads two lines per sub-filter. A full sub-filter is
//             wrong for 1 - (254/255)^(2 bucket_size) of absent items: 1.56% with buckets of 2; sub-filters add up, 40%
//             after 32 of them.
// Limits      65,535 sub-filters. With expansion 0 it does not grow, and items find no room long before it is full.
// Threads     thread-safe; MayContain, Count and Prefetch take no lock. Writers exclude each other, a batch at a time.
//             While fingerprints are moved the version is odd; a reader that finds an item believes it, and one that
//             does not find it looks again unless the version was even and the same before and after (Boehm, "Can
//             seqlocks get along with programming language memory models?", 2012).
// Images      exact: they hold what the filter held when they were taken, regardless of later moves. Of a small filter
//             they are copies.
// Persisted   type 5, docs/formats/filter.md.
// References  Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/families/redisbloom/redis_cuckoo_chain.h"
#include "core/families/redisbloom/redis_cuckoo_codec.h"
#include "core/families/redisbloom/redis_cuckoo_table.h"
#include "core/filter/filter.h"
#include "core/memory/move_version.h"

namespace bitsieve::core {

class RedisCuckoo final : public Filter {
 public:
  static constexpr uint64_t kMaxSmallBytes = 16 << 10;

  // Makes a filter as MakeFilter does. Capacity and expansion are rounded up as RedisBloom does; params() has the
  // results.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget);
  // Makes a filter from tables that were filled from outside, oldest first, each with its items counted; as many and as
  // large as in the header. The header's item count is ignored.
  static Result<std::unique_ptr<Filter>> FromTables(const RedisCuckooHeader& header,
                                                    std::vector<std::unique_ptr<RedisCuckooTable>> tables,
                                                    MemoryBudget& budget);

  ~RedisCuckoo() override;

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  void Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const override;
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override;
  FilterInfo Info() const override;
  uint64_t size_bytes() const override;
  uint64_t heap_bytes() const override;
  uint32_t SubFilters() const override;
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override;

  using Presence = RedisCuckooChain::Presence;
  // Adds at most ChangeListener::kMaxHashes in order, and continues after refusals, but stops before the first item
  // that would find `most_filters` sub-filters or more. Returns how many outcomes it wrote. Fingerprints that were
  // added are reported to the listener, as if by Add.
  size_t Insert(std::span<const KeyHash> hashes, Presence presence, uint64_t most_filters,
                std::span<AddOutcome> outcomes);
  // Moves as many fingerprints as it can to older sub-filters. This is not reported to the listener: adding and
  // removing do not do that. Works in slices of some 50 us, between which other writers may run.
  void Compact();
  // Removals compact a small filter on their own, as RedisBloom's do. A large one they would hold for up to seconds:
  // there they leave it to their caller. True if one is due; then one of the other two must be called. Until then, no
  // other one is due.
  bool TakeDueCompaction() { return chain() != nullptr && chain()->TakeDueCompaction(); }
  void CompactAfterRemovals();
  void ForgetDueCompaction() {
    if (chain() != nullptr) chain()->ForgetDueCompaction();
  }

  // Returns the header of the current content, exactly.
  RedisCuckooHeader Header() const;
  // The bytes of the sub-filters, oldest first, are one body: those from `offset` on, to the end of a sub-filter, at
  // most `most`; none past the end.
  std::string ReadChunk(uint64_t offset, uint64_t most = RedisCuckooChain::kChunkBytes) const;
  // Puts bytes in place of those that ReadChunk returns from `offset` on, as RedisBloom does when chunks arrive of a
  // filter that is there; its items are then as many as there are fingerprints. False, and nothing done, if they are
  // not all of one sub-filter.
  bool WriteChunk(uint64_t offset, std::string_view bytes);
  uint64_t filters() const { return SubFilters(); }

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override;
  // kPresent of an item that looked present: it has one fingerprint more. A full filter is kFull for all items, since
  // each addition needs room.
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  void DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());

 private:
  struct Large;

  // `place` as place_.
  RedisCuckoo(const RedisCuckooHeader& header, MemoryBudget& budget, uint8_t place);
  static bool IsSmall(const RedisCuckooHeader& header);
  // Makes a small filter, all of whose slots are free.
  static Result<std::unique_ptr<RedisCuckoo>> MakeSmall(const RedisCuckooHeader& header, MemoryBudget& budget);

  const Large* large() const;
  RedisCuckooChain* chain() const { return large() == nullptr ? nullptr : ChainOf(*large()); }
  static RedisCuckooChain* ChainOf(const Large& large);

  // The slots of a small filter, or of the oldest sub-filter of one that has grown.
  uint64_t mask() const;
  uint32_t bucket_size() const;
  uint8_t* data() const;
  uint64_t slot_count() const { return (mask() + 1) * bucket_size(); }
  RedisCuckooSlots Slots() const { return {data(), mask(), bucket_size(), nullptr}; }
  // Lends the slots, with the rest of their last word.
  BitMemory Lend() const;
  uint64_t OwnBlocks() const;
  uint64_t LentBytes() const;

  bool Holds(const KeyHash& hash) const;
  RedisCuckooHeader CurrentHeader() const BITSIEVE_REQUIRES(writers());
  AddOutcome AddOne(const CuckooFingerprint& fingerprint, Presence presence) BITSIEVE_REQUIRES(writers());
  AddOutcome Store(const CuckooFingerprint& fingerprint) BITSIEVE_REQUIRES(writers());
  AddOutcome BecomeLarge() BITSIEVE_REQUIRES(writers());
  // Counts a change by Compact or WriteChunk of a small filter. Where there is no number left, it becomes large: false.
  bool CountOtherChange() BITSIEVE_REQUIRES(writers());
  bool RemoveOne(const CuckooFingerprint& fingerprint) BITSIEVE_REQUIRES(writers());

  // Filter::own_word() is where the slots are, if they have a block of their own, else 0, and in its top bits the count
  // of changes by Compact and WriteChunk; or a Large, plus 1, released once that is complete.
  const uint8_t place_;                 // log2 of the buckets; kSlotsApart, or kLarge if it never was small
  BasicMoveVersion<uint32_t> version_;  // written with the lock of the writers held
  std::atomic<uint32_t> items_{0};      // relaxed: only ever reported
  std::atomic<uint32_t> deletes_{0};    // written as the version
};

}  // namespace bitsieve::core
