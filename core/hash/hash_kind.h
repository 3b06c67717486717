// hash_kind.h: the hash functions that turn an item into a KeyHash, by number on disk. Thread-safe: plain values.
#pragma once

#include <cstdint>

namespace bitsieve::core {

// Persisted: a number is never reused.
enum class HashKind : uint8_t {
  kXxh3 = 1,         // XXH3-128 under the filter's seed
  kRedisBloom = 5,   // the pair of MurmurHash64A values that RedisBloom's Bloom filters step by; no seed
  kRedisCuckoo = 6,  // MurmurHash64A as RedisBloom's cuckoo filters use it, in both halves; no seed
};

}  // namespace bitsieve::core
