#include "core/base/parse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace bitsieve::core {
namespace {

TEST(Parse, IntegersAreStrict) {
  EXPECT_EQ(ParseInteger("0"), 0);
  EXPECT_EQ(ParseInteger("-17"), -17);
  EXPECT_EQ(ParseInteger("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(ParseInteger("-9223372036854775808"), INT64_MIN);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "01", "-0", "1.0", "0x1", "9223372036854775808"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(Parse, UnsignedNumbersAreStrict) {
  EXPECT_EQ(ParseUnsigned("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", "00", "18446744073709551616", "1k"}) {
    EXPECT_EQ(ParseUnsigned(text), std::nullopt) << text;
  }
}

TEST(Parse, DoublesAreNeverNanNorRoundedToZero) {
  EXPECT_EQ(ParseDouble("0.01"), 0.01);
  EXPECT_EQ(ParseDouble("1e-3"), 0.001);
  EXPECT_EQ(ParseDouble("-0.5"), -0.5);
  EXPECT_EQ(ParseDouble("inf"), std::numeric_limits<double>::infinity());
  for (const char* text : {"", "nan", "1e-999", "0.1 ", " 0.1", "1,5", "abc", "0.1x"}) {
    EXPECT_EQ(ParseDouble(text), std::nullopt) << text;
  }
}

TEST(Parse, TheShortestTextReadsBackAsTheSameNumber) {
  EXPECT_EQ(ShortestText(0.01), "0.01");
  EXPECT_EQ(ShortestText(0.0001), "1e-04");
  for (const double number : {1.0 / 3, 1e-300, 123456.789, -2.5}) {
    EXPECT_EQ(ParseDouble(ShortestText(number)), number);
  }
}

TEST(Parse, RoundedTextHasSoManyDigits) {
  EXPECT_EQ(RoundedText(0.0123456, 3), "0.0123");
  EXPECT_EQ(RoundedText(0.00001, 3), "1e-05");
}

TEST(Parse, HexadecimalDigits) {
  EXPECT_EQ(ParseHex("0"), 0U);
  EXPECT_EQ(ParseHex("00fF"), 255U);
  EXPECT_EQ(ParseHex("ffffffffffffffff"), UINT64_MAX);
  for (const char* text : {"", "g", "0x1", "-1", "+1", " 1", "1 ", "10000000000000000"}) EXPECT_FALSE(ParseHex(text));
}

TEST(Parse, PercentSignsStandForBytes) {
  EXPECT_EQ(PercentDecoded("a%2Fb%2fc+"), "a/b/c+");
  EXPECT_EQ(PercentDecoded("%00%ff"), std::string("\0\xff", 2));
  EXPECT_EQ(PercentDecoded(""), "");
  for (const char* text : {"%", "a%4", "%4g", "%-1", "% 1"}) EXPECT_FALSE(PercentDecoded(text)) << text;
}

TEST(Parse, CaseIsThatOfAscii) {
  EXPECT_TRUE(EqualsIgnoringCase("BF.Add", "bf.aDD"));
  EXPECT_FALSE(EqualsIgnoringCase("bf.add", "bf.ad"));
  EXPECT_FALSE(EqualsIgnoringCase("\xC4", "\xE4")) << "bytes beyond ASCII have no case";
  EXPECT_EQ(LowerCase("A-Z_\xC4"), "a-z_\xC4");
}

}  // namespace
}  // namespace bitsieve::core
