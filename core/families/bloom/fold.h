// fold.h: the arithmetic by which arrays of bits become smaller without their items. Where an item's place in m units
// is floor(hash * m / 2^64), its place in m / d units is that, divided by d: each unit of the small array is the OR of
// d neighbouring units of the large one. Units are bits, or lines of 512. Thread-safe: constants and free functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bitsieve::core {

// Returns the size of an array that needs `units`, rounded up so that it can be folded by small numbers, at a cost of
// at most 1%: to a multiple of the largest factorial up to 8! that is at most a hundredth of it. Every number up to n
// divides n!, and n! divides the larger ones.
uint64_t FoldableSize(uint64_t units);

// Words of an array, of which those beyond the end are 0. Other threads may be setting bits.
class FoldSource {
 public:
  FoldSource(const std::byte* bytes, uint64_t size_bytes)
      : words_(reinterpret_cast<const uint64_t*>(bytes)), count_(size_bytes / sizeof(uint64_t)) {}
  uint64_t operator[](uint64_t i) const { return i < count_ ? __atomic_load_n(words_ + i, __ATOMIC_RELAXED) : 0; }

 private:
  const uint64_t* words_;  // aligned to words
  uint64_t count_;
};

// Folds bits.
class BitFold {
 public:
  explicit BitFold(uint64_t divisor);  // 2 or more
  // Sets to[i] to word first + i of the small array.
  void operator()(const FoldSource& from, uint64_t first, std::span<uint64_t> to) const;

 private:
  static constexpr unsigned kSteps = 6;

  // Moves the bits of a mask to the lowest places, in order: Warren, "Hacker's Delight", 2nd edition, 2012, section
  // 7-4.
  struct Compression {
    uint64_t mask;
    std::array<uint64_t, kSteps> moves;
    unsigned bits;
  };
  static Compression Compress(uint64_t mask);
  template <class CompressWord>
  void FewToOne(const FoldSource& from, uint64_t first, std::span<uint64_t> to, const CompressWord& compress) const;
  void ManyToOne(const FoldSource& from, uint64_t first, std::span<uint64_t> to) const;

  uint64_t divisor_;
  std::vector<Compression> of_word_;  // of each of the `divisor` words that become one; none if there are many
};

// Folds lines of 512 bits. Its spans are of whole lines.
class LineFold {
 public:
  explicit LineFold(uint64_t divisor) : divisor_(divisor) {}
  void operator()(const FoldSource& from, uint64_t first, std::span<uint64_t> to) const;

 private:
  uint64_t divisor_;
};

}  // namespace bitsieve::core
