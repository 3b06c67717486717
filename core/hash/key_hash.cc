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

namespace {

[[gnu::flatten, gnu::noinline]] void HashLongItemInto(KeyHash& hash, std::string_view item, uint64_t seed) {
  hash = HashItem(item, seed);
}

}  // namespace

// The code for short items needs fewer registers, which have to be saved first.
[[gnu::flatten]] void HashItemInto(KeyHash& hash, std::string_view item, uint64_t seed) {
  constexpr size_t kShort = 16;
  if (item.size() > kShort) return HashLongItemInto(hash, item, seed);
  hash = HashItem(item, seed);
}

namespace {

// Calls use(hash), where hash(item) is the hash function of that kind under the seed.
template <class Use>
BITSIEVE_ALWAYS_INLINE decltype(auto) WithHash(HashKind kind, uint64_t seed, const Use& use) {
  switch (kind) {
    case HashKind::kXxh3:
      return use([seed](std::string_view item) { return HashItem(item, seed); });
    case HashKind::kMurmur3:
      return use([seed](std::string_view item) { return MurmurHash3(item, seed); });
    case HashKind::kFnv1a:
      return use([seed](std::string_view item) { return HashFnv1a(item, seed); });
    case HashKind::kSip:
      return use([key = SipKeyOfSeed(seed)](std::string_view item) { return SipHash(item, key); });
    case HashKind::kRedisBloom:
      return use([](std::string_view item) {
        constexpr uint64_t kSeed = 0xc6a4a7935bd1e995;
        const uint64_t first = MurmurHash64A(item, kSeed);
        return KeyHash{first, MurmurHash64A(item, first)};
      });
    case HashKind::kRedisBloom32:
      return use([](std::string_view item) {
        constexpr uint32_t kSeed = 0x9747b28c;
        const uint32_t first = MurmurHash2(item, kSeed);
        return KeyHash{first, MurmurHash2(item, first)};
      });
    case HashKind::kRedisCuckoo:
      return use([](std::string_view item) {
        const uint64_t hash = MurmurHash64A(item, 0);
        return KeyHash{hash, hash};
      });
    case HashKind::kValkeyBloom:
      break;  // hashed by its type, which has the seed (FilterTypeRow::own_seed)
  }
  __builtin_unreachable();
}

}  // namespace

KeyHash HashItem(HashKind kind, std::string_view item, uint64_t seed) {
  return WithHash(kind, seed, [item](const auto& hash) { return hash(item); });
}

void HashItems(HashKind kind, std::span<const std::string_view> items, uint64_t seed, std::span<KeyHash> hashes) {
  if (kind == HashKind::kXxh3) {
    // Called for each item: inlined into this loop it spills, and batches of additions took a fifth longer (GCC 12).
    for (size_t i = 0; i < items.size(); ++i) HashItemInto(hashes[i], items[i], seed);
    return;
  }
  WithHash(kind, seed, [&](const auto& hash) {
    for (size_t i = 0; i < items.size(); ++i) hashes[i] = hash(items[i]);
  });
}

}  // namespace bitsieve::core
