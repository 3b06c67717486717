#include "server/process/heap.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(RushTest, IsOverWhenHalfHaveLeft) {
  Rush rush;
  EXPECT_FALSE(rush.IsOver(0));
  EXPECT_FALSE(rush.IsOver(10'000));
  EXPECT_FALSE(rush.IsOver(5'001));
  EXPECT_TRUE(rush.IsOver(5'000));
  EXPECT_FALSE(rush.IsOver(5'000));
  EXPECT_TRUE(rush.IsOver(2'500));
  EXPECT_TRUE(rush.IsOver(0));
  EXPECT_FALSE(rush.IsOver(0));
}

TEST(RushTest, IsCountedFromItsHeight) {
  Rush rush;
  EXPECT_FALSE(rush.IsOver(200));
  EXPECT_FALSE(rush.IsOver(1'000));
  EXPECT_FALSE(rush.IsOver(600));
  EXPECT_TRUE(rush.IsOver(200));
}

TEST(RushTest, FewClientsAreNone) {
  Rush rush;
  EXPECT_FALSE(rush.IsOver(Rush::kLeastClients - 1));
  EXPECT_FALSE(rush.IsOver(0));
}

constexpr uint64_t kMega = 1 << 20;

TEST(SlackTest, HasGrownOnceMuchMoreIsResidentThanUsed) {
  Slack slack;
  EXPECT_FALSE(slack.HasGrown(20 * kMega, 0));
  EXPECT_FALSE(slack.HasGrown(150 * kMega, 130 * kMega));
  EXPECT_TRUE(slack.HasGrown(150 * kMega, 0)) << "as after a FLUSHALL";
  slack.RecordGivenBack(25 * kMega, 0);
  EXPECT_FALSE(slack.HasGrown(25 * kMega, 0));
}

TEST(SlackTest, WhatCannotBeGivenBackIsTriedOnce) {
  Slack slack;
  EXPECT_FALSE(slack.HasGrown(20 * kMega, 0));
  EXPECT_TRUE(slack.HasGrown(60 * kMega, 0));
  slack.RecordGivenBack(60 * kMega, 0);
  EXPECT_FALSE(slack.HasGrown(60 * kMega, 0));
  EXPECT_FALSE(slack.HasGrown(70 * kMega, 0));
  EXPECT_FALSE(slack.HasGrown(20 * kMega, 0)) << "given back by itself";
  EXPECT_TRUE(slack.HasGrown(60 * kMega, 0));
}

TEST(SlackTest, MoreFiltersMayHaveMore) {
  Slack slack;
  EXPECT_FALSE(slack.HasGrown(20 * kMega, 0));
  EXPECT_FALSE(slack.HasGrown(6'500 * kMega, 6'400 * kMega));
  EXPECT_TRUE(slack.HasGrown(6'600 * kMega, 6'400 * kMega));
}

}  // namespace
}  // namespace bitsieve::server
