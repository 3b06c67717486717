#include "cli/shell/next_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NextWords After(std::string_view syntax, const std::vector<std::string>& words) {
  return NextWordsOf(commands::ParseSyntax(syntax), words);
}

constexpr std::string_view kInsert = "key [CAPACITY capacity] [NOCREATE] [HASH <xxh3 | sip>] ITEMS item [item ...]";

TEST(NextWordsTest, AKeyMayComeWhereTheSyntaxHasOne) {
  EXPECT_TRUE(After(kInsert, {}).is_key);
  EXPECT_FALSE(After(kInsert, {"f"}).is_key);
}

TEST(NextWordsTest, OptionsComeInAnyOrderEachOnce) {
  EXPECT_THAT(After(kInsert, {"f"}).literals, ElementsAre("CAPACITY", "NOCREATE", "HASH", "ITEMS"));
  EXPECT_THAT(After(kInsert, {"f", "nocreate"}).literals, ElementsAre("CAPACITY", "HASH", "ITEMS"));
  EXPECT_THAT(After(kInsert, {"f", "NOCREATE", "CAPACITY", "9"}).literals, ElementsAre("HASH", "ITEMS"));
}

TEST(NextWordsTest, AfterATokenItsValuesFollow) {
  EXPECT_THAT(After(kInsert, {"f", "HASH"}).literals, ElementsAre("xxh3", "sip"));
  EXPECT_THAT(After(kInsert, {"f", "CAPACITY"}).literals, IsEmpty());
  EXPECT_EQ(After("key [CAPACITY capacity] item", {"f", "CAPACITY"}).hint, "capacity item");
}

TEST(NextWordsTest, ARepeatedArgumentMayFollowAgain) {
  EXPECT_EQ(After(kInsert, {"f", "ITEMS", "a"}).hint, "[item ...]");
  EXPECT_EQ(After(kInsert, {"f", "ITEMS", "a", "NOCREATE", "b"}).hint, "[item ...]") << "these are items";
}

TEST(NextWordsTest, NothingFollowsWordsThatDoNotFit) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"f", "NONSENSE"}, {"f", "HASH", "md5"}}) {
    const NextWords next = After(kInsert, words);
    EXPECT_EQ(next.hint, "");
    EXPECT_THAT(next.literals, IsEmpty());
    EXPECT_FALSE(next.is_key);
  }
}

}  // namespace
}  // namespace bitsieve::cli
