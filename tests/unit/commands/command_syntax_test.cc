#include "commands/command_syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::commands {
namespace {

using testing::IsEmpty;

TEST(ParseSyntaxTest, ANameThatEndsWithKeyIsAKey) {
  const auto arguments = ParseSyntax("key newkey item");
  ASSERT_EQ(arguments.size(), 3U);
  EXPECT_EQ(arguments[0].type, "key");
  EXPECT_EQ(arguments[1].type, "key");
  EXPECT_EQ(arguments[2].type, "string");
  EXPECT_THAT(ParseSyntax(""), IsEmpty());
}

TEST(ParseSyntaxTest, ALiteralIsATokenOfItsOwnOrOfItsValue) {
  const auto arguments = ParseSyntax("[CAPACITY capacity] [NOCREATE]");
  ASSERT_EQ(arguments.size(), 2U);
  EXPECT_EQ(arguments[0].token, "CAPACITY");
  EXPECT_EQ(arguments[0].name, "capacity");
  EXPECT_EQ(arguments[0].type, "string");
  EXPECT_EQ(arguments[1].token, "NOCREATE");
  EXPECT_EQ(arguments[1].name, "nocreate");
  EXPECT_EQ(arguments[1].type, "pure-token");
  EXPECT_TRUE(arguments[0].optional && arguments[1].optional);
}

TEST(ParseSyntaxTest, ARepetitionBelongsToTheArgumentBeforeIt) {
  const auto items = ParseSyntax("key item [item ...]");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1].name, "item");
  EXPECT_TRUE(items[1].multiple);
  EXPECT_FALSE(items[1].optional) << "one at least";

  const auto pairs = ParseSyntax("parameter value [parameter value ...]");
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].type, "block");
  EXPECT_EQ(pairs[0].arguments.size(), 2U);
  EXPECT_TRUE(pairs[0].multiple);

  const auto optional = ParseSyntax("key [field ...]");
  ASSERT_EQ(optional.size(), 2U);
  EXPECT_TRUE(optional[1].multiple && optional[1].optional) << "it repeats nothing that is required";
}

TEST(ParseSyntaxTest, AlternativesAreOneArgument) {
  const auto arguments = ParseSyntax("[HASH <xxh3 | sip>] <ON | OFF | SKIP count>");
  ASSERT_EQ(arguments.size(), 2U);
  EXPECT_EQ(arguments[0].type, "oneof");
  EXPECT_EQ(arguments[0].token, "HASH");
  EXPECT_EQ(arguments[0].name, "hash");
  ASSERT_EQ(arguments[0].arguments.size(), 2U);
  EXPECT_EQ(arguments[0].arguments[1].name, "sip");
  EXPECT_FALSE(arguments[1].optional);
  ASSERT_EQ(arguments[1].arguments.size(), 3U);
  EXPECT_EQ(arguments[1].arguments[0].type, "pure-token");
  EXPECT_EQ(arguments[1].arguments[2].token, "SKIP");
}

}  // namespace
}  // namespace bitsieve::commands
