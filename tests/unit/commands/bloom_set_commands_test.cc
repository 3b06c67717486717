#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;
using testing::StartsWith;

class BloomSetCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  void Make(const std::string& name, const std::string& capacity = "1000", const std::string& type = "blocked",
            const std::string& seed = "7") {
    ASSERT_EQ(Reply({"BF.RESERVE", name, "0.01", capacity, "TYPE", type, "SEED", seed}), "+OK\r\n");
  }
  void Fill(const std::string& name, int begin, int end) {
    Words add{"BF.MADD", name};
    for (int i = begin; i < end; ++i) add.push_back(std::to_string(i));
    ASSERT_THAT(Reply(add), StartsWith("*"));
  }
  // The integers of a reply, in order.
  static std::vector<int64_t> Integers(const std::string& reply) {
    std::vector<int64_t> numbers;
    for (size_t at = 0; (at = reply.find(':', at)) != std::string::npos; ++at) {
      numbers.push_back(std::strtoll(reply.c_str() + at + 1, nullptr, 10));
    }
    return numbers;
  }
};

TEST_F(BloomSetCommandsTest, ExistsInAsksEach) {
  Make("a", "10", "classic", "1");
  Make("b", "10", "blocked", "2");
  Make("c", "10", "blocked", "3");
  Replies({{"BF.ADD", "a", "x"}, {"BF.ADD", "c", "x"}});
  EXPECT_EQ(Reply({"BF.EXISTSIN", "x", "a", "b", "none", "c", "a"}), "*5\r\n:1\r\n:0\r\n$-1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTSIN", "y", "none"}), "*1\r\n$-1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTSIN", "x"}), test::ArityReply("bf.existsin"));
  Reply({"HELLO", "3"});
  EXPECT_EQ(Reply({"BF.EXISTSIN", "x", "a", "none", "b"}), "*3\r\n#t\r\n_\r\n#f\r\n");
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("keyspace_hits:4\r\nkeyspace_misses:2\r\n"));
}

TEST_F(BloomSetCommandsTest, ExistsInAsksMoreThanOneChunk) {
  Words command{"BF.EXISTSIN", "x"};
  std::string expected = "*200\r\n";
  for (int i = 0; i < 200; ++i) {
    const std::string name = "f" + std::to_string(i);
    command.push_back(name);
    if (i % 3 != 0) Make(name, "10", "blocked", std::to_string(i));
    if (i % 3 == 1) Reply({"BF.ADD", name, "x"});
    expected += i % 3 == 0 ? "$-1\r\n" : i % 3 == 1 ? ":1\r\n" : ":0\r\n";
  }
  EXPECT_EQ(Reply(command), expected);
}

TEST_F(BloomSetCommandsTest, ExistsInSeesWhatRanBeforeInItsBatch) {
  EXPECT_EQ(Replies({{"BF.EXISTSIN", "x", "a"},
                     {"BF.ADD", "a", "x"},
                     {"BF.EXISTSIN", "x", "a"},
                     {"BF.EXISTS", "a", "x"},
                     {"DEL", "a"},
                     {"BF.EXISTSIN", "x", "a"}}),
            "*1\r\n$-1\r\n:1\r\n*1\r\n:1\r\n:1\r\n:1\r\n*1\r\n$-1\r\n");
}

TEST_F(BloomSetCommandsTest, StrictExistsMindsAMissingFilter) {
  Make("a");
  Reply({"BF.ADD", "a", "x"});
  EXPECT_EQ(Replies({{"BF.EXISTS", "a", "x", "STRICT"},
                     {"BF.EXISTS", "a", "y"},
                     {"BF.EXISTS", "a", "y", "strict"},
                     {"BF.EXISTS", "none", "x", "STRICT"},
                     {"BF.EXISTS", "none", "x"},
                     {"BF.EXISTS", "a", "x", "FOO"},
                     {"BF.EXISTS", "none", "x", "FOO"},
                     {"BF.EXISTS", "a", "x", "STRICT", "x"},
                     {"BF.EXISTS", "a"}}),
            ":1\r\n:0\r\n:0\r\n-ERR not found\r\n:0\r\n-ERR syntax error\r\n-ERR syntax error\r\n" +
                test::ArityReply("bf.exists") + test::ArityReply("bf.exists"));
}

