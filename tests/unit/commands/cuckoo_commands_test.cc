#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;
using testing::StartsWith;

using test::kOk;
constexpr const char* kWrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";

class CuckooCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  void UseResp3() { session.version = protocol::ProtocolVersion::kResp3; }
  std::string Arity(const std::string& name) { return test::ArityReply(name); }
};

TEST_F(CuckooCommandsTest, ReserveChecksInRedisBloomsOrder) {
  const auto refused = [&](const Words& rest, const std::string& error) {
    Words command{"CF.RESERVE", "f"};
    command.insert(command.end(), rest.begin(), rest.end());
    EXPECT_EQ(Reply(command), "-" + error + "\r\n") << testing::PrintToString(rest);
  };
  EXPECT_EQ(Reply({"CF.RESERVE", "f"}), Arity("cf.reserve"));
  EXPECT_EQ(Reply({"CF.RESERVE", "f", "100", "BUCKETSIZE"}), Arity("cf.reserve"));
  refused({"x"}, "Bad capacity");
  refused({"x", "BUCKETSIZE", "x"}, "Bad capacity");
  refused({"1", "MAXITERATIONS", "x"}, "Couldn't parse MAXITERATIONS");
  refused({"1", "MAXITERATIONS", "0"}, "MAXITERATIONS: value must be in the range [1, 65535]");
  refused({"1", "BUCKETSIZE", "0", "MAXITERATIONS", "65536"}, "MAXITERATIONS: value must be in the range [1, 65535]");
  refused({"1", "EXPANSION", "x", "BUCKETSIZE", "x"}, "Couldn't parse BUCKETSIZE");
  refused({"1", "BUCKETSIZE", "256"}, "BUCKETSIZE: value must be in the range [1, 255]");
  refused({"1", "EXPANSION", "1.5"}, "Couldn't parse EXPANSION");
  refused({"1", "EXPANSION", "-1"}, "EXPANSION: value must be in the range [0, 32768]");
  refused({"1", "EXPANSION", "32769"}, "EXPANSION: value must be in the range [0, 32768]");
  refused({"3"}, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
  refused({"-1"}, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
  refused({"9", "BUCKETSIZE", "5"}, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
  refused({"1073741825"}, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
  refused({"100", "NONSCALING", "1"}, "ERR unknown option 'NONSCALING'");
  EXPECT_EQ(Reply({"CF.RESERVE", "f", "10", "bucketsize", "5", "expansion", "3", "maxiterations", "7"}), kOk);
  EXPECT_EQ(Reply({"CF.DEBUG", "f"}),
            "$76\r\nbktsize:5 buckets:2 items:0 deletes:0 filters:1 max_iterations:7 expansion:4\r\n");
  refused({"100"}, "ERR item exists");
  EXPECT_EQ(Reply({"BF.RESERVE", "b", "0.01", "100"}), kOk);
  EXPECT_EQ(Reply({"CF.RESERVE", "b", "100"}), kWrongType);
}

TEST_F(CuckooCommandsTest, OfARepeatedOptionTheFirstCounts) {
  EXPECT_EQ(Reply({"CF.RESERVE", "f", "128", "EXPANSION", "2", "BUCKETSIZE", "4", "EXPANSION", "x"}), kOk);
  EXPECT_THAT(Reply({"CF.DEBUG", "f"}), HasSubstr("bktsize:4 buckets:32 "));
  EXPECT_THAT(Reply({"CF.DEBUG", "f"}), HasSubstr("expansion:2"));
}

TEST_F(CuckooCommandsTest, WithoutWorkersARemovalCompactsALargeFilterItself) {
  Reply({"CF.RESERVE", "c", "20000", "EXPANSION", "1"});
  for (int i = 0; i < 60'000; i += 1000) {
    Words words{"CF.INSERT", "c", "ITEMS"};
    for (int item = i; item < i + 1000; ++item) words.push_back(std::to_string(item));
    Reply(words);
  }
  for (int i = 0; i < 59'000; ++i) ASSERT_EQ(Reply({"CF.DEL", "c", std::to_string(i)}), ":1\r\n");
  EXPECT_THAT(Reply({"CF.DEBUG", "c"}), HasSubstr("items:1000 "));
  EXPECT_THAT(Reply({"CF.DEBUG", "c"}), HasSubstr("filters:1 "));
  for (int i = 59'000; i < 60'000; ++i) ASSERT_EQ(Reply({"CF.EXISTS", "c", std::to_string(i)}), ":1\r\n");
}

TEST_F(CuckooCommandsTest, DefaultsComeFromTheOptions) {
  settings.cf_bucket_size = 4;
  settings.cf_initial_size = 64;
  settings.cf_max_iterations = 9;
  settings.cf_expansion_factor = 2;
  const std::string fields = " deletes:0 filters:1 max_iterations:9 expansion:2\r\n";
  EXPECT_EQ(Reply({"CF.ADD", "a", "x"}), ":1\r\n");
  EXPECT_THAT(Reply({"CF.DEBUG", "a"}), HasSubstr("bktsize:4 buckets:16 items:1" + fields));
  EXPECT_EQ(Reply({"CF.INSERT", "i", "CAPACITY", "8", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_THAT(Reply({"CF.DEBUG", "i"}), HasSubstr("bktsize:4 buckets:2 items:1" + fields));
  EXPECT_EQ(Reply({"CF.RESERVE", "r", "32"}), kOk);
  EXPECT_THAT(Reply({"CF.DEBUG", "r"}), HasSubstr("bktsize:4 buckets:8 items:0" + fields));
}

TEST_F(CuckooCommandsTest, AddCountsAndAddnxDoesNot) {
  EXPECT_EQ(Replies({{"CF.ADD", "f", "x"},
                     {"CF.ADD", "f", "x"},
                     {"CF.ADDNX", "f", "x"},
                     {"CF.ADDNX", "f", "y"},
                     {"CF.COUNT", "f", "x"},
                     {"CF.COUNT", "f", "y"},
                     {"CF.COUNT", "f", "z"},
                     {"CF.EXISTS", "f", "x"},
                     {"CF.EXISTS", "f", "z"},
                     {"CF.MEXISTS", "f", "x", "y", "z"}}),
            ":1\r\n:1\r\n:0\r\n:1\r\n:2\r\n:1\r\n:0\r\n:1\r\n:0\r\n*3\r\n:1\r\n:1\r\n:0\r\n");
  UseResp3();
  EXPECT_EQ(Replies({{"CF.ADD", "f", "x"},
                     {"CF.ADDNX", "f", "x"},
                     {"CF.COUNT", "f", "x"},
                     {"CF.EXISTS", "f", "x"},
                     {"CF.MEXISTS", "f", "x", "z"}}),
            "#t\r\n#f\r\n:3\r\n#t\r\n*2\r\n#t\r\n#f\r\n");
}

TEST_F(CuckooCommandsTest, DelTakesOneCopy) {
  EXPECT_EQ(Replies({{"CF.ADD", "f", "x"},
                     {"CF.ADD", "f", "x"},
                     {"CF.DEL", "f", "x"},
                     {"CF.EXISTS", "f", "x"},
                     {"CF.DEL", "f", "x"},
                     {"CF.DEL", "f", "x"},
                     {"CF.EXISTS", "f", "x"}}),
            ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Reply({"CF.DEL", "none", "x"}), "-Not found\r\n");
}

TEST_F(CuckooCommandsTest, MissingNames) {
  EXPECT_EQ(Reply({"CF.EXISTS", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"CF.MEXISTS", "f", "x", "y"}), "*2\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Reply({"CF.COUNT", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"CF.COMPACT", "f"}), "-Cuckoo filter was not found\r\n");
  for (const Words& command : {Words{"CF.INFO", "f"},
                               {"CF.DEBUG", "f"},
                               {"CF.SCANDUMP", "f", "0"},
                               {"CF.LOADCHUNK", "f", "9", "x"},
                               {"CF.INSERT", "f", "NOCREATE", "ITEMS", "x"},
                               {"CF.INSERTNX", "f", "NOCREATE", "ITEMS", "x"}}) {
    EXPECT_EQ(Reply(command), "-ERR not found\r\n") << command[0];
  }
  EXPECT_EQ(Reply({"EXISTS", "f"}), ":0\r\n");
}

TEST_F(CuckooCommandsTest, OtherKindsAreRefusedAsRedisBloomDoes) {
  ASSERT_EQ(Reply({"BF.ADD", "b", "x"}), ":1\r\n");
  for (const Words& command : {Words{"CF.ADD", "b", "x"},
                               {"CF.ADDNX", "b", "x"},
                               {"CF.INSERT", "b", "ITEMS", "x"},
                               {"CF.INSERTNX", "b", "ITEMS", "x"},
                               {"CF.INFO", "b"},
                               {"CF.DEBUG", "b"},
                               {"CF.SCANDUMP", "b", "0"},
                               {"CF.LOADCHUNK", "b", "1", "x"},
                               {"CF.LOADCHUNK", "b", "9", "x"}}) {
    EXPECT_EQ(Reply(command), kWrongType) << command[0];
  }
  EXPECT_EQ(Reply({"CF.EXISTS", "b", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"CF.MEXISTS", "b", "x"}), "*1\r\n:0\r\n");
  EXPECT_EQ(Reply({"CF.COUNT", "b", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"CF.DEL", "b", "x"}), "-Not found\r\n");
  EXPECT_EQ(Reply({"CF.COMPACT", "b"}), "-Cuckoo filter was not found\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "b"}), ":1\r\n");
}

TEST_F(CuckooCommandsTest, InsertAnswersEachItem) {
  EXPECT_EQ(Reply({"CF.INSERT", "f", "ITEMS", "a", "b", "a"}), "*3\r\n:1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"CF.INSERTNX", "f", "ITEMS", "a", "c"}), "*2\r\n:0\r\n:1\r\n");
  UseResp3();
  EXPECT_EQ(Reply({"CF.INSERT", "f", "NOCREATE", "ITEMS", "a"}), "*1\r\n#t\r\n");
  EXPECT_EQ(Reply({"CF.INSERTNX", "f", "ITEMS", "a", "d"}), "*2\r\n:0\r\n:1\r\n");
}

TEST_F(CuckooCommandsTest, InsertRefusesWhatItCannotRead) {
  const auto refused = [&](const Words& rest, const std::string& reply) {
    for (const char* name : {"cf.insert", "cf.insertnx"}) {
      Words command{name, "f"};
      command.insert(command.end(), rest.begin(), rest.end());
      EXPECT_EQ(Reply(command), reply == "arity" ? Arity(name) : reply) << testing::PrintToString(command);
    }
  };
  refused({"ITEMS"}, "arity");
  refused({"NOCREATE", "ITEMS"}, "arity");
  refused({"CAPACITY", "100"}, "arity");
  refused({"NOCREATE", "CAPACITY"}, "arity");
  refused({"CAPACITY", "x", "ITEMS", "a"}, "-Bad capacity\r\n");
  refused({"CAPACITY", "3", "ITEMS", "a"}, "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]\r\n");
  refused({"ERROR", "0.1", "ITEMS", "a"}, "-Unknown argument received\r\n");
  EXPECT_EQ(Reply({"EXISTS", "f"}), ":0\r\n");
}

TEST_F(CuckooCommandsTest, AFullFilterThatDoesNotGrow) {
  ASSERT_EQ(Reply({"CF.RESERVE", "f", "4", "EXPANSION", "0"}), kOk);
  Words insert{"CF.INSERT", "f", "ITEMS"};
  for (int i = 0; i < 100; ++i) insert.push_back("x");
  const std::string reply = Reply(insert);
  EXPECT_THAT(reply, StartsWith("*100\r\n:1\r\n:1\r\n"));
  EXPECT_THAT(reply, testing::EndsWith(":-1\r\n:-1\r\n"));
  EXPECT_EQ(Reply({"CF.ADD", "f", "x"}), "-Filter is full\r\n");
  EXPECT_EQ(Reply({"CF.ADDNX", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), "-ERR non scaling filter is full\r\n");
  UseResp3();
  EXPECT_EQ(Reply({"CF.INSERT", "f", "ITEMS", "x"}), "*1\r\n#f\r\n");
  EXPECT_EQ(Reply({"CF.INSERTNX", "f", "ITEMS", "x"}), "*1\r\n:0\r\n");
  // Whatever is full, something new is, too.
  int refusals = 0;
  for (int i = 0; i < 20; ++i) refusals += Reply({"CF.INSERTNX", "f", "ITEMS", std::to_string(i)}) == "*1\r\n:-1\r\n";
  EXPECT_GT(refusals, 10);
}

TEST_F(CuckooCommandsTest, MaximumExpansionsAreAskedBeforeAnythingElse) {
  ASSERT_EQ(Reply({"CF.RESERVE", "f", "4"}), kOk);
  std::vector<Words> adds;
  for (int i = 0; i < 124; ++i) adds.push_back({"CF.ADD", "f", std::to_string(i)});
  std::string ones;
  for (int i = 0; i < 124; ++i) ones += ":1\r\n";
  EXPECT_EQ(Replies(adds), ones);
  const std::string refusal = "-Maximum expansions reached\r\n";
  EXPECT_EQ(Replies({{"CF.ADD", "f", "0"}, {"CF.ADD", "f", "new"}}), refusal + refusal);
  EXPECT_EQ(Reply({"CF.ADDNX", "f", "0"}), refusal);
  EXPECT_EQ(Reply({"CF.INSERT", "f", "ITEMS", "0"}), refusal);
  EXPECT_EQ(Reply({"CF.INSERTNX", "f", "ITEMS", "0"}), refusal);
  settings.cf_max_expansions = 33;
  EXPECT_EQ(Reply({"CF.ADD", "f", "new"}), ":1\r\n");
  // One insertion is not cut short.
  settings.cf_max_expansions = 2;
  Words insert{"CF.INSERT", "g", "CAPACITY", "4", "ITEMS"};
  for (int i = 0; i < 40; ++i) insert.push_back(std::to_string(i));
  EXPECT_THAT(Reply(insert), testing::Not(HasSubstr("-1")));
}

TEST_F(CuckooCommandsTest, InfoHasRedisBloomsFields) {
  ASSERT_EQ(Reply({"CF.RESERVE", "f", "1000"}), kOk);
  ASSERT_EQ(Reply({"CF.INSERT", "f", "ITEMS", "a", "b", "c"}), "*3\r\n:1\r\n:1\r\n:1\r\n");
  ASSERT_EQ(Reply({"CF.DEL", "f", "a"}), ":1\r\n");
  const std::string fields =
      "+Size\r\n:1080\r\n+Number of buckets\r\n:512\r\n+Number of filters\r\n:1\r\n+Number of items inserted\r\n:2\r\n"
      "+Number of items deleted\r\n:1\r\n+Bucket size\r\n:2\r\n+Expansion rate\r\n:1\r\n+Max iterations\r\n:20\r\n";
  EXPECT_EQ(Reply({"CF.INFO", "f"}), "*16\r\n" + fields);
  EXPECT_EQ(Reply({"CF.COMPACT", "f"}), kOk);
  EXPECT_THAT(Reply({"CF.INFO", "f"}), HasSubstr("+Number of items deleted\r\n:0\r\n"));
  ASSERT_EQ(Reply({"CF.ADD", "f", "a"}), ":1\r\n");
  ASSERT_EQ(Reply({"CF.DEL", "f", "a"}), ":1\r\n");
  UseResp3();
  EXPECT_EQ(Reply({"CF.INFO", "f"}), "%8\r\n" + fields);
}

TEST_F(CuckooCommandsTest, BloomVerbsWorkOnIt) {
  ASSERT_EQ(Reply({"CF.RESERVE", "f", "1000"}), kOk);
  EXPECT_EQ(Reply({"BF.MADD", "f", "a", "a", "b"}), "*3\r\n:1\r\n:0\r\n:1\r\n");
  EXPECT_EQ(Reply({"CF.COUNT", "f", "a"}), ":2\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "f", "a"}), ":2\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":3\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "b"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "f", "a", "a", "a"}), "*3\r\n:1\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "TYPE"}), "*1\r\n$11\r\nrediscuckoo\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "CAPACITY"}), "*1\r\n:1024\r\n");
  EXPECT_EQ(Reply({"COPY", "f", "g"}), ":1\r\n");
  EXPECT_EQ(Reply({"CF.EXISTS", "g", "b"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), kOk);
  EXPECT_EQ(Reply({"CF.DEBUG", "f"}),
            "$79\r\nbktsize:2 buckets:512 items:0 deletes:0 filters:1 max_iterations:20 expansion:1\r\n");
  EXPECT_EQ(Reply({"BF.MERGE", "m", "f", "g"}),
            "-ERR cannot merge: a rediscuckoo filter cannot be merged; " + test::TypesThatCan(test::Merges) + "\r\n");
}

TEST_F(CuckooCommandsTest, IsNotMadeByBloomVerbs) {
  const std::string refusal =
      "-ERR the error rate of a rediscuckoo filter cannot be chosen: create it with CF.RESERVE, CF.ADD or "
      "CF.INSERT\r\n";
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "rediscuckoo"}), refusal);
  EXPECT_EQ(Reply({"BF.INSERT", "f", "TYPE", "RedisCuckoo", "ITEMS", "a"}), refusal);
  EXPECT_EQ(Reply({"EXISTS", "f"}), ":0\r\n");
}

TEST_F(CuckooCommandsTest, TypeIsRedisBlooms) {
  ASSERT_EQ(Reply({"CF.ADD", "c", "x"}), ":1\r\n");
  ASSERT_EQ(Reply({"BF.ADD", "b", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"TYPE", "c"}), "+MBbloomCF\r\n");
  EXPECT_EQ(Reply({"TYPE", "b"}), "+MBbloom--\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "COUNT", "10000", "TYPE", "mbbloomcf"}), "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nc\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "COUNT", "10000", "TYPE", "MBbloom--"}), "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n");
  EXPECT_EQ(Reply({"SCAN", "0", "COUNT", "10000", "TYPE", "hash"}), "*2\r\n$1\r\n0\r\n*0\r\n");
}

TEST_F(CuckooCommandsTest, MemoryLimitIsTold) {
  budget.set_limit_bytes(budget.used_bytes() + 20'000);
  EXPECT_EQ(Reply({"CF.RESERVE", "f", "100000"}), "-ERR Insufficient memory to create filter\r\n");
  ASSERT_EQ(Reply({"CF.RESERVE", "f", "4", "EXPANSION", "32768"}), kOk);
  std::string last;
  for (int i = 0; i < 10; ++i) last = Reply({"CF.ADD", "f", std::to_string(i)});
  EXPECT_EQ(last, "-ERR Insufficient memory\r\n");
  EXPECT_EQ(Reply({"CF.INSERT", "f", "ITEMS", "x"}), "*1\r\n:-1\r\n");
}

TEST_F(CuckooCommandsTest, ACLAndDocsKnowTheGroup) {
  EXPECT_THAT(Reply({"COMMAND", "INFO", "CF.COMPACT"}), HasSubstr("write"));
  EXPECT_THAT(Reply({"COMMAND", "INFO", "CF.ADD"}), HasSubstr("@cuckoo"));
  EXPECT_THAT(Reply({"COMMAND", "LIST", "FILTERBY", "ACLCAT", "cuckoo"}), StartsWith("*14\r\n"));
}

}  // namespace
}  // namespace bitsieve::server
