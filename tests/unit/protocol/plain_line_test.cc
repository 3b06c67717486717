#include "protocol/plain_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace bitsieve::protocol {
namespace {

using namespace std::string_literals;  // NOLINT: zero bytes inside of literals
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

std::optional<std::vector<std::string>> Split(std::string line) {
  std::vector<std::string_view> arguments;
  if (!SplitPlainLine(line, arguments)) return std::nullopt;
  return std::vector<std::string>(arguments.begin(), arguments.end());
}

TEST(PlainLine, BlanksSeparateAndSurround) {
  EXPECT_THAT(Split("PING"), Optional(ElementsAre("PING")));
  EXPECT_THAT(Split("  BF.ADD\tkey \t item \r"), Optional(ElementsAre("BF.ADD", "key", "item")));
  EXPECT_THAT(Split("a\rb\nc"), Optional(ElementsAre("a", "b", "c")));
  EXPECT_THAT(Split(""), Optional(IsEmpty()));
  EXPECT_THAT(Split(" \t\r\v\f "), Optional(IsEmpty()));
}

TEST(PlainLine, VerticalTabAndFormFeedAreSkippedBeforeAWordButDoNotEndIt) {
  EXPECT_THAT(Split("\v\fa\vb\f c"), Optional(ElementsAre("a\vb\f", "c")));
}

TEST(PlainLine, BytesThatAreNoTextStayAsTheyAre) {
  EXPECT_THAT(Split("a\0b \xff\x80"s), Optional(ElementsAre("a\0b"s, "\xff\x80")));
  EXPECT_THAT(Split("\0"s), Optional(ElementsAre("\0"s)));
}

TEST(PlainLine, DoubleQuotesKeepBlanksAndMayBeEmpty) {
  EXPECT_THAT(Split(R"(ADD "two words" "")"), Optional(ElementsAre("ADD", "two words", "")));
  EXPECT_THAT(Split(R"("it's")"), Optional(ElementsAre("it's")));
}

TEST(PlainLine, DoubleQuotesKnowEscapes) {
  EXPECT_THAT(Split(R"("\n\r\t\b\a")"), Optional(ElementsAre("\n\r\t\b\a")));
  EXPECT_THAT(Split(R"("\\ \" \' \q \0")"), Optional(ElementsAre(R"(\ " ' q 0)")));
  EXPECT_THAT(Split(R"("\x00\x41\xfF\xAb.")"), Optional(ElementsAre("\0A\xff\xab."s)));
}

TEST(PlainLine, HexEscapeWithoutTwoDigitsIsTheLetterX) {
  EXPECT_THAT(Split(R"("\x" "\x4" "\x4g" "\xg4")"), Optional(ElementsAre("x", "x4", "x4g", "xg4")));
}

TEST(PlainLine, SingleQuotesKnowOnlyTheQuoteItself) {
  EXPECT_THAT(Split(R"('two words' '' 'it\'s' 'a\nb' 'say "x"')"),
              Optional(ElementsAre("two words", "", "it's", R"(a\nb)", R"(say "x")")));
  EXPECT_THAT(Split(R"('a\\b')"), Optional(ElementsAre(R"(a\\b)")));
  EXPECT_EQ(Split(R"('\\')"), std::nullopt) << "a backslash cannot be escaped, so this quote is";
}

TEST(PlainLine, BackslashOutsideOfQuotesIsOrdinary) {
  EXPECT_THAT(Split(R"(a\nb \x41 \)"), Optional(ElementsAre(R"(a\nb)", R"(\x41)", R"(\)")));
}

TEST(PlainLine, QuoteMayOpenInsideOfAWord) {
  EXPECT_THAT(Split(R"(ab"c d" e'f g')"), Optional(ElementsAre("abc d", "ef g")));
}

TEST(PlainLine, ClosingQuoteNeedsABlankOrTheEnd) {
  EXPECT_THAT(Split("\"a\"\tb"), Optional(ElementsAre("a", "b")));
  EXPECT_THAT(Split("'a'\vb"), Optional(ElementsAre("a", "b")));
  EXPECT_EQ(Split(R"("a"b)"), std::nullopt);
  EXPECT_EQ(Split(R"('a'b)"), std::nullopt);
  EXPECT_EQ(Split(R"("a""b")"), std::nullopt);
  EXPECT_EQ(Split(R"("a"'b')"), std::nullopt);
  EXPECT_EQ(Split("\"a\"\0"s), std::nullopt);
}

TEST(PlainLine, OpenQuoteIsUnbalanced) {
  for (const char* line :
       {R"(")", R"(')", R"("a)", R"('a)", R"(a ")", R"("a\")", R"('a\')", R"("a\)", R"('a\)", R"("\x4)"}) {
    EXPECT_EQ(Split(line), std::nullopt) << line;
  }
}

TEST(PlainLine, ArgumentsAreViewsIntoTheLine) {
  std::string line = R"(SET "a\tb" c)";
  std::vector<std::string_view> arguments;
  ASSERT_TRUE(SplitPlainLine(line, arguments));
  for (const std::string_view argument : arguments) {
    EXPECT_GE(argument.data(), line.data());
    EXPECT_LE(argument.data() + argument.size(), line.data() + line.size());
  }
}

}  // namespace
}  // namespace bitsieve::protocol
