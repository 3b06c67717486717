#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;

class ExpiryCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  void SetUp() override { ASSERT_EQ(Reply({"BF.ADD", "a", "x"}), ":1\r\n"); }
};

TEST_F(ExpiryCommandsTest, EveryWayToSayTheSame) {
  struct Case {
    Words set;
    const char *ttl, *pttl, *expiretime, *pexpiretime;
  };
  for (const Case& each : {
           Case{{"EXPIRE", "a", "100"}, "100", "100000", "1700000100", "1700000100000"},
           Case{{"PEXPIRE", "a", "1499"}, "1", "1499", "1700000001", "1700000001499"},
           Case{{"PEXPIRE", "a", "1500"}, "2", "1500", "1700000002", "1700000001500"},
           Case{{"EXPIREAT", "a", "1700000007"}, "7", "7000", "1700000007", "1700000007000"},
           Case{{"PEXPIREAT", "a", "1700000000001"}, "0", "1", "1700000000", "1700000000001"},
       }) {
    EXPECT_EQ(Reply(each.set), ":1\r\n");
    EXPECT_EQ(Replies({{"TTL", "a"}, {"PTTL", "a"}, {"EXPIRETIME", "a"}, {"PEXPIRETIME", "a"}}),
              std::string(":") + each.ttl + "\r\n:" + each.pttl + "\r\n:" + each.expiretime +
                  "\r\n:" + each.pexpiretime + "\r\n")
        << each.set[0];
  }
}

TEST_F(ExpiryCommandsTest, NoExpiryAndNoName) {
  for (const char* command : {"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"}) {
    EXPECT_EQ(Reply({command, "a"}), ":-1\r\n");
    EXPECT_EQ(Reply({command, "none"}), ":-2\r\n");
  }
  EXPECT_EQ(Reply({"EXPIRE", "none", "10"}), ":0\r\n");
  EXPECT_EQ(Reply({"PERSIST", "none"}), ":0\r\n");
  EXPECT_EQ(Reply({"PERSIST", "a"}), ":0\r\n");
  EXPECT_EQ(Replies({{"EXPIRE", "a", "10"}, {"PERSIST", "a"}, {"TTL", "a"}}), ":1\r\n:1\r\n:-1\r\n");
}

TEST_F(ExpiryCommandsTest, TimeMakesItMissing) {
  EXPECT_EQ(Reply({"EXPIRE", "a", "10"}), ":1\r\n");
  clock.now_ms += 9'999;
  EXPECT_EQ(Replies({{"BF.EXISTS", "a", "x"}, {"EXISTS", "a"}}), ":1\r\n:1\r\n");
  clock.now_ms += 1;
  EXPECT_EQ(Replies({{"BF.EXISTS", "a", "x"},
                     {"EXISTS", "a"},
                     {"TYPE", "a"},
                     {"DBSIZE"},
                     {"TTL", "a"},
                     {"KEYS", "*"},
                     {"DEL", "a"},
                     {"RENAME", "a", "b"}}),
            ":0\r\n:0\r\n+none\r\n:0\r\n:-2\r\n*0\r\n:0\r\n-ERR no such key\r\n");
}

TEST_F(ExpiryCommandsTest, AddingMakesAFreshFilter) {
  EXPECT_EQ(Reply({"PEXPIRE", "a", "5"}), ":1\r\n");
  clock.now_ms += 5;
  EXPECT_EQ(Replies({{"BF.ADD", "a", "x"}, {"BF.CARD", "a"}, {"TTL", "a"}}), ":1\r\n:1\r\n:-1\r\n");
}

TEST_F(ExpiryCommandsTest, AnEndThatIsPastRemovesAtOnce) {
  for (const Words& set : {Words{"EXPIRE", "a", "0"}, Words{"EXPIRE", "a", "-1"}, Words{"PEXPIREAT", "a", "0"},
                           Words{"EXPIREAT", "a", "-5"}, Words{"EXPIREAT", "a", "1700000000"}}) {
    EXPECT_EQ(Reply(set), ":1\r\n");
    EXPECT_EQ(budget.used_bytes(), 0u);
    EXPECT_EQ(Reply({"BF.ADD", "a", "x"}), ":1\r\n");
  }
}

