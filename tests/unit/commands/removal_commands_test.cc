#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/families/bloom/bloom_types.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using test::kOk;

class RemovalCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  void UseResp3() { session.version = protocol::ProtocolVersion::kResp3; }
  void MakeCounting() {
    ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.000001", "1000", "TYPE", "counting", "SEED", "1"}), kOk);
  }
};

TEST_F(RemovalCommandsTest, DelTakesOneAdditionBack) {
  MakeCounting();
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.MADD", "f", "x", "x", "y"}), "*3\r\n:1\r\n:0\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":3\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"bf.del", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "y"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":1\r\n");
}

TEST_F(RemovalCommandsTest, PipelinesRunInOrder) {
  MakeCounting();
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"},
                     {"BF.DEL", "f", "x"},
                     {"BF.DEL", "f", "x"},
                     {"BF.EXISTS", "f", "x"},
                     {"BF.ADD", "f", "x"},
                     {"BF.COUNT", "f", "x"},
                     {"BF.COUNT", "f", "y"}}),
            ":1\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n:0\r\n");
}

TEST_F(RemovalCommandsTest, MultiDelAnswersEachItem) {
  MakeCounting();
  Words add{"BF.MADD", "f"}, remove{"BF.MDEL", "f"};
  std::string ones = "*200\r\n";
  for (int i = 0; i < 200; ++i) {
    add.push_back("item" + std::to_string(i));
    remove.push_back("item" + std::to_string(i));
    ones += ":1\r\n";
  }
  EXPECT_EQ(Reply(add), ones);
  EXPECT_EQ(Reply(remove), ones);
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.MADD", "f", "a"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "f", "a", "a", "b"}), "*3\r\n:1\r\n:0\r\n:0\r\n");
}

TEST_F(RemovalCommandsTest, CountTellsTheAdditions) {
  MakeCounting();
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":0\r\n");
  for (int i = 0; i < 20; ++i) Reply({"BF.ADD", "f", "x"});
  Reply({"BF.ADD", "f", "y"});
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":15\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "f", "y"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), ":0\r\n") << "saturated: it stays";
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "none", "x"}), ":0\r\n");
}

TEST_F(RemovalCommandsTest, Resp3AnswersYesOrNo) {
  MakeCounting();
  UseResp3();
  Reply({"BF.ADD", "f", "x"});
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), "#t\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), "#f\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "f", "x", "y"}), "*2\r\n#f\r\n#f\r\n");
}

TEST_F(RemovalCommandsTest, MissingFilter) {
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "f", "x"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f"}), test::ArityReply("bf.del"));
  EXPECT_EQ(Reply({"BF.MDEL", "f"}), test::ArityReply("bf.mdel"));
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x", "y"}), test::ArityReply("bf.count"));
  EXPECT_EQ(registry.Size(), 0u);
}

TEST_F(RemovalCommandsTest, KindsThatCannotSaySo) {
  constexpr auto kCannot = [](const core::FilterTypeRow& type) {
    return type.made.by_default && !type.can.remove && !type.can.count;
  };
  for (const std::string& type : test::TypeNames(kCannot)) {
    Reply({"BF.RESERVE", type, "0.01", "100", "TYPE", type});
    Reply({"BF.ADD", type, "x"});
    const std::string remove =
        "-ERR a " + type + " filter cannot remove items; " + test::TypesThatCan(test::Removes) + "\r\n";
    const std::string count =
        "-ERR a " + type + " filter cannot count items; " + test::TypesThatCan(test::Counts) + "\r\n";
    EXPECT_EQ(Reply({"BF.DEL", type, "x"}), remove);
    EXPECT_EQ(Reply({"BF.MDEL", type, "x", "y"}), remove);
    EXPECT_EQ(Reply({"BF.COUNT", type, "x"}), count);
    EXPECT_EQ(Replies({{"BF.DEL", type, "x"}, {"BF.DEL", type, "y"}}), remove + remove);
    EXPECT_EQ(Reply({"BF.EXISTS", type, "x"}), ":1\r\n");
  }
}

