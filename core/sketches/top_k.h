// top_k.h: the k most frequent items of a stream, and about how often they occurred.
//
// Idea        a table of counters, in which frequent items push out rare ones: an item that meets another's counter
//             lowers it, the less likely the larger it is, and takes it over at 0. The items whose counters are the
//             largest are kept by name in a heap.
// Layout      `depth` rows of `width` buckets of a fingerprint and a count; an array of k entries, ordered as a heap
//             with the smallest count first.
// Hashing     the fingerprint is MurmurHash2(item, seed 1919), the column of row i MurmurHash2(item, seed i) modulo the
//             width.
// Chance      a counter c is lowered with the probability decay^c. Draws come from a generator of the sketch's own,
//             whose state is the number of draws so far (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
//             Generators", 2014): so the same commands have the same effect on every server. It is saved in the bytes
//             of the first entry in which RedisBloom saves an address, and which nobody reads.
// Operations  Add counts an item and may expel another one from the heap. Contains looks into the heap, Count into the
//             buckets too, List sorts the heap.
// Cost        8 bytes * width * depth, and 24 bytes and the item for each of k. An addition touches `depth` cache lines
//             and goes through the heap's fingerprints.
// Limits      kMaxBytes for the buckets, and for the heap. Fingerprints have 32 bits.
// Threads     thread-compatible.
// Persisted   as RedisBloom does: TopK-TYPE.
// References  Gong, Yang, Zhang et al., "HeavyKeeper: An Accurate Algorithm for Finding Top-k Elephant Flows", 2018.
//             The rules are those of RedisBloom.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bitsieve::core {

struct TopKShape {
  uint32_t k = 0;
  uint32_t width = 8;
  uint32_t depth = 7;
  double decay = 0.9;  // in (0, 1]

  bool operator==(const TopKShape&) const = default;
};

class TopK {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 36;

  struct Bucket {
    uint32_t fingerprint = 0;
    uint32_t count = 0;  // 0: it is free
    bool operator==(const Bucket&) const = default;
  };
  // One that is not in use is as it is made.
  struct Entry {
    uint32_t fingerprint = 0;
    uint32_t count = 0;
    std::string item = {};
    bool operator==(const Entry&) const = default;
  };
  // All that it consists of.
  struct State {
    TopKShape shape;
    std::vector<Bucket> buckets = {};  // row by row
    std::vector<Entry> heap = {};      // k, in the order of the array
    uint64_t draws = 0;

    bool operator==(const State&) const = default;
  };

  // Returns how many bytes one of this shape takes, without items; 2^64 - 1 if it cannot be made.
  static uint64_t BytesOf(const TopKShape& shape);
  // Makes an empty one. kInvalidArgument if a number is 0, the decay is out of its range, or it would take more than
  // kMaxBytes; kOutOfMemory if the system refuses.
  static Result<TopK> Make(const TopKShape& shape);
  // Makes one from what was read back. kCorrupt if the sizes do not fit the shape; else as Make.
  static Result<TopK> FromState(State state);

  const State& state() const { return state_; }
  const TopKShape& shape() const { return state_.shape; }
  // Returns the bytes that RedisBloom says such a sketch takes: without its items.
  uint64_t reported_bytes() const { return 2088 + 8 * state_.buckets.size() + 24 * state_.heap.size(); }

  // Counts `increment` more of an item, at most 2^31. Returns the item that is no longer among the k, if one is not.
  std::optional<std::string> Add(std::string_view item, uint32_t increment);
  // Returns whether the item is among the k.
  bool Contains(std::string_view item) const;
  // Returns about how often the item occurred; 0 if it is not known.
  uint32_t Count(std::string_view item) const;
  // Returns the entries with a count, the most frequent first; of equal ones the first of the array.
  std::vector<const Entry*> List() const;

 private:
  static constexpr uint32_t kDecays = 256;

  explicit TopK(State state);
  static Status Check(const TopKShape& shape);
  // Counts the item in a row. Returns its counter there afterwards; 0 if it has none.
  uint32_t AddToRow(Bucket& bucket, uint32_t fingerprint, uint32_t increment);
  const Bucket& BucketOf(std::string_view item, uint32_t row) const;
  Bucket& BucketOf(std::string_view item, uint32_t row) {
    return const_cast<Bucket&>(static_cast<const TopK&>(*this).BucketOf(item, row));
  }
  // Returns the index of the item's entry; k if it has none.
  uint32_t Find(std::string_view item, uint32_t fingerprint) const;
  void SiftDown(uint32_t index);
  double DecayAt(uint32_t count) const;
  // Draws a number in [0, 1).
  double Draw();

  State state_;
  std::array<double, kDecays> decays_;  // decay^i
};

}  // namespace bitsieve::core
