// distinct_counter.h: how many different items there are among those that were added, estimated in 256 KiB
// regardless of their number. Thread-compatible.
//
// Idea        an item's hash chooses one of 2^18 registers; each keeps the longest run of zeros that the rest of its
//             hashes began with. The estimate is from how many registers have which length, by a formula that needs
//             neither a correction for few items nor one for many (Ertl, "New cardinality estimation algorithms for
//             HyperLogLog sketches", 2017, section 4), of the sketch that is HyperLogLog's (Flajolet, Fusy, Gandouet,
//             Meunier, "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm", 2007).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitsieve::cli {

class DistinctCounter {
 public:
  // The standard error of the estimate, relative to the true number: 1.04 / sqrt(registers). Two thirds of all
  // estimates are within it, 19 of 20 within twice as much.
  static constexpr double kStandardError = 1.04 / 512;

  void Add(std::string_view item);
  double Estimate() const;
  // Returns the number of items to make a filter for: two standard errors above the estimate, but no more than were
  // added.
  uint64_t UpperEstimate() const;

 private:
  static constexpr uint32_t kIndexBits = 18;
  static constexpr size_t kRegisters = size_t{1} << kIndexBits;
  static constexpr uint32_t kMaxZeros = 64 - kIndexBits;  // a register is 0 if no item chose it, else zeros + 1

  std::array<uint8_t, kRegisters> registers_{};
  uint64_t added_ = 0;  // repeated items among them
};

}  // namespace bitsieve::cli