TEST_F(ExpiryCommandsTest, Conditions) {
  EXPECT_EQ(Replies({{"EXPIRE", "a", "10", "XX"},
                     {"EXPIRE", "a", "10", "GT"},
                     {"EXPIRE", "a", "10", "nx"},
                     {"EXPIRE", "a", "20", "NX"},
                     {"EXPIRE", "a", "5", "GT"},
                     {"EXPIRE", "a", "15", "xx", "gt"},
                     {"EXPIRE", "a", "20", "LT"},
                     {"EXPIRE", "a", "12", "LT"},
                     {"TTL", "a"}}),
            ":0\r\n:0\r\n:1\r\n:0\r\n:0\r\n:1\r\n:0\r\n:1\r\n:12\r\n");
}

TEST_F(ExpiryCommandsTest, ErrorsAreRedis) {
  EXPECT_EQ(Reply({"EXPIRE", "a", "ten"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"EXPIRE", "a", "10", "FOO"}), "-ERR Unsupported option FOO\r\n");
  for (const char* other : {"XX", "GT", "LT"}) {
    EXPECT_EQ(Reply({"EXPIRE", "a", "10", "NX", other}),
              "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n");
  }
  EXPECT_EQ(Reply({"PEXPIRE", "a", "10", "GT", "LT"}),
            "-ERR GT and LT options at the same time are not compatible\r\n");
  EXPECT_EQ(Reply({"EXPIRE", "a", "9223372036854775807"}), "-ERR invalid expire time in 'expire' command\r\n");
  EXPECT_EQ(Reply({"PEXPIRE", "a", "9223372036854775807"}), "-ERR invalid expire time in 'pexpire' command\r\n");
  EXPECT_EQ(Reply({"EXPIREAT", "a", "-9223372036854775808"}), "-ERR invalid expire time in 'expireat' command\r\n");
  EXPECT_EQ(Reply({"EXPIRE", "a"}), "-ERR wrong number of arguments for 'expire' command\r\n");
  EXPECT_EQ(Reply({"TTL", "a"}), ":-1\r\n") << "nothing was set";
  EXPECT_EQ(Replies({{"PEXPIREAT", "a", "9223372036854775807"}, {"PEXPIRETIME", "a"}}),
            ":1\r\n:9223372036854775807\r\n");
}

TEST_F(ExpiryCommandsTest, RenamingCarriesItAndClearingKeepsIt) {
  EXPECT_EQ(Replies({{"EXPIRE", "a", "10"},
                     {"BF.CLEAR", "a"},
                     {"TTL", "a"},
                     {"RENAME", "a", "b"},
                     {"TTL", "b"},
                     {"BF.ADD", "a", "x"},
                     {"EXPIRE", "a", "99"},
                     {"RENAME", "b", "a"},
                     {"TTL", "a"}}),
            ":1\r\n+OK\r\n:10\r\n+OK\r\n:10\r\n:1\r\n:1\r\n+OK\r\n:10\r\n");
  EXPECT_EQ(Replies({{"FLUSHALL"}, {"BF.ADD", "a", "x"}, {"TTL", "a"}}), "+OK\r\n:1\r\n:-1\r\n");
}

TEST_F(ExpiryCommandsTest, InfoTells) {
  Replies({{"BF.ADD", "b", "x"}, {"BF.ADD", "c", "x"}, {"EXPIRE", "a", "10"}, {"EXPIRE", "b", "20"}});
  EXPECT_THAT(Reply({"INFO", "keyspace"}), HasSubstr("db0:keys=3,expires=2,avg_ttl=15000\r\n"));
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("expired_keys:0\r\n"));
  clock.now_ms += 10'000;
  registry.RemoveExpired();
  EXPECT_THAT(Reply({"INFO", "keyspace"}), HasSubstr("db0:keys=2,expires=1,avg_ttl=10000\r\n"));
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("expired_keys:1\r\n"));
  Reply({"CONFIG", "RESETSTAT"});
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("expired_keys:0\r\n"));
}

}  // namespace
}  // namespace bitsieve::server
