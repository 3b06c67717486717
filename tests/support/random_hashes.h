// random_hashes.h: random hashes of keys, the same ones for the same seed. Thread-safe: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline std::vector<KeyHash> RandomKeyHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<KeyHash> hashes(count);
  for (KeyHash& hash : hashes) hash = {random(), random()};
  return hashes;
}

}  // namespace bitsieve::core
