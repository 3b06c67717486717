// fingerprint_sizing.h: the arithmetic of ordered tables of fingerprints: widths, slots and error rates. Pure functions
// of numbers. n slots, of which the load a is taken; fingerprints are one of M = 2^r - 1 numbers. Thread-safe.
//
// The rate, worked out: let an absent item have a fingerprint that the fraction x of all fingerprints exceeds. It
// passes the larger ones from its home on, which lie as if nothing else were there: a table of load b = a x. It is
// taken for a known one if a fingerprint equal to its own lies where the first slot free of larger ones is; which one
// that began its way anywhere in that run of slots does. The run that a random home falls into has, with its free end,
// 1 / (1 - b)^2 slots on average (the run lengths are Borel distributed), in each of which a / M equal ones begin.
// Averaged over x:
//
//   p = a / M * integral over x from 0 to 1 of dx / (1 - a x)^2 = a / (1 - a) / M
//
// An unordered table compares with all of the run after the home: p = (1 / (1 - a)^2 - 1) / 2 / M (Knuth, "The Art of
// Computer Programming", vol. 3, 6.4, unsuccessful searches): 7.5 / M instead of 3 / M at a = 0.75.
#pragma once

#include <cstdint>
#include <optional>

namespace bitsieve::core {

inline constexpr double kMaxFingerprintLoad =
    0.8;  // beyond, adding walks far: (1 + 1 / (1 - a)^2) / 2 slots, 13 at 0.8
inline constexpr uint32_t kMaxSlotFingerprintBits = 32;

// Returns the rate at which absent items are found. 0 <= load < 1.
double FingerprintRate(uint32_t fingerprint_bits, double load);

struct FingerprintSize {
  uint32_t fingerprint_bits;  // 1 to kMaxSlotFingerprintBits
  uint64_t slots;             // above the capacity, so that one is always free
};
// The fewest bits that keep `rate` with `capacity` items: the width that does at the largest load, or one bit less at a
// lower load. Nothing if more than kMaxSlotFingerprintBits are needed. capacity in [1, 2^48].
std::optional<FingerprintSize> FingerprintSizeFor(uint64_t capacity, double rate);
// The smallest rate that some size keeps: at a load of 2/3.
double SmallestFingerprintRate();

}  // namespace bitsieve::core
