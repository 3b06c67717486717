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

}  // namespace bitsieve::core
