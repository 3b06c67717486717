#include "core/families/redisbloom/redis_cuckoo_table.h"

#include <utility>

namespace bitsieve::core {

namespace {

constexpr uint8_t kFree = 0;

uint64_t RoundedToLines(uint64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

}  // namespace

Result<std::unique_ptr<RedisCuckooTable>> RedisCuckooTable::Make(uint64_t buckets, uint32_t bucket_size,
                                                                 MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(RoundedToLines(buckets * bucket_size), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return std::unique_ptr<RedisCuckooTable>(new RedisCuckooTable(buckets, bucket_size, std::move(*memory)));
}

void RedisCuckooTable::Set(uint64_t slot, uint8_t fingerprint) {
  memory_.BeforeWrite(slot);
  __atomic_store_n(AddressOf(slot), fingerprint, __ATOMIC_RELEASE);
}

uint8_t RedisCuckooTable::Swap(uint64_t slot, uint8_t fingerprint) {
  const uint8_t was = Get(slot);
  Set(slot, fingerprint);
  return was;
}

uint64_t RedisCuckooTable::CountInBucket(uint64_t slot, uint8_t fingerprint) const {
  uint64_t count = 0;
  for (const uint64_t end = slot + bucket_size_; slot < end; ++slot) count += Get(slot) == fingerprint;
  return count;
}

uint64_t RedisCuckooTable::Count(const CuckooFingerprint& fingerprint) const {
  const uint64_t first = SlotOf(fingerprint.first), second = SlotOf(fingerprint.second);
  return CountInBucket(first, fingerprint.fingerprint) +
         (first == second ? 0 : CountInBucket(second, fingerprint.fingerprint));
}

bool RedisCuckooTable::Place(const CuckooFingerprint& fingerprint) {
  const uint64_t slot = Find(fingerprint, kFree);
  if (slot == kNoSlot) return false;
  Set(slot, fingerprint.fingerprint);
  ++items_;
  return true;
}

bool RedisCuckooTable::Take(const CuckooFingerprint& fingerprint) {
  const uint64_t slot = Find(fingerprint, fingerprint.fingerprint);
  if (slot == kNoSlot) return false;
  Free(slot);
  return true;
}

void RedisCuckooTable::Free(uint64_t slot) {
  Set(slot, kFree);
  --items_;
}

std::optional<CuckooFingerprint> RedisCuckooTable::FingerprintAt(uint64_t slot) const {
  const uint8_t fingerprint = Get(slot);
  if (fingerprint == kFree) return std::nullopt;
  const uint64_t bucket = slot / bucket_size_;
  return CuckooFingerprint{bucket, bucket ^ (fingerprint * kStep), fingerprint};
}

bool RedisCuckooTable::Kick(const CuckooFingerprint& fingerprint, uint32_t iterations) {
  uint64_t bucket = fingerprint.first & mask_;
  bool placed = false;
  const uint8_t hand = Walk(bucket, fingerprint.fingerprint, iterations, placed);
  if (placed) {
    ++items_;
  } else {
    WalkBack(bucket, hand, iterations);
  }
  return placed;
}

// Step i puts the fingerprint in hand into slot i of its bucket, round and round, and goes on with the one that was
// there, to that one's other bucket. Returns the fingerprint in hand at the end; if it was not placed, `bucket` is
// where it would go.
uint8_t RedisCuckooTable::Walk(uint64_t& bucket, uint8_t hand, uint32_t iterations, bool& placed) {
  for (uint32_t i = 0; i < iterations; ++i) {
    hand = Swap(bucket * bucket_size_ + i % bucket_size_, hand);
    bucket = OtherBucket(bucket, hand);
    if (const uint64_t slot = FindInBucket(bucket * bucket_size_, kFree, kNoSlot); slot != kNoSlot) {
      Set(slot, hand);
      placed = true;
      break;
    }
  }
  return hand;
}

// The same steps from the last to the first. The other bucket of a fingerprint's other bucket is where it came from, so
// that nothing needs to be remembered.
void RedisCuckooTable::WalkBack(uint64_t bucket, uint8_t hand, uint32_t iterations) {
  for (uint32_t i = iterations; i-- > 0;) {
    bucket = OtherBucket(bucket, hand);
    hand = Swap(bucket * bucket_size_ + i % bucket_size_, hand);
  }
}

}  // namespace bitsieve::core
