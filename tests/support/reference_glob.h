// reference_glob.h: glob patterns by the book, to compare core::GlobMatch with: each place of the pattern is held
// against each place of the text. Its time is the product of both lengths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace bitsieve::test {

class ReferenceGlob {
 public:
  explicit ReferenceGlob(std::string_view pattern) {
    while (!pattern.empty()) steps_.push_back(TakeStep(pattern));
  }

  bool Matches(std::string_view text) const {
    // fits[i]: the steps from the present one on fit the text from i on.
    std::vector<bool> fits(text.size() + 1, false);
    fits[text.size()] = true;
    for (size_t s = steps_.size(); s-- > 0;) {
      std::vector<bool> now(text.size() + 1, false);
      for (size_t i = text.size() + 1; i-- > 0;) {
        const bool has_byte = i < text.size();
        now[i] = steps_[s].is_star ? fits[i] || (has_byte && now[i + 1])
                                   : has_byte && steps_[s].bytes[static_cast<unsigned char>(text[i])] && fits[i + 1];
      }
      fits.swap(now);
    }
    return fits[0];
  }

 private:
  struct Step {
    bool is_star = false;
    std::vector<bool> bytes = std::vector<bool>(256, false);
  };

  static unsigned char Take(std::string_view& pattern) {
    const char c = pattern.front();
    pattern.remove_prefix(1);
    return static_cast<unsigned char>(c);
  }
  static Step TakeStep(std::string_view& pattern) {
    Step step;
    const unsigned char c = Take(pattern);
    if (c == '*') {
      step.is_star = true;
    } else if (c == '?') {
      step.bytes.assign(256, true);
    } else if (c == '[') {
      TakeClass(pattern, step);
    } else {
      step.bytes[c == '\\' && !pattern.empty() ? Take(pattern) : c] = true;
    }
    return step;
  }
  static void TakeClass(std::string_view& pattern, Step& step) {
    const bool negated = pattern.starts_with('^');
    if (negated) Take(pattern);
    while (!pattern.empty() && pattern.front() != ']') {
      if (pattern.front() == '\\' && pattern.size() >= 2) {
        Take(pattern);
        step.bytes[Take(pattern)] = true;
      } else if (pattern.size() >= 3 && pattern[1] == '-') {
        const unsigned char a = Take(pattern);
        Take(pattern);
        const unsigned char b = Take(pattern);
        for (int i = std::min(a, b); i <= std::max(a, b); ++i) step.bytes[static_cast<size_t>(i)] = true;
      } else {
        step.bytes[Take(pattern)] = true;
      }
    }
    if (!pattern.empty()) Take(pattern);
    if (negated) step.bytes.flip();
  }

  std::vector<Step> steps_;
};

}  // namespace bitsieve::test
