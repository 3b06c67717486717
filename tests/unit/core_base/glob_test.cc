#include "core/base/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

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

// As Redis reads it: the range from the bracket to "a", in a class that is never closed.
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

// A matcher that goes back to every star takes years over this.
TEST(Glob, ManyStarsCostNoMoreThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  pattern += "*b";
  const std::string text(20'000, 'a');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(GlobMatch(pattern, text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace bitsieve::core
