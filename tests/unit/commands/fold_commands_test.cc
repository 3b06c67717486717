#include "commands/fold_commands.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::commands {
namespace {

using test::kOk;
using test::Words;

class FoldCommandsTest : public testing::Test, protected test::CommandFixture {
 protected:
  void Reserve(const std::string& name, const std::string& capacity, const std::string& type = "blocked") {
    ASSERT_EQ(Reply({"BF.RESERVE", name, "0.01", capacity, "TYPE", type, "SEED", "7"}), kOk);
  }
  void Add(const std::string& name, int first, int count) {
    Words add{"BF.MADD", name};
    for (int i = first; i < first + count; ++i) add.push_back(std::to_string(i));
    Reply(add);
  }
  // Returns how many of those items are found.
  int Found(const std::string& name, int first, int count) {
    int found = 0;
    for (int i = first; i < first + count; ++i) found += Reply({"BF.EXISTS", name, std::to_string(i)}) == ":1\r\n";
    return found;
  }
};

TEST_F(FoldCommandsTest, MakesTheFilterSmallerWithAllItems) {
  for (const std::string type : {"blocked", "classic"}) {
    Reserve(type, "100000", type);
    Add(type, 0, 1000);
    const FilterPtr before = registry.Find(type);
    EXPECT_EQ(Reply({"BF.FOLD", type, "5000"}), kOk);
    EXPECT_EQ(Reply({"BF.INFO", type, "CAPACITY"}), "*1\r\n:5000\r\n");
    EXPECT_LT(registry.Find(type)->size_bytes(), before->size_bytes() / 15);
    EXPECT_EQ(Found(type, 0, 1000), 1000);
    EXPECT_LT(Found(type, 1000, 4000), 40);
    EXPECT_EQ(Reply({"BF.CARD", type}), ":" + std::to_string(before->ItemCount()) + "\r\n");
  }
}

TEST_F(FoldCommandsTest, KeepsExpiryAndUse) {
  Reserve("f", "100000");
  Add("f", 0, 10);
  Reply({"PEXPIRE", "f", "100000"});
  const uint64_t added = registry.Find("f")->Use()->added;
  EXPECT_EQ(added, 10U);
  EXPECT_EQ(Reply({"BF.FOLD", "f", "1000"}), kOk);
  EXPECT_EQ(Reply({"PTTL", "f"}), ":100000\r\n");
  EXPECT_EQ(registry.Find("f")->Use()->added, added);
}

TEST_F(FoldCommandsTest, RefusalsChangeNothing) {
  Reserve("f", "100000");
  Add("f", 0, 1000);
  const FilterPtr before = registry.Find("f");
  const auto refusal = [&](const std::string& key, const std::string& capacity) {
    return Reply({"BF.FOLD", key, capacity});
  };
  EXPECT_EQ(refusal("none", "10"), "-ERR not found\r\n");
  EXPECT_EQ(refusal("f", "ten"), "-ERR bad capacity\r\n");
  EXPECT_EQ(refusal("f", "0").substr(0, 38), "-ERR capacity must be in the range [1,");
  EXPECT_EQ(refusal("f", "100000"), "-ERR cannot fold: its capacity is 100000, and a fold makes it smaller\r\n");
  EXPECT_EQ(refusal("f", "500"), "-ERR cannot fold: it holds " + std::to_string(before->ItemCount()) +
                                     " items, which is the smallest capacity that keeps its error rate\r\n");
  EXPECT_EQ(refusal("f", "90000").substr(0, 60), "-ERR cannot fold: a capacity of 90000 needs more memory than");
  EXPECT_EQ(registry.Find("f"), before);
  Reserve("c", "100", "counting");
  EXPECT_EQ(refusal("c", "10"),
            "-ERR cannot fold: a counting filter cannot be folded; " + test::TypesThatCan(test::Folds) + "\r\n");
  EXPECT_EQ(Reply({"BF.FOLD", "f"}), test::ArityReply("bf.fold"));
}

TEST_F(FoldCommandsTest, WithoutMemoryItStaysAsItIs) {
  Reserve("f", "1000000");
  budget.set_limit_bytes(budget.used_bytes() + 1000);
  EXPECT_EQ(Reply({"BF.FOLD", "f", "400000"}).substr(0, 4), "-OOM");
  EXPECT_EQ(Reply({"BF.INFO", "f", "CAPACITY"}), "*1\r\n:1000000\r\n");
}

TEST_F(FoldCommandsTest, AMergeFoldsTheLargerOne) {
  for (const bool into_the_larger : {false, true}) {
    Reply({"FLUSHALL"});
    Reserve("large", "100000");
    Reserve("small", "100000");
    ASSERT_EQ(Reply({"BF.FOLD", "small", "10000"}), kOk);
    Add("large", 0, 1000);
    Add("small", 500, 1000);
    const std::string into = into_the_larger ? "large" : "small";
    ASSERT_EQ(Reply({"BF.MERGE", into, into_the_larger ? "small" : "large"}), kOk);
    EXPECT_EQ(Reply({"BF.INFO", into, "CAPACITY"}), "*1\r\n:10000\r\n");
    EXPECT_EQ(Found(into, 0, 1500), 1500);
    EXPECT_LT(Found(into, 1500, 5000), 50);
    ASSERT_EQ(Reply({"BF.MERGE", "both", "large", "small"}), kOk);
    EXPECT_EQ(Found("both", 0, 1500), 1500);
    EXPECT_EQ(Reply({"BF.INFO", "both", "CAPACITY"}), "*1\r\n:10000\r\n");
  }
}

TEST_F(FoldCommandsTest, AMergeThatIsRefusedFoldsNothing) {
  Reserve("large", "100000");
  Reserve("small", "100000");
  ASSERT_EQ(Reply({"BF.FOLD", "small", "10000"}), kOk);
  Add("large", 0, 9000);
  Add("small", 9000, 9000);
  EXPECT_EQ(Reply({"BF.MERGE", "large", "small"}).substr(0, 37), "-ERR cannot merge: together they hold");
  EXPECT_EQ(Reply({"BF.INFO", "large", "CAPACITY"}), "*1\r\n:100000\r\n");
}

}  // namespace
}  // namespace bitsieve::commands
