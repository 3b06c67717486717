#include "core/hash/fnv1a.h"

#include "core/base/bytes.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {

Fnv1aState Fnv1a(std::string_view bytes, Fnv1aState state) {
  constexpr Fnv1aState kPrime = static_cast<Fnv1aState>(1) << 88 | 0x13B;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    state *= kPrime;
  }
  return state;
}

KeyHash HashFnv1a(std::string_view item, uint64_t seed) {
  const std::string_view seed_bytes(reinterpret_cast<const char*>(&seed), sizeof seed);
  const Fnv1aState state = Fnv1a(item, Fnv1a(seed_bytes));
  return Mix128({static_cast<uint64_t>(state), static_cast<uint64_t>(state >> 64)});
}

}  // namespace bitsieve::core
