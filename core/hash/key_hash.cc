#include "core/hash/key_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/hash/fnv1a.h"
#include "core/hash/murmur_hash2.h"
#include "core/hash/murmur_hash3.h"
#include "core/hash/sip_hash.h"

namespace bitsieve::core {

KeyHash HashItem(std::string_view item, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(item.data(), item.size(), seed);
  return {hash.low64, hash.high64};
}

KeyHash HashItem(HashKind kind, std::string_view item, uint64_t seed) {
  switch (kind) {
    case HashKind::kXxh3:
      return HashItem(item, seed);
    case HashKind::kMurmur3:
      return MurmurHash3(item, seed);
    case HashKind::kFnv1a:
      return HashFnv1a(item, seed);
    case HashKind::kSip:
      return SipHash(item, SipKeyOfSeed(seed));
    case HashKind::kRedisBloom: {
      constexpr uint64_t kSeed = 0xc6a4a7935bd1e995;
      const uint64_t first = MurmurHash64A(item, kSeed);
      return {first, MurmurHash64A(item, first)};
    }
    case HashKind::kRedisBloom32: {
      constexpr uint32_t kSeed = 0x9747b28c;
      const uint32_t first = MurmurHash2(item, kSeed);
      return {first, MurmurHash2(item, first)};
    }
    case HashKind::kRedisCuckoo: {
      const uint64_t hash = MurmurHash64A(item, 0);
      return {hash, hash};
    }
  }
  __builtin_unreachable();
}

namespace {

// With the hash function in the loop, not called by it: its results then never pass through memory as two words that
// are read as one vector, which would have to wait until both have reached the cache.
[[gnu::flatten]] void HashItems(std::span<const std::string_view> items, uint64_t seed, std::span<KeyHash> hashes) {
  for (size_t i = 0; i < items.size(); ++i) {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(items[i].data(), items[i].size(), seed);
    hashes[i] = {hash.low64, hash.high64};
  }
}

}  // namespace

void HashItems(HashKind kind, std::span<const std::string_view> items, uint64_t seed, std::span<KeyHash> hashes) {
  if (kind == HashKind::kXxh3) return HashItems(items, seed, hashes);
  for (size_t i = 0; i < items.size(); ++i) hashes[i] = HashItem(kind, items[i], seed);
}

}  // namespace bitsieve::core
