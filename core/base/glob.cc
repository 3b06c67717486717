#include "core/base/glob.h"

#include <algorithm>
#include <cstddef>

namespace bitsieve::core {
namespace {

using Byte = unsigned char;

// One step of a pattern (anything but a star) held against one byte of the text.
struct Step {
  bool matches;
  size_t next;  // where the pattern goes on
};

// The class whose members begin at `at`, just after the opening bracket.
Step MatchClass(std::string_view pattern, size_t at, Byte byte) {
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  bool found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    const size_t left = pattern.size() - at;
    if (pattern[at] == '\\' && left >= 2) {
      found |= byte == static_cast<Byte>(pattern[at + 1]);
      at += 2;
    } else if (left >= 3 && pattern[at + 1] == '-') {
      const auto [low, high] = std::minmax({static_cast<Byte>(pattern[at]), static_cast<Byte>(pattern[at + 2])});
      found |= low <= byte && byte <= high;
      at += 3;
    } else {
      found |= byte == static_cast<Byte>(pattern[at]);
      ++at;
    }
  }
  return {found != negated, std::min(at + 1, pattern.size())};
}

Step MatchStep(std::string_view pattern, size_t at, Byte byte) {
  switch (pattern[at]) {
    case '?':
      return {true, at + 1};
    case '[':
      return MatchClass(pattern, at + 1, byte);
    case '\\':
      if (at + 1 < pattern.size()) ++at;
      break;
    default:
      break;
  }
  return {byte == static_cast<Byte>(pattern[at]), at + 1};
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  // The pattern after the last star seen, and how far that star reaches now. Earlier stars need no second try: what
  // they could take more of, the last one can take as well.
  size_t after_star = std::string_view::npos;
  size_t star_end = 0;
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
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      t = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace bitsieve::core
