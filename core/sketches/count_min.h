// count_min.h: how often each item of a stream occurred, in memory that does not grow with the stream. Too high at
// times, never too low until a counter is full.
//
// Idea        each row has a hash function of its own, which gives an item one of its counters; an occurrence adds one
//             to the item's counter in every row. Other items share counters by chance, so the smallest of an item's
//             counters is the closest to the truth.
// Layout      `depth` rows of `width` counters of 32 bits, row by row.
// Hashing     the column of row i is MurmurHash2(item, seed i) modulo the width.
// Operations  Increase adds to a counter of each row, which stays at kFull once it would pass it. Count returns the
//             smallest. Merge makes a weighted sum of other sketches.
// Cost        4 bytes * width * depth; an operation touches `depth` cache lines, which are loaded together.
// Accuracy    with width = 2 / error and depth = log2(1 / probability), a count is at most error * total() too high,
//             except with that probability.
// Limits      kMaxCellsBytes; kFull occurrences of an item.
// Threads     thread-compatible.
// Persisted   as RedisBloom does: CMSk-TYPE.
// References  Cormode, Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch and its Applications",
//             2005. The sizes and hashes are those of RedisBloom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {

struct CountMinShape {
  uint64_t width = 0;
  uint64_t depth = 0;

  bool operator==(const CountMinShape&) const = default;
};

// Returns the shape for an error, as a share of the total, that is passed with a probability; both in (0, 1). The
// depth is worked out in `float`, as RedisBloom does; it is 0 if the probability is that near 1. Nothing if the width
// is beyond 2^64.
std::optional<CountMinShape> ShapeForError(double error, double probability);

class CountMin {
 public:
  static constexpr uint32_t kFull = UINT32_MAX;
  static constexpr uint64_t kMaxCellsBytes = uint64_t{1} << 46;

  // Makes an empty sketch. kInvalidArgument if a number is 0 or there would be more than kMaxCellsBytes; kOutOfMemory
  // if the budget, which outlives the sketch, refuses.
  static Result<CountMin> Make(const CountMinShape& shape, MemoryBudget& budget);
  // Makes one from bytes that were read back: its counters, row by row, little-endian. kCorrupt if their number is
  // wrong; else as Make.
  static Result<CountMin> FromBytes(const CountMinShape& shape, uint64_t total, std::span<const std::byte> cells,
                                    MemoryBudget& budget);

  const CountMinShape& shape() const { return shape_; }
  // Returns the sum of all increments, modulo 2^64.
  uint64_t total() const { return total_; }
  // Returns the bytes that RedisBloom says such a sketch takes.
  uint64_t reported_bytes() const { return 32 + CellsBytes(shape_); }
  // Returns the bytes that FromBytes takes.
  std::span<const std::byte> cells() const { return memory_.bytes().first(CellsBytes(shape_)); }

  // Counts `occurrences` more of an item. Returns what Count does afterwards: kFull if a counter was full before or is
  // now.
  uint32_t Increase(std::string_view item, uint64_t occurrences);
  uint32_t Count(std::string_view item) const;

  // A sketch to be merged; its counters count `weight` times.
  struct Weighted {
    const CountMin* sketch;
    int64_t weight = 1;
  };
  // Replaces the content by the weighted sum of sketches of the same shape, of which this may be one. Returns false,
  // and changes nothing, if a counter's sum were negative or above kFull, or a total or a partial sum beyond 64 bits.
  bool Merge(std::span<const Weighted> sources);

 private:
  CountMin(const CountMinShape& shape, BitMemory memory) : shape_(shape), memory_(std::move(memory)) {}
  static uint64_t CellsBytes(const CountMinShape& shape) { return shape.width * shape.depth * sizeof(uint32_t); }
  uint32_t* words() const { return reinterpret_cast<uint32_t*>(memory_.data()); }
  // Returns the item's counter in a row.
  uint32_t* CellOf(std::string_view item, uint64_t row) const;
  template <class Use>
  void ForCells(std::string_view item, const Use& use) const;

  CountMinShape shape_;
  BitMemory memory_;
  uint64_t total_ = 0;
};

}  // namespace bitsieve::core
