// redis_cuckoo_table.h: one sub-filter of a RedisCuckooChain: its buckets (redis_cuckoo_slots.h), their memory, and how
// many fingerprints they hold. Threads: as RedisCuckooSlots.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/families/redisbloom/redis_cuckoo_slots.h"
#include "core/filter/chain.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {

class RedisCuckooTable : public ChainMember<RedisCuckooTable> {
 public:
  // Makes an empty table of `buckets` buckets, a power of two. In a chain no older one has more. kOutOfMemory if the
  // budget refuses.
  static Result<std::unique_ptr<RedisCuckooTable>> Make(uint64_t buckets, uint32_t bucket_size, MemoryBudget& budget);
  // Makes a table of memory that has `items` fingerprints.
  RedisCuckooTable(uint64_t buckets, uint32_t bucket_size, BitMemory memory, uint64_t items)
      : mask_(buckets - 1), bucket_size_(bucket_size), memory_(std::move(memory)), items_(items) {}

  static CuckooFingerprint FingerprintOf(const KeyHash& hash) { return RedisCuckooSlots::FingerprintOf(hash); }

  uint64_t buckets() const { return mask_ + 1; }
  uint64_t slots() const { return buckets() * bucket_size_; }
  uint64_t capacity() const { return slots(); }
  uint64_t size_bytes() const { return memory_.size_bytes(); }
  BitMemory& memory() { return memory_; }
  const BitMemory& memory() const { return memory_; }

  void Prefetch(const CuckooFingerprint& fingerprint) const { Slots().Prefetch(fingerprint); }
  bool Contains(const CuckooFingerprint& fingerprint) const { return Slots().Contains(fingerprint); }
  // Returns the equal fingerprints in both buckets, or in the one if they are the same.
  uint64_t Count(const CuckooFingerprint& fingerprint) const { return Slots().Count(fingerprint); }

  // Returns the number of fingerprints that are there; only for the writer.
  uint64_t items() const { return items_; }
  // Sets how many slots are not free, in a table whose memory was filled from outside.
  void Restore(uint64_t items) { items_ = items; }
  // Do what those of RedisCuckooSlots do, and count the fingerprints.
  bool Place(const CuckooFingerprint& fingerprint) { return CountIf(Slots().Place(fingerprint), 1); }
  bool Take(const CuckooFingerprint& fingerprint) { return CountIf(Slots().Take(fingerprint), -1); }
  bool Kick(const CuckooFingerprint& fingerprint, uint32_t iterations) {
    return CountIf(Slots().Kick(fingerprint, iterations), 1);
  }
  std::optional<CuckooFingerprint> FingerprintAt(uint64_t slot) const { return Slots().FingerprintAt(slot); }
  void Free(uint64_t slot) {
    Slots().Free(slot);
    --items_;
  }

 private:
  RedisCuckooSlots Slots() const {
    auto* const memory = const_cast<BitMemory*>(&memory_);
    return {reinterpret_cast<uint8_t*>(memory_.data()), mask_, bucket_size_, memory};
  }
  bool CountIf(bool done, int items) {
    if (done) items_ += static_cast<uint64_t>(items);
    return done;
  }

  const uint64_t mask_;  // buckets less one
  const uint32_t bucket_size_;
  BitMemory memory_;
  uint64_t items_;
};

}  // namespace bitsieve::core
