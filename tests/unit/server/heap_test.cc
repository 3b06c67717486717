#include "server/heap.h"

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

}  // namespace
}  // namespace bitsieve::server
