#include "core/base/glob.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bitsieve::core {
namespace {

using Byte = unsigned char;

constexpr size_t kNotFound = std::string_view::npos;
constexpr size_t kWordSteps = 64;
// If the product of both lengths is smaller, trying takes less than what a search prepares.
constexpr size_t kSmallProduct = 1024;
// A segment of several words is searched for in blocks of this many bytes: word by word, with one table for all words.
constexpr size_t kBlock = 4096;

class ByteSet {
 public:
  void Add(Byte byte) { words_[byte / 64] |= uint64_t{1} << byte % 64; }
  void AddRange(Byte low, Byte high) {
    for (size_t i = low / 64; i <= high / 64; ++i) {
      const uint64_t from = i == low / 64 ? ~uint64_t{0} << low % 64 : ~uint64_t{0};
      const uint64_t to = i == high / 64 ? ~uint64_t{0} >> (63 - high % 64) : ~uint64_t{0};
      words_[i] |= from & to;
    }
  }
  void Invert() {
    for (uint64_t& word : words_) word = ~word;
  }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t left = words_[i]; left != 0; left &= left - 1) {
        visit(static_cast<Byte>(64 * i + static_cast<size_t>(std::countr_zero(left))));
      }
    }
  }

 private:
  std::array<uint64_t, 4> words_{};
};

// Reads a class whose members begin at `at`, just after the opening bracket and the ^ after that. Calls `range` with
// the ends of each range, and with the same byte twice for a single one. Returns where the pattern continues.
template <class Range>
size_t ReadClass(std::string_view pattern, size_t at, Range&& range) {
  while (at < pattern.size() && pattern[at] != ']') {
    const size_t left = pattern.size() - at;
    if (pattern[at] == '\\' && left >= 2) {
      range(static_cast<Byte>(pattern[at + 1]), static_cast<Byte>(pattern[at + 1]));
      at += 2;
    } else if (left >= 3 && pattern[at + 1] == '-') {
      const auto [low, high] = std::minmax({static_cast<Byte>(pattern[at]), static_cast<Byte>(pattern[at + 2])});
      range(low, high);
      at += 3;
    } else {
      range(static_cast<Byte>(pattern[at]), static_cast<Byte>(pattern[at]));
      ++at;
    }
  }
  return std::min(at + 1, pattern.size());
}

bool IsNegated(std::string_view pattern, size_t bracket) {
  return bracket + 1 < pattern.size() && pattern[bracket + 1] == '^';
}

// One step of a pattern (anything but a star) compared with one byte of the text.
struct Step {
  bool matches;
  size_t next;  // where the pattern continues
};

Step MatchClass(std::string_view pattern, size_t bracket, Byte byte) {
  const bool negated = IsNegated(pattern, bracket);
  bool found = false;
  const size_t next = ReadClass(pattern, bracket + 1 + (negated ? 1 : 0),
                                [&](Byte low, Byte high) { found |= low <= byte && byte <= high; });
  return {found != negated, next};
}

Step MatchStep(std::string_view pattern, size_t at, Byte byte) {
  switch (pattern[at]) {
    case '?':
      return {true, at + 1};
    case '[':
      return MatchClass(pattern, at, byte);
    case '\\':
      if (at + 1 < pattern.size()) ++at;
      break;
    default:
      break;
  }
  return {byte == static_cast<Byte>(pattern[at]), at + 1};
}

// The steps between two stars, or between a star and the end of the pattern.
struct Segment {
  std::string_view pattern;
  size_t steps = 0;
  bool is_literal = true;  // the steps are the bytes of `pattern`
};

Segment ReadSegment(std::string_view pattern) {
  Segment segment;
  size_t at = 0;
  for (; at < pattern.size() && pattern[at] != '*'; ++segment.steps) {
    segment.is_literal &= pattern[at] != '?' && pattern[at] != '[' && pattern[at] != '\\';
    at = MatchStep(pattern, at, 0).next;
  }
  segment.pattern = pattern.substr(0, at);
  return segment;
}

// `text` has at least as many bytes as the segment has steps.
bool IsAt(const Segment& segment, std::string_view text) {
  if (segment.is_literal) return text.starts_with(segment.pattern);
  size_t at = 0;
  for (size_t t = 0; at < segment.pattern.size(); ++t) {
    const Step step = MatchStep(segment.pattern, at, static_cast<Byte>(text[t]));
    if (!step.matches) return false;
    at = step.next;
  }
  return true;
}

// For each byte value the steps of one word that it fits, a bit for each.
using Masks = std::array<uint64_t, 256>;

