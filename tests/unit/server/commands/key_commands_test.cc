#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::StartsWith;

class KeyCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  void Make(const std::string& name) { ASSERT_EQ(Reply({"BF.ADD", name, "item of " + name}), ":1\r\n"); }
};

TEST_F(KeyCommandsTest, DeletingTellsHowManyThereWere) {
  Make("a");
  Make("b");
  EXPECT_EQ(Reply({"EXISTS", "a", "b", "c", "a"}), ":3\r\n");
  EXPECT_EQ(Reply({"DEL", "a", "c", "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"UNLINK", "b"}), ":1\r\n");
  EXPECT_EQ(Reply({"EXISTS", "a", "b"}), ":0\r\n");
  EXPECT_EQ(Reply({"DBSIZE"}), ":0\r\n");
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST_F(KeyCommandsTest, TypeIsRedisBlooms) {
  Make("a");
  EXPECT_EQ(Reply({"TYPE", "a"}), "+MBbloom--\r\n");
  EXPECT_EQ(Reply({"TYPE", "b"}), "+none\r\n");
}

TEST_F(KeyCommandsTest, KeysFitThePattern) {
  for (const char* name : {"one", "two", "three"}) Make(name);
  EXPECT_EQ(Reply({"KEYS", "t?o"}), "*1\r\n$3\r\ntwo\r\n");
  EXPECT_THAT(Reply({"KEYS", "*"}), StartsWith("*3\r\n"));
  EXPECT_EQ(Reply({"KEYS", "x*"}), "*0\r\n");
}

// Reads one SCAN reply: the next cursor, and the names into `names`.
std::string ReadScan(const std::string& reply, std::multiset<std::string>& names) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < reply.size();) {
    const size_t end = reply.find("\r\n", at);
    lines.push_back(reply.substr(at, end - at));
    at = end + 2;
  }
  EXPECT_EQ(lines[0], "*2");
  for (size_t i = 5; i < lines.size(); i += 2) names.insert(lines[i]);
  return lines[2];
}

TEST_F(KeyCommandsTest, ScanVisitsEveryNameOnce) {
  std::set<std::string> made;
  for (int i = 0; i < 500; ++i) {
    Make("name" + std::to_string(i));
    made.insert("name" + std::to_string(i));
  }
  std::multiset<std::string> seen;
  std::string cursor = "0";
  int calls = 0;
  do {
    cursor = ReadScan(Reply({"SCAN", cursor, "COUNT", "20"}), seen);
    ++calls;
  } while (cursor != "0");
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()), made);
  EXPECT_EQ(seen.size(), made.size());
  EXPECT_GT(calls, 10);
  EXPECT_LE(calls, 26);
}

