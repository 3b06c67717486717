#include "server/auth/access_log.h"

#include <gtest/gtest.h>

#include <string>

namespace bitsieve::server {
namespace {

using RefusalReason = AccessRefusal::Reason;

AccessRefusal Refusal(RefusalReason reason, std::string object, std::string user = "bob") {
  return {.reason = reason,
          .in_transaction = false,
          .object = std::move(object),
          .username = std::move(user),
          .client = "id=1"};
}

TEST(AccessLogTest, TheLatestComesFirst) {
  AccessLog log(10);
  log.Add(Refusal(RefusalReason::kCommand, "save"), 1'000);
  log.Add(Refusal(RefusalReason::kKey, "a"), 2'000);
  const auto entries = log.Entries(10);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].refusal.object, "a");
  EXPECT_EQ(entries[0].id, 1u);
  EXPECT_EQ(entries[1].refusal.object, "save");
  EXPECT_EQ(log.Entries(1).size(), 1u);
}

TEST(AccessLogTest, RefusalsAlikeAreOneEntryForAMinute) {
  AccessLog log(10);
  log.Add(Refusal(RefusalReason::kPassword, "auth"), 1'000);
  log.Add(Refusal(RefusalReason::kCommand, "save"), 1'500);
  for (int i = 0; i < 100'000; ++i) log.Add(Refusal(RefusalReason::kPassword, "auth"), 2'000);
  auto entries = log.Entries(10);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].count, 100'001u);
  EXPECT_EQ(entries[0].created_ms, 1'000);
  EXPECT_EQ(entries[0].updated_ms, 2'000);
  log.Add(Refusal(RefusalReason::kPassword, "auth"), 1'000 + AccessLog::kGroupingMs + 1);
  EXPECT_EQ(log.Entries(10).size(), 3u);
}

TEST(AccessLogTest, DifferentUsersObjectsAndReasonsAreDifferentEntries) {
  AccessLog log(10);
  log.Add(Refusal(RefusalReason::kKey, "a"), 0);
  log.Add(Refusal(RefusalReason::kKey, "b"), 0);
  log.Add(Refusal(RefusalReason::kKey, "a", "eve"), 0);
  log.Add(Refusal(RefusalReason::kChannel, "a"), 0);
  EXPECT_EQ(log.Entries(10).size(), 4u);
}

TEST(AccessLogTest, HoldsAtMostAsManyAsItMay) {
  AccessLog log(3);
  for (int i = 0; i < 10; ++i) log.Add(Refusal(RefusalReason::kKey, std::to_string(i)), 0);
  EXPECT_EQ(log.Entries(100).size(), 3u);
  EXPECT_EQ(log.Entries(100).front().refusal.object, "9");
  log.set_most_entries(1);
  EXPECT_EQ(log.Entries(100).size(), 1u);
  log.set_most_entries(0);
  log.Add(Refusal(RefusalReason::kKey, "x"), 0);
  EXPECT_TRUE(log.Entries(100).empty());
  EXPECT_EQ(log.refused(RefusalReason::kKey), 11u);
}

TEST(AccessLogTest, TheSummaryCountsSinceTheLastOne) {
  AccessLog log(3);
  EXPECT_EQ(log.TakeSummary().passwords, 0u);
  log.Add(Refusal(RefusalReason::kPassword, "auth"), 0);
  log.Add(Refusal(RefusalReason::kPassword, "auth", "eve"), 0);
  log.Add(Refusal(RefusalReason::kChannel, "c"), 0);
  log.Clear();
  const auto summary = log.TakeSummary();
  EXPECT_EQ(summary.passwords, 2u);
  EXPECT_EQ(summary.commands, 1u);
  EXPECT_EQ(summary.latest.object, "c");
  EXPECT_EQ(log.TakeSummary().passwords, 0u);
}

}  // namespace
}  // namespace bitsieve::server
