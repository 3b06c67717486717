#include "server/dispatch/transaction.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

class TransactionTest : public testing::Test, protected test::CommandFixture {
 protected:
  // Queues a command as if it ran now.
  bool Queue(const std::vector<std::string_view>& words) {
    std::string out;
    protocol::ReplyWriter reply(out);
    ServerContext context(environment_, session, reply);
    context.arguments = words;
    return QueueCommand(context);
  }

  const Environment environment_ = EnvironmentWith(nullptr);
};

TEST_F(TransactionTest, TheQueueKeepsItsOwnCopies) {
  BeginTransaction(session);
  EXPECT_TRUE(session.in_multi);
  EXPECT_EQ(client->queued_commands, 0);
  {
    std::string item = "an item that its buffer loses after the batch";
    ASSERT_TRUE(Queue({"BF.ADD", "f", item}));
    item.assign(item.size(), 'x');
  }
  ASSERT_EQ(session.queued.size(), 1U);
  EXPECT_EQ(session.queued[0].get()[2], "an item that its buffer loses after the batch");
  EXPECT_EQ(client->queued_commands, 1);
  EXPECT_GT(session.queued_bytes, 0U);
}

TEST_F(TransactionTest, TheQueueNeverTakesMoreThanItMay) {
  settings.max_queued_bytes = 10'000;
  BeginTransaction(session);
  size_t queued = 0;
  while (queued < 1'000 && Queue({"BF.ADD", "f", "item"})) ++queued;
  EXPECT_GT(queued, 0U);
  EXPECT_LT(queued, 1'000U);
  EXPECT_LE(session.queued_bytes, 10'000U);
  EXPECT_FALSE(Queue({"BF.ADD", "f", std::string(10'000, 'x')}));
}

TEST_F(TransactionTest, AFailedOneLetsItsQueueGoAndKeepsNothingMore) {
  BeginTransaction(session);
  ASSERT_TRUE(Queue({"BF.ADD", "f", "a"}));
  session.queue_writes = true;
  FailTransaction(session);
  EXPECT_TRUE(session.in_multi);
  EXPECT_TRUE(session.queued.empty());
  EXPECT_EQ(session.queued_bytes, 0U);
  EXPECT_FALSE(session.queue_writes);
  EXPECT_TRUE(Queue({"BF.ADD", "f", "b"})) << "it is accepted as before, but EXEC will run nothing";
  EXPECT_TRUE(session.queued.empty());
}

TEST_F(TransactionTest, TheEndLeavesNoTrace) {
  session.watches.Add("watched", registry);
  client->watched_names = 1;
  BeginTransaction(session);
  ASSERT_TRUE(Queue({"BF.ADD", "f", "a"}));
  FailTransaction(session);
  EndTransaction(session);
  EXPECT_FALSE(session.in_multi);
  EXPECT_FALSE(session.multi_failed);
  EXPECT_TRUE(session.watches.empty());
  EXPECT_EQ(client->watched_names, 0U);
  EXPECT_EQ(client->queued_commands, -1);
  EXPECT_EQ(Reply({"BF.ADD", "f", "a"}), ":1\r\n") << "commands run at once again";
}

}  // namespace
}  // namespace bitsieve::server
