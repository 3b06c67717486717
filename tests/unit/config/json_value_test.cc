#include "config/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = JsonValue::Kind;

TEST(JsonValueTest, KeepsNumbersAndStringsAsText) {
  const auto read = ReadJson(R"([18446744073709551615, -5, 0.25, "a\"b", true, null])");
  ASSERT_TRUE(read) << read.error();
  std::vector<std::string> texts;
  for (const JsonValue& item : read->value.items) texts.push_back(item.text);
  EXPECT_THAT(texts, ElementsAre("18446744073709551615", "-5", "0.25", "a\"b", "true", "null"));
  EXPECT_TRUE(read->value.items[0].is_text_or_number());
  EXPECT_TRUE(read->value.items[3].is_text_or_number());
  EXPECT_FALSE(read->value.items[4].is_text_or_number());
}

TEST(JsonValueTest, DescribesAValueForAnErrorText) {
  EXPECT_EQ(Described(ReadJson("5")->value), "number 5");
  EXPECT_EQ(Described(ReadJson(R"("a\"b")")->value), R"(string "a\"b")");
  EXPECT_EQ(Described(ReadJson("[1]")->value), "array");
  EXPECT_EQ(NameOf(Kind::kObject), "object");
}

TEST(JsonValueTest, OfEqualNamesTheLastValueStaysAndTheNameIsReportedOnce) {
  const auto read = ReadJson(R"({"a": 1, "b": {"a": 2}, "a": 3, "a": {"c": 4}})");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->repeated, ElementsAre("a"));
  ASSERT_EQ(read->value.members.size(), 2U);
  EXPECT_EQ(read->value.members[0].first, "a");
  ASSERT_EQ(read->value.members[0].second.kind, Kind::kObject);
  EXPECT_EQ(read->value.members[0].second.members[0].second.text, "4");
}

TEST(JsonValueTest, ValuesThatLieTooDeepAreLeftOut) {
  const auto nested = [](size_t depth) {
    return ReadJson("{\"before\": 1, \"deep\": " + std::string(depth, '[') + "7" + std::string(depth, ']') +
                    ", \"after\": 2}");
  };
  const auto depth_of = [](const JsonValue& value) {
    size_t depth = 0;
    for (const JsonValue* each = &value; each->kind == Kind::kArray; each = &each->items[0]) {
      ++depth;
      if (each->items.empty()) break;
    }
    return depth;
  };
  EXPECT_EQ(depth_of(nested(kMaxJsonDepth - 1)->value.members[1].second), kMaxJsonDepth - 1);
  for (const size_t depth : {kMaxJsonDepth, kMaxJsonDepth + 1, size_t{100'000}}) {
    const auto read = nested(depth);
    ASSERT_TRUE(read) << read.error();
    ASSERT_EQ(read->value.members.size(), 3U) << "what follows is read";
    EXPECT_EQ(read->value.members[2].second.text, "2");
    EXPECT_LE(depth_of(read->value.members[1].second), kMaxJsonDepth);
  }
}

TEST(JsonValueTest, CommentsAreAllowedAndErrorsHaveTheirPlace) {
  EXPECT_EQ(ReadJson("// first\n{\"a\": /* why */ 1}")->value.members[0].second.text, "1");
  const auto read = ReadJson("{\"a\": 1,\n \"b\": }");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error(), HasSubstr("line 2"));
  EXPECT_FALSE(ReadJson("1 2"));
  EXPECT_FALSE(ReadJson(""));
}

}  // namespace
}  // namespace bitsieve::config
