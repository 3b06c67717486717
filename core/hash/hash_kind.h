// hash_kind.h: the hash functions that turn an item into a KeyHash, by number on disk and by name on the wire.
// docs/filters/hashing.md compares those that a user can choose from. Thread-safe: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bitsieve::core {

// Persisted: a number is never reused.
enum class HashKind : uint8_t {
  kXxh3 = 1,          // XXH3-128 under the filter's seed
  kMurmur3 = 2,       // MurmurHash3_x64_128 under the filter's seed
  kFnv1a = 3,         // FNV-1a of 128 bits over the filter's seed and the item, then mixed
  kSip = 4,           // SipHash-2-4 of 128 bits, keyed by the filter's seed
  kRedisBloom = 5,    // the pair of MurmurHash64A values that RedisBloom's Bloom filters step by; no seed
  kRedisCuckoo = 6,   // MurmurHash64A as RedisBloom's cuckoo filters use it, in both halves; no seed
  kRedisBloom32 = 7,  // the pair of MurmurHash2 values that RedisBloom's first Bloom filters step by; no seed
  kValkeyBloom = 8,   // the pair of SipHash-1-3 values that valkey-bloom's filters step by; their type has the seed
};

// The last of them.
inline constexpr HashKind kNewestHashKind = HashKind::kValkeyBloom;

inline constexpr bool HasSeed(HashKind kind) {
  return kind != HashKind::kRedisBloom && kind != HashKind::kRedisCuckoo && kind != HashKind::kRedisBloom32 &&
         kind != HashKind::kValkeyBloom;
}

struct HashKindRow {
  HashKind kind;
  std::string_view name;  // as in HASH name and BF.INFO
};

// Those that HASH chooses from. Each of the others belongs to a filter type, which has no choice.
inline constexpr std::array kHashKinds{
    HashKindRow{HashKind::kXxh3, "xxh3"},
    HashKindRow{HashKind::kMurmur3, "murmur3"},
    HashKindRow{HashKind::kFnv1a, "fnv1a"},
    HashKindRow{HashKind::kSip, "sip"},
};

// "unknown" for one that cannot be chosen.
std::string_view HashKindName(HashKind kind);
// Case-insensitive; nothing for an unknown name.
std::optional<HashKind> HashKindFromName(std::string_view name);
// "xxh3, murmur3, fnv1a, sip": for error texts.
std::string_view HashKindNames();

}  // namespace bitsieve::core
