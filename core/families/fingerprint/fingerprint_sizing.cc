#include "core/families/fingerprint/fingerprint_sizing.h"

#include <algorithm>
#include <cmath>

namespace bitsieve::core {

namespace {

double Fingerprints(uint32_t fingerprint_bits) { return std::exp2(fingerprint_bits) - 1; }

// The largest load that keeps the rate, except for the limit: FingerprintRate solved for it.
double SlotLoadFor(uint32_t fingerprint_bits, double rate) {
  const double odds = rate * Fingerprints(fingerprint_bits);
  return std::min(odds / (1 + odds), kMaxFingerprintLoad);
}

double BitsPerItem(uint32_t fingerprint_bits, double rate) {
  return fingerprint_bits / SlotLoadFor(fingerprint_bits, rate);
}

}  // namespace

double FingerprintRate(uint32_t fingerprint_bits, double load) {
  return load / (1 - load) / Fingerprints(fingerprint_bits);
}

std::optional<FingerprintSize> FingerprintSizeFor(uint64_t capacity, double rate) {
  uint32_t bits = 2;  // so that there is a bit less
  while (bits <= kMaxSlotFingerprintBits && FingerprintRate(bits, kMaxFingerprintLoad) > rate) ++bits;
  // A bit less costs a load of at least 2/3 for 4/5: less memory if the load need not be lowered that far.
  if (bits > kMaxSlotFingerprintBits || BitsPerItem(bits - 1, rate) < BitsPerItem(bits, rate)) --bits;
  if (rate < SmallestFingerprintRate()) return std::nullopt;
  const auto slots = static_cast<uint64_t>(std::ceil(static_cast<double>(capacity) / SlotLoadFor(bits, rate)));
  return FingerprintSize{bits, std::max(slots, capacity + 1)};
}

double SmallestFingerprintRate() { return 2 / Fingerprints(kMaxSlotFingerprintBits); }

}  // namespace bitsieve::core
