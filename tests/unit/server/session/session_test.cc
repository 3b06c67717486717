#include "server/session/session.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "server/auth/command_index.h"
#include "server/commands/all_commands.h"
#include "server/pubsub/pub_sub.h"

namespace bitsieve::server {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  PubSub pub_sub_;
  Session session_{std::make_shared<ClientRecord>(1, "a:1", "b:2", 0)};
};

TEST_F(SessionTest, OnlyASubscriberOfTheOldProtocolMaySendLittle) {
  EXPECT_FALSE(session_.MaySendLittle());
  session_.subscriptions = std::make_unique<Subscriptions>(pub_sub_, nullptr);
  EXPECT_FALSE(session_.MaySendLittle()) << "it is subscribed to nothing";
  ASSERT_TRUE(session_.subscriptions->Add(Subscriptions::Kind::kPattern, "news.*"));
  EXPECT_TRUE(session_.MaySendLittle());
  session_.version = protocol::ProtocolVersion::kResp3;
  EXPECT_FALSE(session_.MaySendLittle()) << "messages are of a type of their own";
  session_.version = protocol::ProtocolVersion::kResp2;
  session_.subscriptions->Remove(Subscriptions::Kind::kPattern, "news.*");
  EXPECT_FALSE(session_.MaySendLittle());
}

TEST_F(SessionTest, ACommandThatRunsAsideIsBoundLikeItsConnection) {
  session_.version = protocol::ProtocolVersion::kResp3;
  session_.stands_for_subscriber = true;
  EXPECT_TRUE(session_.MaySendLittle());
}

TEST_F(SessionTest, AUserIsRestrictedUntilItMayDoEverythingAndHasAuthenticated) {
  const CommandIndex index(AllCommands().all_rows());
  Users users(index);
  Session::Access access;
  access.authenticated = false;
  EXPECT_FALSE(access.restricted()) << "there are no users at all";

  access.user = users.Find(kDefaultUser);
  ASSERT_NE(access.user, nullptr);
  EXPECT_TRUE(access.restricted());
  access.authenticated = true;
  EXPECT_FALSE(access.restricted()) << "the default user may do everything";

  ASSERT_TRUE(users.Replace("user reader on nopass ~* +@read\n"));
  access.user = users.Find("reader");
  ASSERT_NE(access.user, nullptr);
  EXPECT_TRUE(access.restricted());
}

TEST_F(SessionTest, TheEndOfAnExecutionLetsOtherTransactionsHaveItsNames) {
  Claims claims;
  Claims::Slots slots;
  slots.set(Claims::SlotOf("watched"));
  session_.executing = std::make_shared<Execution>(std::vector<KeptArguments>(), claims.TryTake(slots));
  const std::shared_ptr<Execution> aside = session_.executing;  // shared with a command that runs aside
  EXPECT_FALSE(claims.TryTake(slots));
  session_.executing.reset();
  EXPECT_FALSE(claims.TryTake(slots)) << "the command that runs aside still has them";
  aside->claim = {};
  EXPECT_TRUE(claims.TryTake(slots));
}

}  // namespace
}  // namespace bitsieve::server