TEST_F(BloomSetCommandsTest, EstimatesOneTwoAndThree) {
  for (const char* type : {"classic", "blocked"}) {
    Reply({"FLUSHALL"});
    for (const char* name : {"a", "b", "c"}) Make(name, "10000", type);
    Fill("a", 0, 4'000);
    Fill("b", 3'000, 7'000);
    const std::string two = Reply({"BF.ESTIMATE", "a", "b"});
    EXPECT_THAT(two, StartsWith("*6\r\n$5\r\nItems\r\n*2\r\n:"));
    EXPECT_THAT(two, HasSubstr("$5\r\nUnion\r\n:"));
    EXPECT_THAT(two, HasSubstr("$12\r\nIntersection\r\n:"));
    const std::vector<int64_t> numbers = Integers(two);
    ASSERT_EQ(numbers.size(), 4u);
    EXPECT_NEAR(numbers[0], 4'000, 64);
    EXPECT_NEAR(numbers[1], 4'000, 64);
    EXPECT_NEAR(numbers[2], 7'000, 84);
    EXPECT_NEAR(numbers[3], 1'000, 150);
    const std::string three = Reply({"BF.ESTIMATE", "c", "b", "a"});
    EXPECT_THAT(three, StartsWith("*4\r\n$5\r\nItems\r\n*3\r\n:0\r\n"));
    EXPECT_EQ(Integers(three)[3], numbers[2]);
    EXPECT_EQ(Reply({"BF.ESTIMATE", "c"}), "*4\r\n$5\r\nItems\r\n*1\r\n:0\r\n$5\r\nUnion\r\n:0\r\n");
    EXPECT_THAT(Reply({"BF.ESTIMATE", "c", "a"}), HasSubstr("$12\r\nIntersection\r\n:0\r\n"));
  }
  Reply({"HELLO", "3"});
  EXPECT_EQ(Reply({"BF.ESTIMATE", "c"}), "%2\r\n$5\r\nItems\r\n*1\r\n:0\r\n$5\r\nUnion\r\n:0\r\n");
}

TEST_F(BloomSetCommandsTest, EstimateRefuses) {
  Make("a");
  Make("seed", "1000", "blocked", "8");
  Make("capacity", "2000");
  Make("type", "1000", "classic");
  EXPECT_EQ(Reply({"BF.ESTIMATE", "a", "none"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.ESTIMATE", "a", "seed"}), "-ERR cannot merge: they differ in their seed: 7 and 8\r\n");
  EXPECT_EQ(Reply({"BF.ESTIMATE", "a", "capacity"}),
            "-ERR cannot merge: they differ in their capacity: 1000 and 2000\r\n");
  EXPECT_EQ(Reply({"BF.ESTIMATE", "a", "type"}),
            "-ERR cannot merge: they differ in their type: blocked and classic\r\n");
  EXPECT_EQ(Reply({"BF.ESTIMATE"}), test::ArityReply("bf.estimate"));
}

TEST_F(BloomSetCommandsTest, MergeUnites) {
  for (const char* type : {"classic", "blocked"}) {
    Reply({"FLUSHALL"});
    for (const char* name : {"a", "b"}) Make(name, "1000", type);
    Fill("a", 0, 300);
    Fill("b", 200, 500);
    EXPECT_EQ(Reply({"BF.MERGE", "new", "a", "b"}), "+OK\r\n");
    for (int i = 0; i < 500; ++i) EXPECT_EQ(Reply({"BF.EXISTS", "new", std::to_string(i)}), ":1\r\n") << i;
    EXPECT_NEAR(Integers(Reply({"BF.CARD", "new"}))[0], 500, 25);
    EXPECT_NEAR(Integers(Reply({"BF.CARD", "a"}))[0], 300, 5) << "sources stay as they are";
    EXPECT_EQ(Reply({"BF.MERGE", "a", "a", "b"}), "+OK\r\n") << "into one that is there";
    for (int i = 0; i < 500; ++i) EXPECT_EQ(Reply({"BF.EXISTS", "a", std::to_string(i)}), ":1\r\n") << i;
    EXPECT_NEAR(Integers(Reply({"BF.CARD", "a"}))[0], 500, 25);
  }
}

TEST_F(BloomSetCommandsTest, MergeRefuses) {
  Make("a");
  Make("seed", "1000", "blocked", "8");
  EXPECT_EQ(Reply({"BF.MERGE", "new", "none"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.MERGE", "seed", "a"}), "-ERR cannot merge: they differ in their seed: 8 and 7\r\n");
  EXPECT_EQ(Reply({"BF.MERGE", "new", "a", "seed"}), "-ERR cannot merge: they differ in their seed: 7 and 8\r\n");
  EXPECT_EQ(Reply({"BF.MERGE", "a"}), test::ArityReply("bf.merge"));
  Make("b");
  Fill("a", 0, 900);
  Fill("b", 1'000, 1'900);
  EXPECT_THAT(Reply({"BF.MERGE", "new", "a", "b"}), StartsWith("-ERR cannot merge: together they hold about 1"));
  EXPECT_THAT(Reply({"BF.MERGE", "a", "b"}), StartsWith("-ERR cannot merge: together they hold about 1"));
  EXPECT_THAT(Reply({"BF.EXISTS", "a", "1500"}), ":0\r\n") << "nothing was merged";
  EXPECT_EQ(Reply({"EXISTS", "new"}), ":0\r\n");
  budget.set_limit_bytes(budget.used_bytes() + 100);
  EXPECT_THAT(Reply({"BF.MERGE", "new", "a"}), StartsWith("-OOM"));
}

}  // namespace
}  // namespace bitsieve::server