// The steps of a word from `at` on. Returns where the next word's begin.
size_t FillMasks(std::string_view pattern, size_t at, Masks& masks) {
  masks.fill(0);
  uint64_t any = 0;
  for (size_t step = 0; step < kWordSteps && at < pattern.size(); ++step) {
    const uint64_t bit = uint64_t{1} << step;
    if (pattern[at] == '?') {
      any |= bit;
      ++at;
    } else if (pattern[at] == '[') {
      ByteSet set;
      const bool negated = IsNegated(pattern, at);
      at = ReadClass(pattern, at + 1 + (negated ? 1 : 0), [&](Byte low, Byte high) { set.AddRange(low, high); });
      if (negated) set.Invert();
      set.ForEach([&](Byte byte) { masks[byte] |= bit; });
    } else {
      if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
      masks[static_cast<Byte>(pattern[at++])] |= bit;
    }
  }
  if (any != 0) {
    for (uint64_t& mask : masks) mask |= any;
  }
  return at;
}

// After each byte, bit i of the state is set if steps 0 to i fit the bytes up to it.
size_t FindByOneWord(const Segment& segment, std::string_view text) {
  Masks masks;
  FillMasks(segment.pattern, 0, masks);
  const uint64_t last = uint64_t{1} << (segment.steps - 1);
  uint64_t state = 0;
  for (size_t t = 0; t < text.size(); ++t) {
    state = (state << 1 | 1) & masks[static_cast<Byte>(text[t])];
    if (state & last) return t + 1 - segment.steps;
  }
  return kNotFound;
}

// The same with a state for each word. What leaves one at the top enters the next one at the bottom a byte later.
size_t FindByWords(const Segment& segment, std::string_view text) {
  const size_t words = (segment.steps + kWordSteps - 1) / kWordSteps;
  const uint64_t last = uint64_t{1} << (segment.steps - 1) % kWordSteps;
  std::array<uint64_t, kMaxSearchedPattern / kWordSteps> states;
  std::fill_n(states.begin(), words, 0);
  std::array<Byte, kBlock> entering;  // the word that is being worked on, at each byte of the block
  Masks masks;
  for (size_t begin = 0; begin < text.size(); begin += kBlock) {
    const std::string_view block = text.substr(begin, kBlock);
    entering.fill(1);
    size_t at = 0;
    for (size_t word = 0; word < words; ++word) {
      at = FillMasks(segment.pattern, at, masks);
      uint64_t state = states[word];
      for (size_t t = 0; t < block.size(); ++t) {
        const uint64_t leaving = state >> 63;
        state = (state << 1 | entering[t]) & masks[static_cast<Byte>(block[t])];
        entering[t] = static_cast<Byte>(leaving);
        if (word + 1 == words && (state & last)) return begin + t + 1 - segment.steps;
      }
      states[word] = state;
    }
  }
  return kNotFound;
}

// The first place of the segment in `text`, which has at least as many bytes as the segment has steps.
size_t Find(const Segment& segment, std::string_view text) {
  if (segment.is_literal) {
    const void* const found = memmem(text.data(), text.size(), segment.pattern.data(), segment.pattern.size());
    return found == nullptr ? kNotFound : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  return segment.steps <= kWordSteps ? FindByOneWord(segment, text) : FindByWords(segment, text);
}

// Goes back to the last star at each byte that does not fit. Earlier stars need no second try: what they could take
// more of, the last one can take as well.
bool MatchByTrying(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t after_star = kNotFound;
  size_t star_end = 0;  // how far that star reaches now
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_end = t;
      continue;
    }
    const Step step =
        p < pattern.size() ? MatchStep(pattern, p, static_cast<Byte>(text[t])) : Step{.matches = false, .next = p};
    if (step.matches) {
      p = step.next;
      ++t;
    } else if (after_star != kNotFound) {
      p = after_star;
      t = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == kNotFound;
}

bool MatchBySearching(std::string_view pattern, std::string_view text) {
  const auto pass = [&](const Segment& segment, size_t bytes) {
    pattern.remove_prefix(segment.pattern.size());
    text.remove_prefix(bytes);
  };
  const Segment first = ReadSegment(pattern);
  if (first.steps > text.size() || !IsAt(first, text)) return false;
  pass(first, first.steps);
  if (pattern.empty()) return text.empty();
  while (true) {
    pattern.remove_prefix(std::min(pattern.find_first_not_of('*'), pattern.size()));
    if (pattern.empty()) return true;
    const Segment segment = ReadSegment(pattern);
    if (segment.steps > text.size()) return false;
    if (segment.pattern.size() == pattern.size()) return IsAt(segment, text.substr(text.size() - segment.steps));
    const size_t found = Find(segment, text);
    if (found == kNotFound) return false;
    pass(segment, found + segment.steps);
  }
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text) noexcept {
  const bool is_small = text.size() < kSmallProduct && pattern.size() * text.size() < kSmallProduct;
  if (is_small || pattern.size() > kMaxSearchedPattern) return MatchByTrying(pattern, text);
  return MatchBySearching(pattern, text);
}

std::string_view GlobPrefix(std::string_view pattern) noexcept {
  return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

}  // namespace bitsieve::core
