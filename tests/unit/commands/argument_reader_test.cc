#include "commands/argument_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace bitsieve::server {

using namespace commands;

namespace {

TEST(ParseIntegerTest, TakesWhatRedisTakes) {
  EXPECT_EQ(ParseInteger("0"), 0);
  EXPECT_EQ(ParseInteger("-1"), -1);
  EXPECT_EQ(ParseInteger("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(ParseIntegerTest, RefusesWhatRedisRefuses) {
  for (const char* text : {"", " 1", "1 ", "+1", "007", "-0", "-", "1.0", "1e3", "0x1", "9223372036854775808", "one"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(ParseUnsignedTest, TakesAll64Bits) {
  EXPECT_EQ(ParseUnsigned("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ParseUnsigned("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseUnsigned("-1"), std::nullopt);
}

TEST(ParseDoubleTest, TakesWhatRedisTakes) {
  EXPECT_EQ(ParseDouble("0.01"), 0.01);
  EXPECT_EQ(ParseDouble("1e-3"), 0.001);
  EXPECT_EQ(ParseDouble("+.5"), 0.5);
  EXPECT_EQ(ParseDouble("-2"), -2.0);
  EXPECT_EQ(ParseDouble("inf"), std::numeric_limits<double>::infinity());
}

TEST(ParseDoubleTest, RefusesWhatRedisRefuses) {
  for (const char* text : {"", "nan", "-nan", " 1", "1 ", "0.1x", "+-1", "++1", "1e-400", "1e400", "one"}) {
    EXPECT_EQ(ParseDouble(text), std::nullopt) << text;
  }
}

TEST(EqualsIgnoringCaseTest, TreatsLettersAloneAlike) {
  EXPECT_TRUE(EqualsIgnoringCase("NoCreate", "NOCREATE"));
  EXPECT_FALSE(EqualsIgnoringCase("items", "item"));
  EXPECT_FALSE(EqualsIgnoringCase("@", "`"));
  EXPECT_FALSE(EqualsIgnoringCase("[", "{"));
}

TEST(ArgumentReaderTest, KeepsTheFirstError) {
  const std::vector<std::string_view> arguments{"name", "x", "1"};
  ArgumentReader reader(arguments, 1);
  EXPECT_EQ(reader.Integer("missing", "malformed"), 0);
  EXPECT_EQ(reader.Integer("missing again", "malformed again"), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.error(), "malformed");
}

TEST(ArgumentReaderTest, TellsWhatIsMissing) {
  const std::vector<std::string_view> arguments{"name"};
  ArgumentReader reader(arguments, 1);
  EXPECT_TRUE(reader.AtEnd());
  reader.Double("missing", "malformed");
  EXPECT_EQ(reader.error(), "missing");
}

TEST(ArgumentReaderTest, ReadsInOrder) {
  const std::vector<std::string_view> arguments{"name", "count", "12", "a", "b"};
  ArgumentReader reader(arguments, 1);
  EXPECT_FALSE(reader.Skip("MATCH"));
  EXPECT_TRUE(reader.Skip("COUNT"));
  EXPECT_EQ(reader.Unsigned("missing", "malformed"), 12u);
  EXPECT_EQ(reader.Rest().size(), 2u);
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_TRUE(reader.ok());
}

}  // namespace
}  // namespace bitsieve::server