TEST_F(RemovalCommandsTest, CounterBitsAreChosenWithTheFilter) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f4", "0.01", "100", "TYPE", "counting"}), kOk);
  EXPECT_EQ(Reply({"BF.RESERVE", "f8", "0.01", "100", "COUNTERBITS", "8", "TYPE", "Counting"}), kOk);
  EXPECT_EQ(Reply({"BF.INSERT", "i8", "TYPE", "counting", "counterbits", "8", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_EQ(core::CounterBitsOf(registry.Find("f4")->params()), 4u);
  EXPECT_EQ(core::CounterBitsOf(registry.Find("f8")->params()), 8u);
  EXPECT_EQ(core::CounterBitsOf(registry.Find("i8")->params()), 8u);
  EXPECT_NEAR(registry.Find("f8")->Info().bits_per_item / registry.Find("f4")->Info().bits_per_item, 2, 0.01);

  const std::string bad = "-ERR bad counter bits: they must be 4 or 8\r\n";
  const std::string not_counting = "-ERR COUNTERBITS is for TYPE counting only\r\n";
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting", "COUNTERBITS"}), "-ERR no counter bits\r\n");
  for (const char* bits : {"5", "0", "-4", "x", "16"}) {
    EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting", "COUNTERBITS", bits}), bad);
    EXPECT_EQ(Reply({"BF.INSERT", "f", "TYPE", "counting", "COUNTERBITS", bits, "ITEMS", "x"}), bad);
  }
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "COUNTERBITS", "4"}), not_counting);
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "COUNTERBITS", "4", "TYPE", "classic"}), not_counting);
  EXPECT_EQ(Reply({"BF.INSERT", "f", "COUNTERBITS", "8", "ITEMS", "x"}), not_counting);
  EXPECT_EQ(Reply({"BF.INSERT", "f", "COUNTERBITS", "ITEMS", "x"}), bad);
  EXPECT_EQ(registry.Find("f"), nullptr);
}

TEST_F(RemovalCommandsTest, IfNotExistsComparesCounterBits) {
  const Words eight{"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting", "COUNTERBITS", "8", "IFNOTEXISTS"};
  EXPECT_EQ(Reply(eight), kOk);
  EXPECT_EQ(Reply(eight), kOk);
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting", "COUNTERBITS", "4", "IFNOTEXISTS"}),
            "-ERR item exists with a different number of counter bits: it has 8, not 4\r\n");
}

TEST_F(RemovalCommandsTest, DefaultTypeMayBeCounting) {
  settings.default_type = core::kCountingType;
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"}, {"BF.DEL", "f", "x"}, {"BF.EXISTS", "f", "x"}}), ":1\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.RESERVE", "g", "0.01", "100", "COUNTERBITS", "8"}), kOk);
}

TEST_F(RemovalCommandsTest, InfoTellsTheCounterBitsOfThisKindOnly) {
  MakeCounting();
  EXPECT_EQ(Reply({"BF.INFO", "f", "COUNTERBITS"}), "*1\r\n:4\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "TYPE"}), "*1\r\n$8\r\ncounting\r\n");
  const std::string all = Reply({"BF.INFO", "f", "FULL"});
  EXPECT_THAT(all, StartsWith("*36\r\n"));
  EXPECT_THAT(all, EndsWith("+Counter bits\r\n:4\r\n"));
  UseResp3();
  EXPECT_THAT(Reply({"BF.INFO", "f", "FULL"}), StartsWith("%18\r\n"));
  EXPECT_EQ(Reply({"BF.INFO", "f", "counterbits"}), "%1\r\n+Counter bits\r\n:4\r\n");
  Reply({"BF.RESERVE", "b", "0.01", "100"});
  EXPECT_EQ(Reply({"BF.INFO", "b", "COUNTERBITS"}), "-Invalid information value\r\n");
  EXPECT_THAT(Reply({"BF.INFO", "b", "FULL"}), testing::Not(HasSubstr("Counter bits")));
}

TEST_F(RemovalCommandsTest, VerbsOverSeveralFilters) {
  MakeCounting();
  Reply({"BF.MADD", "f", "x", "x", "y"});
  EXPECT_EQ(Reply({"COPY", "f", "g"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "g", "x"}), ":2\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "g", "x", "x", "x"}), "*3\r\n:1\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":2\r\n");
}

TEST_F(RemovalCommandsTest, ClearKeepsTheCounterBits) {
  Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting", "COUNTERBITS", "8"});
  Reply({"BF.ADD", "f", "x"});
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), kOk);
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "COUNTERBITS"}), "*1\r\n:8\r\n");
}

}  // namespace
}  // namespace bitsieve::server