TEST_F(KeyCommandsTest, ScanChooses) {
  Make("apple");
  Make("pear");
  EXPECT_EQ(Reply({"SCAN", "0", "MATCH", "a*", "COUNT", "1000"}), "*2\r\n$1\r\n0\r\n*1\r\n$5\r\napple\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "TYPE", "string", "COUNT", "1000"}), "*2\r\n$1\r\n0\r\n*0\r\n");
  EXPECT_THAT(Reply({"SCAN", "0", "type", "mbbloom--", "count", "1000"}), StartsWith("*2\r\n$1\r\n0\r\n*2\r\n"));
  EXPECT_EQ(Reply({"SCAN", "18446744073709551615"}), "*2\r\n$1\r\n0\r\n*0\r\n");
}

TEST_F(KeyCommandsTest, ScanRefusesNonsense) {
  EXPECT_EQ(Reply({"SCAN", "x"}), "-ERR invalid cursor\r\n");
  EXPECT_EQ(Reply({"SCAN", "-1"}), "-ERR invalid cursor\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "MATCH"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "COUNT", "0"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "COUNT", "x"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "WHAT"}), "-ERR syntax error\r\n");
}

TEST_F(KeyCommandsTest, RenameReplaces) {
  Make("a");
  Make("b");
  EXPECT_EQ(Reply({"RENAME", "a", "b"}), "+OK\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "b", "item of a"}), ":1\r\n");
  EXPECT_EQ(Reply({"DBSIZE"}), ":1\r\n");
  EXPECT_EQ(Reply({"RENAME", "a", "b"}), "-ERR no such key\r\n");
  EXPECT_EQ(Reply({"RENAME", "b", "b"}), "+OK\r\n");
  EXPECT_EQ(Reply({"RENAME", "a", "a"}), "-ERR no such key\r\n");
}

TEST_F(KeyCommandsTest, RenameIfAbsentDoesNot) {
  Make("a");
  Make("b");
  EXPECT_EQ(Reply({"RENAMENX", "a", "b"}), ":0\r\n");
  EXPECT_EQ(Reply({"RENAMENX", "a", "a"}), ":0\r\n");
  EXPECT_EQ(Reply({"RENAMENX", "a", "c"}), ":1\r\n");
  EXPECT_EQ(Reply({"RENAMENX", "a", "c"}), "-ERR no such key\r\n");
}

TEST_F(KeyCommandsTest, RenameToALongNameTakesMemory) {
  Make("a");
  const uint64_t used = budget.used_bytes();
  budget.set_limit_bytes(used + 50'000);
  EXPECT_THAT(Reply({"RENAME", "a", std::string(60'000, 'n')}), StartsWith("-OOM"));
  EXPECT_EQ(Reply({"EXISTS", "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"RENAME", "a", "aaa"}), "+OK\r\n");
  EXPECT_EQ(budget.used_bytes(), used + 2);
}

TEST_F(KeyCommandsTest, CopiesAreEqualAndIndependent) {
  for (const char* type : {"classic", "blocked"}) {
    Reply({"FLUSHALL"});
    EXPECT_EQ(Reply({"BF.RESERVE", "a", "0.01", "10", "TYPE", type}), "+OK\r\n");
    for (int i = 0; i < 100; ++i) Reply({"BF.ADD", "a", std::to_string(i)});
    EXPECT_EQ(Replies({{"EXPIRE", "a", "10"}, {"COPY", "a", "b"}}), ":1\r\n:1\r\n");
    EXPECT_EQ(Reply({"TTL", "b"}), ":10\r\n");
    EXPECT_EQ(LastingInfo("a"), LastingInfo("b"));
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(Reply({"BF.EXISTS", "a", std::to_string(i)}), Reply({"BF.EXISTS", "b", std::to_string(i)}));
    }
    const std::string card = Reply({"BF.CARD", "a"});
    Reply({"BF.MADD", "b", "new 1", "new 2", "new 3", "new 4", "new 5"});
    EXPECT_EQ(Reply({"BF.CARD", "a"}), card);
    EXPECT_EQ(Replies({{"PERSIST", "a"}, {"TTL", "b"}}), ":1\r\n:10\r\n");
  }
}

TEST_F(KeyCommandsTest, CopyingReplacesOnlyIfAsked) {
  Make("a");
  Make("b");
  Reply({"EXPIRE", "b", "10"});
  EXPECT_EQ(Reply({"COPY", "a", "b"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "b", "item of b"}), ":1\r\n");
  EXPECT_EQ(Reply({"COPY", "a", "b", "replace"}), ":1\r\n");
  EXPECT_EQ(Replies({{"BF.EXISTS", "b", "item of a"}, {"TTL", "b"}}), ":1\r\n:-1\r\n");
  EXPECT_EQ(Reply({"COPY", "none", "c"}), ":0\r\n");
  EXPECT_EQ(Reply({"COPY", "none", "b", "REPLACE"}), ":0\r\n");
  EXPECT_EQ(Reply({"COPY", "a", "c", "DB", "0", "REPLACE"}), ":1\r\n");
  EXPECT_EQ(Reply({"DBSIZE"}), ":3\r\n");
}

TEST_F(KeyCommandsTest, CopyRefusesNonsense) {
  Make("a");
  EXPECT_EQ(Reply({"COPY", "a", "a"}), "-ERR source and destination objects are the same\r\n");
  EXPECT_EQ(Reply({"COPY", "a", "b", "DB", "1"}), "-ERR DB index is out of range\r\n");
  EXPECT_EQ(Reply({"COPY", "a", "b", "DB", "x"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"COPY", "a", "b", "DB"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"COPY", "a", "b", "FOO"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"COPY", "a"}), "-ERR wrong number of arguments for 'copy' command\r\n");
  budget.set_limit_bytes(budget.used_bytes() + 100);
  EXPECT_THAT(Reply({"COPY", "a", "b"}), StartsWith("-OOM"));
  EXPECT_THAT(Reply({"COPY", "a", "b", "REPLACE"}), StartsWith("-OOM"));
  EXPECT_EQ(Reply({"DBSIZE"}), ":1\r\n");
}

TEST_F(KeyCommandsTest, RandomKeyAndTouch) {
  EXPECT_EQ(Reply({"RANDOMKEY"}), "$-1\r\n");
  Make("a");
  EXPECT_EQ(Reply({"RANDOMKEY"}), "$1\r\na\r\n");
  EXPECT_EQ(Reply({"TOUCH", "a", "b", "a"}), ":2\r\n");
  Replies({{"HELLO", "3"}, {"DEL", "a"}});
  EXPECT_EQ(Reply({"RANDOMKEY"}), "_\r\n");
}

TEST_F(KeyCommandsTest, MemoryUsageIsWhatTheBudgetSays) {
  Make("name");
  const std::string expected = ":" + std::to_string(budget.used_bytes()) + "\r\n";
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "name"}), expected);
  EXPECT_EQ(Reply({"memory", "usage", "name", "samples", "5"}), expected);
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "none"}), "$-1\r\n");
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "name", "SAMPLES", "-1"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "name", "SAMPLES"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "name", "SAMPLES", "x"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "name", "FOO"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"MEMORY", "USAGE"}), "-ERR wrong number of arguments for 'memory|usage' command\r\n");
  EXPECT_EQ(Reply({"MEMORY", "FOO"}), "-ERR unknown subcommand 'FOO', must be one of: help, purge, usage\r\n");
}

TEST_F(KeyCommandsTest, FlushRemovesEverything) {
  for (const Words& flush : {Words{"FLUSHALL"}, Words{"FLUSHDB", "SYNC"}, Words{"flushall", "async"}}) {
    Make("a");
    EXPECT_EQ(Reply(flush), "+OK\r\n");
    EXPECT_EQ(Reply({"DBSIZE"}), ":0\r\n");
    EXPECT_EQ(Reply({"BF.EXISTS", "a", "item of a"}), ":0\r\n");
  }
  EXPECT_EQ(Reply({"FLUSHALL", "SLOWLY"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"FLUSHALL", "ASYNC", "SYNC"}), "-ERR wrong number of arguments for 'flushall' command\r\n");
}

}  // namespace
}  // namespace bitsieve::server
