#include "core/base/glob.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "tests/support/reference_glob.h"

namespace bitsieve::core {
namespace {

using std::string_view_literals::operator""sv;

TEST(Glob, LiteralMatchesItselfAlone) {
  EXPECT_TRUE(GlobMatch("words", "words"));
  EXPECT_FALSE(GlobMatch("words", "word"));
  EXPECT_FALSE(GlobMatch("words", "words2"));
  EXPECT_FALSE(GlobMatch("words", "Words"));
  EXPECT_TRUE(GlobMatch("", ""));
  EXPECT_FALSE(GlobMatch("", "a"));
  EXPECT_FALSE(GlobMatch("a", ""));
}

TEST(Glob, StarTakesAnyRun) {
  EXPECT_TRUE(GlobMatch("*", ""));
  EXPECT_TRUE(GlobMatch("*", "anything"));
  EXPECT_TRUE(GlobMatch("***", "anything"));
  EXPECT_TRUE(GlobMatch("user:*", "user:"));
  EXPECT_TRUE(GlobMatch("user:*:seen", "user:1:2:seen"));
  EXPECT_FALSE(GlobMatch("user:*:seen", "user:1:2:seen:x"));
  EXPECT_TRUE(GlobMatch("*ab*ab", "abxabab"));
  EXPECT_FALSE(GlobMatch("*ab*ab*ab", "abxab"));
  EXPECT_TRUE(GlobMatch("a*", "a"));
}

TEST(Glob, QuestionMarkTakesOneByte) {
  EXPECT_TRUE(GlobMatch("h?llo", "hello"));
  EXPECT_FALSE(GlobMatch("h?llo", "hllo"));
  EXPECT_FALSE(GlobMatch("?", ""));
  EXPECT_FALSE(GlobMatch("?", "\xc3\xa4"));
  EXPECT_TRUE(GlobMatch("*?", "a"));
}

TEST(Glob, Classes) {
  EXPECT_TRUE(GlobMatch("h[ae]llo", "hallo"));
  EXPECT_FALSE(GlobMatch("h[ae]llo", "hillo"));
  EXPECT_TRUE(GlobMatch("[a-c]x", "bx"));
  EXPECT_FALSE(GlobMatch("[a-c]x", "dx"));
  EXPECT_TRUE(GlobMatch("[c-a]x", "bx"));
  EXPECT_TRUE(GlobMatch("[^a-c]x", "dx"));
  EXPECT_FALSE(GlobMatch("[^a-c]x", "bx"));
  EXPECT_TRUE(GlobMatch("[-a]", "-"));
  EXPECT_TRUE(GlobMatch("[\\]x]", "]"));
  EXPECT_TRUE(GlobMatch("[\\^a]", "^"));
  EXPECT_FALSE(GlobMatch("[a]", ""));
}

TEST(Glob, EmptyClassMatchesNothingAndItsNegationEverything) {
  EXPECT_FALSE(GlobMatch("[]", "a"));
  EXPECT_FALSE(GlobMatch("[]", "]"));
  EXPECT_TRUE(GlobMatch("[^]", "a"));
}

TEST(Glob, UnclosedClassEndsWithThePattern) {
  EXPECT_TRUE(GlobMatch("[abc", "b"));
  EXPECT_FALSE(GlobMatch("[abc", "d"));
  EXPECT_FALSE(GlobMatch("[abc", "bb"));
  EXPECT_FALSE(GlobMatch("[", "["));
  EXPECT_TRUE(GlobMatch("[^", "["));
  EXPECT_TRUE(GlobMatch("[a\\", "\\"));
  EXPECT_TRUE(GlobMatch("[a-", "-"));
}

// Redis reads this as the range from the bracket to "a", in a class that is never closed.
TEST(Glob, BracketAfterDashEndsTheRangeNotTheClass) {
  EXPECT_TRUE(GlobMatch("[a-]", "_"));
  EXPECT_FALSE(GlobMatch("[a-]", "-"));
  EXPECT_TRUE(GlobMatch("[a-]x]", "x"));
}

TEST(Glob, BackslashTakesTheNextByteAsItIs) {
  EXPECT_TRUE(GlobMatch("a\\*b", "a*b"));
  EXPECT_FALSE(GlobMatch("a\\*b", "axb"));
  EXPECT_TRUE(GlobMatch("\\?", "?"));
  EXPECT_TRUE(GlobMatch("\\[a]", "[a]"));
  EXPECT_TRUE(GlobMatch("\\\\", "\\"));
  EXPECT_TRUE(GlobMatch("a\\", "a\\"));
}

TEST(Glob, IsBinarySafe) {
  EXPECT_TRUE(GlobMatch("a\0*"sv, "a\0\xff"sv));
  EXPECT_FALSE(GlobMatch("a\0b"sv, "a\0c"sv));
  EXPECT_TRUE(GlobMatch("[\x80-\xff]"sv, "\xc0"sv));
  EXPECT_FALSE(GlobMatch("[\x80-\xff]"sv, "a"sv));
  EXPECT_TRUE(GlobMatch("[^\x80-\xff]"sv, "a"sv));
}

// Random patterns of few letters, so that they nearly fit: segments of up to three words, texts of up to three blocks.
TEST(Glob, AgreesWithTheReference) {
  std::mt19937_64 random(20261123);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::string_view kSteps[] = {"a", "b", "?", "[ab]", "[^b]", "[a-c]", "\\a", "[^\\a]"};
  size_t matches = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t text_bytes = i % 100 == 0 ? 4000 + below(9000) : below(i % 3 == 0 ? 400 : 40);
    std::string text(text_bytes, 'a');
    for (size_t b = below(4); b > 0 && !text.empty(); --b) text[below(text.size())] = 'b';
    std::string pattern = below(3) == 0 ? "a" : "*";
    for (size_t segments = 1 + below(3); segments > 0; --segments) {
      const size_t steps = text_bytes > 100 ? below(190) : below(5);
      const bool is_literal = below(3) == 0;
      for (size_t s = 0; s < steps; ++s) pattern += kSteps[is_literal ? below(50) == 0 : below(std::size(kSteps))];
      if (segments > 1 || below(2) == 0) pattern += '*';
    }
    const bool fits = test::ReferenceGlob(pattern).Matches(text);
    matches += fits;
    ASSERT_EQ(GlobMatch(pattern, text), fits) << pattern << " " << text;
  }
  EXPECT_GT(matches, 300U);
  EXPECT_LT(matches, 2700U);
}

// Segments around the borders of words, found only at the end of texts around the borders of blocks.
TEST(Glob, LongSegmentsAreFoundAtAnyPlace) {
  for (const size_t steps : {1U, 63U, 64U, 65U, 127U, 128U, 129U, 1000U}) {
    for (const size_t before : {31U, 4095U, 4096U, 4097U, 8191U, 8192U}) {
      std::string pattern = "*?";
      for (size_t i = 1; i < steps; ++i) pattern += i % 2 == 0 ? "[ab]" : "a";
      pattern += "c*";
      const std::string text = std::string(before, 'a') + std::string(steps, 'a') + "c";
      EXPECT_TRUE(GlobMatch(pattern, text)) << steps << " " << before;
      EXPECT_FALSE(GlobMatch(pattern + "c", text)) << steps << " " << before;
    }
  }
}

TEST(Glob, LiteralPrefixEndsAtTheFirstSpecialByte) {
  EXPECT_EQ(GlobPrefix("user:*"), "user:");
  EXPECT_EQ(GlobPrefix("user:\\*"), "user:");
  EXPECT_EQ(GlobPrefix("a[b]"), "a");
  EXPECT_EQ(GlobPrefix("?a"), "");
  EXPECT_EQ(GlobPrefix("plain"), "plain");
}

// A matcher that goes back to a star takes the product of both lengths: here 10^10 steps, a minute at least.
TEST(Glob, TextIsPassedOverOnceWhateverThePatternIs) {
  const std::string text(10'000'000, 'a');
  const std::string many_stars = [] {
    std::string pattern;
    for (int i = 0; i < 200; ++i) pattern += "*a";
    return pattern + "*b";
  }();
  for (const std::string& pattern :
       {many_stars, "*" + std::string(1000, 'a') + "b*", "*" + std::string(1000, '?') + "b*"}) {
    EXPECT_FALSE(GlobMatch(pattern, text)) << pattern;
  }
}

}  // namespace
}  // namespace bitsieve::core
