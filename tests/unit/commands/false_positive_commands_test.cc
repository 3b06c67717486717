#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/filter/false_positive_list.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;

class FalsePositiveCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  // A full filter of this name and type; returns items that it shows and that were never added.
  std::vector<std::string> Fill(const std::string& name, const std::string& type) {
    EXPECT_EQ(Reply({"BF.RESERVE", name, "0.2", "200", "TYPE", type, "SEED", "1"}), "+OK\r\n");
    for (int i = 0; i < 200; ++i) Reply({"BF.ADD", name, "item" + std::to_string(i)});
    std::vector<std::string> wrong;
    for (int i = 0; i < 100; ++i) {
      const std::string item = "other" + std::to_string(i);
      if (Reply({"BF.EXISTS", name, item}) == ":1\r\n") wrong.push_back(item);
    }
    EXPECT_GT(wrong.size(), 3U);
    return wrong;
  }
};

TEST_F(FalsePositiveCommandsTest, AreDeniedUntilTheyAreAdded) {
  constexpr auto kDenyAndChange = [](const core::FilterTypeRow& type) { return type.can.deny && !type.can.freeze; };
  for (const std::string& type : test::TypeNames(kDenyAndChange)) {
    const std::vector<std::string> wrong = Fill(type, type);
    EXPECT_EQ(Reply({"BF.FPADD", type, wrong[0], wrong[1], "", wrong[0]}), "*4\r\n:1\r\n:1\r\n:0\r\n:0\r\n");
    EXPECT_EQ(Reply({"BF.MEXISTS", type, wrong[0], wrong[1], wrong[2]}), "*3\r\n:0\r\n:0\r\n:1\r\n");
    EXPECT_EQ(Reply({"BF.INFO", type, "FALSEPOSITIVES"}), "*1\r\n:2\r\n");
    EXPECT_THAT(Reply({"BF.INFO", type, "FULL"}), HasSubstr("+Known false positives\r\n:2\r\n"));
    const uint64_t items = registry.Find(type)->ItemCount();
    EXPECT_EQ(Reply({"BF.ADD", type, wrong[0]}), ":1\r\n");
    EXPECT_EQ(Reply({"BF.CARD", type}), ":" + std::to_string(items + 1) + "\r\n");
    EXPECT_EQ(Reply({"BF.ADD", type, wrong[0]}), ":0\r\n");
    EXPECT_EQ(Reply({"BF.EXISTS", type, wrong[0]}), ":1\r\n");
    EXPECT_EQ(Reply({"BF.INFO", type, "FALSEPOSITIVES"}), "*1\r\n:1\r\n");
  }
}

TEST_F(FalsePositiveCommandsTest, AreCountedAsMisses) {
  const std::vector<std::string> wrong = Fill("f", "blocked");
  Reply({"BF.FPADD", "f", wrong[0]});
  const std::string hits = Reply({"BF.INFO", "f", "HITS"});
  Reply({"BF.EXISTS", "f", wrong[0]});
  EXPECT_EQ(Reply({"BF.INFO", "f", "HITS"}), hits);
}

TEST_F(FalsePositiveCommandsTest, TypesThatCannotSaySo) {
  constexpr auto kCannot = [](const core::FilterTypeRow& type) { return type.made.by_default && !type.can.deny; };
  for (const std::string& type : test::TypeNames(kCannot)) {
    Reply({"BF.RESERVE", type, "0.01", "100", "TYPE", type});
    EXPECT_EQ(Reply({"BF.FPADD", type, "x"}),
              "-ERR a " + type + " filter cannot record false positives; " + test::TypesThatCan(test::Denies) + "\r\n");
  }
  EXPECT_EQ(Reply({"BF.FPADD", "none", "x"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.FPADD", "none"}), test::ArityReply("bf.fpadd"));
  EXPECT_EQ(registry.Find("none"), nullptr) << "it makes none";
}

TEST_F(FalsePositiveCommandsTest, BeyondTheMostTheErrorSaysHowMany) {
  ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.25", "1000", "NONSCALING"}), "+OK\r\n");
  Words add{"BF.MADD", "f"}, note{"BF.FPADD", "f"};
  for (int i = 0; i < 1'000; ++i) add.push_back(std::to_string(i));
  Reply(add);
  for (uint32_t i = 0; i < 8 * core::FalsePositiveList::kMaxHashes; ++i) note.push_back("other" + std::to_string(i));
  EXPECT_THAT(Reply(note), HasSubstr("-ERR too many false positives: a filter can record at most 65536\r\n"));
  EXPECT_EQ(Reply({"BF.INFO", "f", "FALSEPOSITIVES"}), "*1\r\n:65536\r\n");
}

}  // namespace
}  // namespace bitsieve::server
