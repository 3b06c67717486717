#include "core/families/redisbloom/redis_cuckoo_slots.h"

namespace bitsieve::core {

namespace {

constexpr uint8_t kFree = 0;

}  // namespace

void RedisCuckooSlots::Set(uint64_t slot, uint8_t fingerprint) const {
  if (memory_ != nullptr) memory_->BeforeWrite(slot);
  __atomic_store_n(AddressOf(slot), fingerprint, __ATOMIC_RELEASE);
}

uint8_t RedisCuckooSlots::Swap(uint64_t slot, uint8_t fingerprint) const {
  const uint8_t was = Get(slot);
  Set(slot, fingerprint);
  return was;
}

uint64_t RedisCuckooSlots::CountInBucket(uint64_t slot, uint8_t fingerprint) const {
  uint64_t count = 0;
  for (const uint64_t end = slot + bucket_size_; slot < end; ++slot) count += Get(slot) == fingerprint;
  return count;
}

uint64_t RedisCuckooSlots::Count(const CuckooFingerprint& fingerprint) const {
  const uint64_t first = SlotOf(fingerprint.first), second = SlotOf(fingerprint.second);
  return CountInBucket(first, fingerprint.fingerprint) +
         (first == second ? 0 : CountInBucket(second, fingerprint.fingerprint));
}

bool RedisCuckooSlots::Place(const CuckooFingerprint& fingerprint) const {
  const uint64_t slot = Find(fingerprint, kFree);
  if (slot == kNoSlot) return false;
  Set(slot, fingerprint.fingerprint);
  return true;
}

bool RedisCuckooSlots::Take(const CuckooFingerprint& fingerprint) const {
  const uint64_t slot = Find(fingerprint, fingerprint.fingerprint);
  if (slot == kNoSlot) return false;
  Free(slot);
  return true;
}

void RedisCuckooSlots::Free(uint64_t slot) const { Set(slot, kFree); }

std::optional<CuckooFingerprint> RedisCuckooSlots::FingerprintAt(uint64_t slot) const {
  const uint8_t fingerprint = Get(slot);
  if (fingerprint == kFree) return std::nullopt;
  const uint64_t bucket = slot / bucket_size_;
  return CuckooFingerprint{bucket, bucket ^ (fingerprint * kStep), fingerprint};
}

bool RedisCuckooSlots::Kick(const CuckooFingerprint& fingerprint, uint32_t iterations) const {
  uint64_t bucket = fingerprint.first & mask_;
  bool placed = false;
  const uint8_t hand = Walk(bucket, fingerprint.fingerprint, iterations, placed);
  if (!placed) WalkBack(bucket, hand, iterations);
  return placed;
}

// Step i puts the fingerprint in hand into slot i of its bucket, round and round, and goes on with the one that was
// there, to that one's other bucket. Returns the fingerprint in hand at the end; if it was not placed, `bucket` is
// where it would go.
uint8_t RedisCuckooSlots::Walk(uint64_t& bucket, uint8_t hand, uint32_t iterations, bool& placed) const {
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
void RedisCuckooSlots::WalkBack(uint64_t bucket, uint8_t hand, uint32_t iterations) const {
  for (uint32_t i = iterations; i-- > 0;) {
    bucket = OtherBucket(bucket, hand);
    hand = Swap(bucket * bucket_size_ + i % bucket_size_, hand);
  }
}

}  // namespace bitsieve::core
