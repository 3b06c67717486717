// t_digest.h: quantiles of a stream of numbers, in memory that does not grow with the stream. They are the more exact
// the closer they are to the smallest and the largest.
//
// Idea        numbers that lie close together are kept as one node: their mean, and how many they are. In the middle a
//             node may stand for many, at the ends for few.
// Layout      two arrays of means and weights: first the merged nodes, ascending by mean, then those that were added
//             since. RedisBloom reserves them at once; here they grow as far as they are used.
// Operations  Add appends a node. Once the arrays are full, and before estimates, Compress sorts all of them and merges
//             neighbours from left to right. MergeFrom adds the nodes of another digest.
// Cost        16 bytes for each of at most 6 * compression + 10 nodes.
// Accuracy    the error of a quantile q is in proportion to q * (1 - q) / compression.
// Limits      kMaxCompression; weights together below 2^63.
// Threads     thread-compatible. Estimates compress, so they change the digest.
// Persisted   as RedisBloom does: TDIS-TYPE.
// References  Dunning, Ertl, "Computing Extremely Accurate Quantiles Using t-Digests", 2019. Order and rounding of all
//             steps are those of RedisBloom, so that answers are equal to the last digit; the source is compiled
//             without fused multiplication.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/result.h"

namespace bitsieve::core {

class TDigest {
 public:
  static constexpr double kMaxCompression = 357'913'939;

  struct Node {
    double mean = 0;
    int64_t weight = 0;
    bool operator==(const Node&) const = default;
  };
  // All that it consists of.
  struct State {
    double compression = 100;
    double min = std::numeric_limits<double>::max();
    double max = -std::numeric_limits<double>::max();
    std::vector<Node> nodes = {};
    uint64_t merged_nodes = 0;  // the first of them
    int64_t merged_weight = 0;
    int64_t unmerged_weight = 0;
    uint64_t compressions = 0;  // so far

    bool operator==(const State&) const = default;
  };

  // Makes an empty one. kInvalidArgument unless 0 < compression <= kMaxCompression.
  static Result<TDigest> Make(double compression);
  // Makes one from what was read back. kCorrupt if numbers contradict each other or are out of their range.
  static Result<TDigest> FromState(State state);

  const State& state() const { return state_; }
  // Returns how many nodes there may be.
  uint64_t capacity() const { return 6 * static_cast<uint64_t>(state_.compression) + 10; }
  uint64_t observations() const { return static_cast<uint64_t>(state_.merged_weight + state_.unmerged_weight); }
  // Returns the bytes that RedisBloom says such a digest takes: with room for all nodes.
  uint64_t reported_bytes() const { return 80 + 16 * capacity(); }
  uint64_t unmerged_nodes() const { return state_.nodes.size() - state_.merged_nodes; }

  // Adds a number, which is finite, so many times. Returns false, and adds nothing, if the weights were too large
  // together. May throw std::bad_alloc, and has added nothing then.
  bool Add(double value, int64_t weight = 1);
  // Sorts and merges all nodes.
  void Compress();
  // Forgets all numbers.
  void Reset();
  // Adds the nodes of another digest; compresses both before. Returns false if the weights would be too large: some
  // nodes are added then.
  bool MergeFrom(TDigest& other);

  // The estimates of an empty digest are NaN, unless stated otherwise. They compress.

  double Min() const { return observations() == 0 ? kNone : state_.min; }
  double Max() const { return observations() == 0 ? kNone : state_.max; }
  // Returns the number below which the share q of all numbers lies; q is in [0, 1].
  double Quantile(double q);
  // Returns the share of numbers below x, those equal to x counted half.
  double Cdf(double x);
  // Return how many numbers lie below and above x, those equal to x counted half: -2 if the digest is empty, -1 and
  // observations() for numbers beyond the ends.
  int64_t Rank(double x);
  int64_t ReverseRank(double x);
  // Return the number of a rank from below and from above, 0 for the first; an infinity beyond the last.
  double ByRank(int64_t rank);
  double ByReverseRank(int64_t rank);
  // Returns the mean of the numbers between two quantiles; 0 <= low < high <= 1.
  double TrimmedMean(double low, double high);

  // Sorts nodes by mean, as Compress does; of equal means in an order that depends on the algorithm. With `depth` 0 it
  // begins with a heap. Made known for tests.
  static void Sort(std::vector<Node>& nodes, size_t low, size_t high, unsigned depth);

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  explicit TDigest(State state) : state_(std::move(state)) {}
  // Returns the estimate at an index into all numbers; there are at least two nodes.
  double ValueAt(double index) const;
  double ByIndex(double index);

  State state_;
};

}  // namespace bitsieve::core
