// random.h: the numbers that a simulation draws; the same for the same seed on every machine (SplitMix64: Steele, Lea,
// Flood, "Fast Splittable Pseudorandom Number Generators", 2014). Thread-compatible.
#pragma once

#include <cstdint>

namespace bitsieve::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }
  // Returns a number from 0 to `limit` - 1; `limit` is at least 1.
  uint64_t Below(uint64_t limit) { return static_cast<uint64_t>(static_cast<unsigned __int128>(Next()) * limit >> 64); }
  // Returns a number from `first` to `last`.
  uint64_t Between(uint64_t first, uint64_t last) { return first + Below(last - first + 1); }
  bool OneIn(uint64_t count) { return Below(count) == 0; }
  // Returns a number up to `last` whose order of magnitude is random: small ones are as likely as large ones.
  uint64_t Magnitude(uint64_t last) {
    uint64_t limit = 1;
    while (limit < last && !OneIn(4)) limit *= 4;
    return Below(limit < last ? limit + 1 : last + 1);
  }

 private:
  uint64_t state_;
};

}  // namespace bitsieve::simulation
