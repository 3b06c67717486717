// block_kernel_loops.h: the loops of a block kernel, for any instruction set. Only the sources block_kernel_*.cc
// include it; everything is in an anonymous namespace, since each includes it with its own compiler flags.
//
// A `Line` offers: Pattern(word, lanes); Covers(line, pattern), which may run while another thread sets bits; and
// Set(line, pattern) -> bits newly set.
//
// No branch depends on what a line holds, except where adding has to stop or to notify: for random items such a branch
// is mispredicted half of the time, which costs more than all the rest. Each loop has the array by value, so that the
// compiler need not load it again after every byte that it writes.
#pragma once

#include <cstring>

#include "core/families/bloom/block_kernel.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {
namespace {

BITSIEVE_ALWAYS_INLINE uint16_t LanesOf(const BlockArray& array, const KeyHash& hash, unsigned line) {
  return array.lane_sets[(hash.low >> (line * kLaneSetBits)) & (kLaneSets - 1)];
}

BITSIEVE_ALWAYS_INLINE uint32_t WordOf(const KeyHash& hash, unsigned line) {
  return static_cast<uint32_t>(hash.high >> (line * 32));
}

template <class Line, class Pattern>
BITSIEVE_ALWAYS_INLINE unsigned SetLine(const BlockArray& array, std::byte* line, const Pattern& pattern) {
  array.memory->BeforeWrite(static_cast<uint64_t>(line - array.lines));
  return Line::Set(line, pattern);
}

template <class Line>
struct OneLine {
  std::byte* line;
  decltype(Line::Pattern(0, 0)) pattern;

  BITSIEVE_ALWAYS_INLINE OneLine(const BlockArray& array, const KeyHash& hash)
      : line(array.lines + FirstLine(array, hash) * 64),
        pattern(Line::Pattern(WordOf(hash, 0), LanesOf(array, hash, 0))) {}
  BITSIEVE_ALWAYS_INLINE bool Covered() const { return Line::Covers(line, pattern); }
  // Returns the number of bits newly set.
  BITSIEVE_ALWAYS_INLINE unsigned Set(const BlockArray& array) const { return SetLine<Line>(array, line, pattern); }
  // Does what Set does without notifying the memory, so no image may be open. Sets the bits in `instead` if it is not
  // null.
  BITSIEVE_ALWAYS_INLINE unsigned SetUnseen(std::byte* instead) const {
    return Line::Set(instead != nullptr ? instead : line, pattern);
  }
};

template <class Line>
struct TwoLines {
  std::byte* line[2];
  decltype(Line::Pattern(0, 0)) pattern[2];

  BITSIEVE_ALWAYS_INLINE TwoLines(const BlockArray& array, const KeyHash& hash)
      : pattern{Line::Pattern(WordOf(hash, 0), LanesOf(array, hash, 0)),
                Line::Pattern(WordOf(hash, 1), LanesOf(array, hash, 1))} {
    const uint64_t first = FirstLine(array, hash);
    line[0] = array.lines + first * 64;
    line[1] = array.lines + SecondLine(array, hash, first) * 64;
  }
  BITSIEVE_ALWAYS_INLINE bool Covered() const {
    bool covered = Line::Covers(line[0], pattern[0]);
    covered &= Line::Covers(line[1], pattern[1]);
    return covered;
  }
  BITSIEVE_ALWAYS_INLINE unsigned Set(const BlockArray& array) const {
    return SetLine<Line>(array, line[0], pattern[0]) + SetLine<Line>(array, line[1], pattern[1]);
  }
  BITSIEVE_ALWAYS_INLINE unsigned SetUnseen(std::byte* instead) const {
    return Line::Set(instead != nullptr ? instead : line[0], pattern[0]) +
           Line::Set(instead != nullptr ? instead : line[1], pattern[1]);
  }
};

template <class Place>
void MayContainLoop(BlockArray array, const KeyHash* hashes, size_t count, uint8_t* present) {
  for (size_t i = 0; i < count; ++i) present[i] |= static_cast<uint8_t>(Place(array, hashes[i]).Covered());
}

// Adds hashes where there is room for all and no image is open. An item is new if it set a bit; a skipped item is set
// in a line that is already full, which leaves the array unchanged.
template <class Place>
AddProgress AddAllLoop(BlockArray array, const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added) {
  alignas(kLineBytes) std::byte full[kLineBytes];
  std::memset(full, 0xFF, sizeof full);
  size_t all_added = 0, all_bits_set = 0;  // in registers: in memory, `added` might point to them
  for (size_t i = 0; i < count; ++i) {
    const unsigned bits_set = Place(array, hashes[i]).SetUnseen(skip[i] != 0 ? full : nullptr);
    added[i] = static_cast<uint8_t>(bits_set != 0);
    all_added += bits_set != 0;
    all_bits_set += bits_set;
  }
  return {count, all_added, all_bits_set};
}

template <class Place>
AddProgress AddLoop(BlockArray array, const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added,
                    uint64_t room) {
  AddProgress progress{0, 0, 0};
  for (; progress.done < count; ++progress.done) {
    added[progress.done] = 0;
    if (skip[progress.done] != 0) continue;
    const Place place(array, hashes[progress.done]);
    if (place.Covered()) continue;
    if (progress.added == room) break;
    progress.bits_set += place.Set(array);
    added[progress.done] = 1;
    ++progress.added;
  }
  return progress;
}

template <class Place>
AddProgress AddTo(const BlockArray& array, const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added,
                  uint64_t room) {
  if (room >= count && !array.memory->has_images()) return AddAllLoop<Place>(array, hashes, count, skip, added);
  return AddLoop<Place>(array, hashes, count, skip, added, room);
}

template <class Line>
void MayContain(const BlockArray& array, const KeyHash* hashes, size_t count, uint8_t* present) {
  if (array.lines_per_item == 1) return MayContainLoop<OneLine<Line>>(array, hashes, count, present);
  return MayContainLoop<TwoLines<Line>>(array, hashes, count, present);
}

template <class Line>
AddProgress Add(const BlockArray& array, const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added,
                uint64_t room) {
  if (array.lines_per_item == 1) return AddTo<OneLine<Line>>(array, hashes, count, skip, added, room);
  return AddTo<TwoLines<Line>>(array, hashes, count, skip, added, room);
}

template <class Line>
unsigned AddOne(const BlockArray& array, const KeyHash& hash) {
  if (array.lines_per_item == 1) return OneLine<Line>(array, hash).SetUnseen(nullptr);
  return TwoLines<Line>(array, hash).SetUnseen(nullptr);
}

}  // namespace
}  // namespace bitsieve::core
