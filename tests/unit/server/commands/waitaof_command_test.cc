#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

class WaitAofTest : public testing::Test, protected test::CommandFixture {
 protected:
  // Makes a change that is not synced yet although its reply was sent, as under appendfsync everysec.
  void Change() {
    durability.holds_replies = false;
    Reply({"BF.ADD", "f", std::to_string(++changes_)});
    durability.Append(100 * changes_);
  }

  uint64_t changes_ = 0;
};

TEST_F(WaitAofTest, WaitsUntilTheChangesOfTheConnectionAreSynced) {
  Change();
  EXPECT_EQ(Replies({{"PING"}, {"WAITAOF", "1", "0", "0"}, {"PING"}}), "+PONG\r\n");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_EQ(outcome.executed, 1U);
  durability.Append(1000);  // by another connection: not waited for
  durability.Reach(99);
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "0"}), "");
  durability.Reach(100);
  EXPECT_EQ(Replies({{"WAITAOF", "1", "0", "0"}, {"PING"}}), "*2\r\n:1\r\n:0\r\n+PONG\r\n");
  EXPECT_FALSE(session.sync_wait);
}

TEST_F(WaitAofTest, AChangeOfTheSameBatchIsWaitedFor) {
  durability.holds_replies = false;
  durability.Append(100);
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"}, {"WAITAOF", "1", "0", "0"}}), ":1\r\n");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_TRUE(outcome.wrote);
}

TEST_F(WaitAofTest, AConnectionWithoutChangesDoesNotWait) {
  durability.Append(100);
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "0"}), "*2\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "1", "3", "0"}), "*2\r\n:1\r\n:0\r\n") << "there are no replicas to wait for";
}

TEST_F(WaitAofTest, WithoutLocalNothingIsWaitedFor) {
  Change();
  EXPECT_EQ(Reply({"WAITAOF", "0", "0", "0"}), "*2\r\n:0\r\n:0\r\n");
  durability.Reach(100);
  EXPECT_EQ(Reply({"WAITAOF", "0", "0", "0"}), "*2\r\n:1\r\n:0\r\n");
}

TEST_F(WaitAofTest, ATimeoutEndsTheWait) {
  Change();
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "3600000"}), "");
  ASSERT_TRUE(session.sync_wait);
  EXPECT_LT(session.sync_wait->until_ms, INT64_MAX);
  session.sync_wait->until_ms = 0;
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "3600000"}), "*2\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "9223372036854775807"}), "");
  EXPECT_EQ(session.sync_wait->until_ms, INT64_MAX);
}

TEST_F(WaitAofTest, WithinMultiItDoesNotWait) {
  Change();
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "y"}, {"WAITAOF", "1", "0", "0"}, {"EXEC"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n*2\r\n:0\r\n:0\r\n");
  EXPECT_NE(outcome.wait, Wait::kMoment);
}

TEST_F(WaitAofTest, NonsenseIsRefusedAtOnceAsByRedis) {
  Change();
  EXPECT_EQ(Reply({"WAITAOF", "2", "0", "0"}), "-ERR value is out of range, value must between 0 and 1\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "x", "0", "0"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "1", "-1", "0"}), "-ERR value is out of range, must be positive\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "-1"}), "-ERR timeout is negative\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "x"}), "-ERR timeout is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "1", "0"}), "-ERR wrong number of arguments for 'waitaof' command\r\n");
  durability.has_log = false;
  EXPECT_EQ(Reply({"WAITAOF", "1", "0", "0"}),
            "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n");
  EXPECT_EQ(Reply({"WAITAOF", "0", "0", "0"}), "*2\r\n:0\r\n:0\r\n");
}

}  // namespace
}  // namespace bitsieve::server
