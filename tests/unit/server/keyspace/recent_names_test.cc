#include "server/keyspace/recent_names.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(RecentNames, KnowsWhatWasNotedSinceAMoment) {
  RecentNames names;
  names.Add(7);
  const uint64_t since = names.noted();
  EXPECT_TRUE(names.MayHaveNoted(7, 0));
  EXPECT_FALSE(names.MayHaveNoted(7, since));
  names.Add(8);
  EXPECT_TRUE(names.MayHaveNoted(8, since));
  EXPECT_FALSE(names.MayHaveNoted(7, since));
}

TEST(RecentNames, WhatIsForgottenMayHaveBeen) {
  RecentNames names;
  for (uint64_t i = 0; i < RecentNames::kKept; ++i) names.Add(i);
  EXPECT_FALSE(names.MayHaveNoted(1'000, 0)) << "all of them are kept";
  names.Add(0);
  EXPECT_TRUE(names.MayHaveNoted(1'000, 0));
  EXPECT_FALSE(names.MayHaveNoted(1'000, 1));
}

}  // namespace
}  // namespace bitsieve::server
