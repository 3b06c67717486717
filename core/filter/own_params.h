// own_params.h: the parameters that a filter type has of its own, as pairs of a number and a value. Each is described
// by a constant in the header of its family, and the type's row lists them. Thread-safe: plain values and constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bitsieve::core {

// One parameter. The number, unique within the type, and the default value are persisted: they never change.
struct OwnParam {
  uint8_t number;         // not 0
  std::string_view name;  // "bucket size"
  uint64_t default_value;
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;
  std::span<const uint64_t> only = {};  // the allowed values, if they are few; otherwise all from min to max

  bool Allows(uint64_t value) const;
  // Returns "4 or 8", or "in the range [2, 8]".
  std::string Range() const;
};

// The values of a filter that differ from their defaults, so that equal parameters have equal pairs.
class OwnParams {
 public:
  static constexpr size_t kMaxPairs = 4;
  struct Pair {
    uint64_t number = 0;  // 0: none
    uint64_t value = 0;

    bool operator==(const Pair&) const = default;
  };

  // Inline: a window asks on each lookup.
  uint64_t Get(const OwnParam& param) const {
    for (const Pair& pair : pairs_) {
      if (pair.number == param.number) return pair.value;
      if (pair.number == 0) break;
    }
    return param.default_value;
  }
  void Set(const OwnParam& param, uint64_t value);

  // Returns the pairs in the order of their numbers.
  std::span<const Pair> pairs() const { return std::span(pairs_).first(size()); }
  // Adds a pair that was read. Returns false, and adds nothing, if its number is not above all others or there is no
  // room: then no writer has made it.
  bool Append(const Pair& pair);

  bool operator==(const OwnParams&) const = default;

 private:
  size_t size() const;

  std::array<Pair, kMaxPairs> pairs_{};  // those in use first
};

}  // namespace bitsieve::core
