// pattern_index.h: the patterns that have subscribers, by the literal bytes that they begin with: a channel is compared
// only with those that begin as it does. Patterns that begin with a star are compared with every channel.
// Thread-compatible.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/pubsub/audience.h"

namespace bitsieve::server {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

struct Pattern {
  std::shared_ptr<const std::string> text;
  Audience audience;
  size_t place = 0;  // in its bucket
};
using PatternPtr = std::shared_ptr<Pattern>;

class PatternIndex {
 public:
  // Null if there is none.
  PatternPtr Find(std::string_view text) const;
  // `pattern` is not there. Throws std::bad_alloc, and has done nothing then.
  void Insert(const PatternPtr& pattern);
  void Erase(const PatternPtr& pattern) noexcept;
  size_t size() const { return by_text_.size(); }

  // About what it takes, in nanoseconds, to compare the channel with all patterns that begin as it does.
  uint64_t CostOf(std::string_view channel) const;

  // Visits all of these.
  template <class Visit>
  void ForEach(std::string_view channel, Visit&& visit) const {
    for (size_t prefix = 0; prefix <= std::min(channel.size(), kMaxPrefix); ++prefix) {
      const Bucket* const bucket = BucketOf(channel, prefix);
      if (bucket != nullptr) std::for_each(bucket->patterns.begin(), bucket->patterns.end(), visit);
    }
  }

  // A walk over the patterns that begin as a channel does. The index may change between its steps: what is there from
  // the first to the last one is visited, perhaps twice.
  struct Walk {
    size_t prefix = 0;       // bytes of the prefixes that are visited now
    size_t left = SIZE_MAX;  // patterns of the bucket that were not visited
  };
  static constexpr size_t kStep = 64;
  // Replaces `step` by the next kStep patterns; empty at the end. Throws std::bad_alloc, and may be called again then.
  void Next(std::string_view channel, Walk& walk, std::vector<PatternPtr>& step) const;

 private:
  // Longer ones share a bucket with others that begin with the same bytes.
  static constexpr size_t kMaxPrefix = 63;

  struct Bucket {
    std::vector<PatternPtr> patterns;
    uint64_t bytes = 0;  // of their texts
  };

  static std::string_view PrefixOf(std::string_view text);
  const Bucket* BucketOf(std::string_view channel, size_t prefix) const;

  ByText<PatternPtr> by_text_;
  ByText<Bucket> by_prefix_;
  std::array<size_t, kMaxPrefix + 1> lengths_{};  // patterns whose prefix has this many bytes
};

}  // namespace bitsieve::server
