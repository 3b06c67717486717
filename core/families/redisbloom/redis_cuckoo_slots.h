// redis_cuckoo_slots.h: the buckets of one sub-filter of a RedisCuckoo, wherever they lie: one-byte fingerprints, 0 for
// a free slot.
//
// Threads     one writer at a time; any number of readers, without a lock. Fingerprints are written with release and
//             read with acquire: a reader that sees one sees all that was written before it, including the filter's
//             version. While Kick runs, a reader may miss a fingerprint that is there: RedisCuckoo has the version that
//             shows it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/hash/key_hash.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {

// The fingerprint that is stored of an item, and where it may be: its bucket in a table of n is `first` or `second`,
// modulo n.
struct CuckooFingerprint {
  uint64_t first;
  uint64_t second;
  uint8_t fingerprint;  // never 0
};

class RedisCuckooSlots {
 public:
  // `mask`: the number of buckets, a power of two, less one. `memory` is notified of writes unless it is null.
  RedisCuckooSlots(uint8_t* slots, uint64_t mask, uint32_t bucket_size, BitMemory* memory)
      : slots_(slots), mask_(mask), bucket_size_(bucket_size), memory_(memory) {}

  static CuckooFingerprint FingerprintOf(const KeyHash& hash) {
    const uint64_t fingerprint = hash.low % 255 + 1;
    return {hash.low, hash.low ^ (fingerprint * kStep), static_cast<uint8_t>(fingerprint)};
  }

  void Prefetch(const CuckooFingerprint& fingerprint) const {
    __builtin_prefetch(AddressOf(SlotOf(fingerprint.first)));
    __builtin_prefetch(AddressOf(SlotOf(fingerprint.second)));
  }
  bool Contains(const CuckooFingerprint& fingerprint) const {
    switch (bucket_size_) {  // the default, and a common choice: a bucket is a word then
      case 2:
        return EitherWordHas<uint16_t>(fingerprint);
      case 4:
        return EitherWordHas<uint32_t>(fingerprint);
      default:
        return Find(fingerprint, fingerprint.fingerprint) != kNoSlot;
    }
  }
  // Returns the equal fingerprints in both buckets, or in the one if they are the same.
  uint64_t Count(const CuckooFingerprint& fingerprint) const;

  // The rest is the writer's.

  // Puts the fingerprint into the first free slot of the first bucket, or of the second; false if there is none.
  bool Place(const CuckooFingerprint& fingerprint) const;
  // Frees the first slot with an equal fingerprint; false if there is none.
  bool Take(const CuckooFingerprint& fingerprint) const;
  // Makes room by moving up to `iterations` fingerprints on to their other buckets; false, and everything as it was, if
  // that was not enough.
  bool Kick(const CuckooFingerprint& fingerprint, uint32_t iterations) const;
  // Returns the fingerprint in a slot, with which any older table finds its buckets; nothing if the slot is free.
  std::optional<CuckooFingerprint> FingerprintAt(uint64_t slot) const;
  void Free(uint64_t slot) const;

 private:
  static constexpr uint64_t kStep = 0x5bd1e995;
  static constexpr uint64_t kNoSlot = UINT64_MAX;

  // 64 bits throughout: a table may have more than 4 Gi slots.
  uint64_t SlotOf(uint64_t hash) const { return (hash & mask_) * bucket_size_; }
  uint64_t OtherBucket(uint64_t bucket, uint8_t fingerprint) const { return (bucket ^ (fingerprint * kStep)) & mask_; }
  uint8_t* AddressOf(uint64_t slot) const { return slots_ + slot; }
  uint8_t Get(uint64_t slot) const { return __atomic_load_n(AddressOf(slot), __ATOMIC_ACQUIRE); }
  void Set(uint64_t slot, uint8_t fingerprint) const;
  uint8_t Swap(uint64_t slot, uint8_t fingerprint) const;
  // Returns the first slot that holds `fingerprint`, of the bucket that begins with `slot`; `otherwise` if there is
  // none. It has no branch on what the slots hold, which cannot be predicted.
  uint64_t FindInBucket(uint64_t slot, uint8_t fingerprint, uint64_t otherwise) const {
    uint64_t found = otherwise;
    for (uint32_t i = bucket_size_; i-- > 0;) found = Get(slot + i) == fingerprint ? slot + i : found;
    return found;
  }
  // Does the same for both buckets; kNoSlot if there is none.
  uint64_t Find(const CuckooFingerprint& place, uint8_t fingerprint) const {
    return FindInBucket(SlotOf(place.first), fingerprint, FindInBucket(SlotOf(place.second), fingerprint, kNoSlot));
  }
  // Returns whether a byte of either bucket, each a word, is the fingerprint. Some byte is 0 exactly if taking 1 from
  // each borrows into the top bit of one that was clear (Warren, "Hacker's Delight", section 6-1).
  template <class Word>
  bool EitherWordHas(const CuckooFingerprint& place) const {
    constexpr Word kOnes = static_cast<Word>(~Word{0}) / 0xFF;
    const auto zeros = [this, same = static_cast<Word>(kOnes * place.fingerprint)](uint64_t hash) {
      const auto* bucket = reinterpret_cast<const Word*>(AddressOf(SlotOf(hash)));
      const Word differences = __atomic_load_n(bucket, __ATOMIC_ACQUIRE) ^ same;
      return static_cast<Word>((differences - kOnes) & ~differences & (kOnes << 7));
    };
    return (zeros(place.first) | zeros(place.second)) != 0;
  }
  uint64_t CountInBucket(uint64_t slot, uint8_t fingerprint) const;
  uint8_t Walk(uint64_t& bucket, uint8_t hand, uint32_t iterations, bool& placed) const;
  void WalkBack(uint64_t bucket, uint8_t hand, uint32_t iterations) const;

  uint8_t* slots_;
  uint64_t mask_;
  uint32_t bucket_size_;
  BitMemory* memory_;
};

}  // namespace bitsieve::core
