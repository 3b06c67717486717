// random_hashes.h: hashes of keys that nobody has seen, the same ones for a seed.
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
