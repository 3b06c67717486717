// sketch_keys.h: the keys of RedisBloom's sketches. The standalone server has none, so they stay where they are, and
// `bitsieve migrate` and `bitsieve import` name them. Confined to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::cli {

// Where sketches can go: the end of a sentence.
inline constexpr std::string_view kPlaceOfSketches =
    "a Bitsieve server has no sketches; Redis and Valkey with bitsieve.so have (docs/swap.md)";

// Returns what people call a value of this type, such as "Count-Min Sketch" for CMSk-TYPE; empty if it is no sketch.
std::string_view SketchNoun(std::string_view type);

// Keys of one type of sketch.
struct SketchKeys {
  uint64_t count = 0;
  std::vector<std::string> names = {};  // the first kMaxNames
};

// Takes any number of keys in bounded memory: of each type it keeps the number and the first names.
class FoundSketches {
 public:
  static constexpr size_t kMaxNames = 20;  // of each type

  void Add(std::string_view type, std::string_view name);

  uint64_t count() const;
  // Returns the keys by type, as TYPE shows it.
  const std::map<std::string, SketchKeys, std::less<>>& by_type() const { return by_type_; }
  // Returns a line for each type: "2 Top-K: 'a', 'b'", with "and 3 more" if not all names were kept.
  std::vector<std::string> Lines() const;

 private:
  std::map<std::string, SketchKeys, std::less<>> by_type_;
};

}  // namespace bitsieve::cli
