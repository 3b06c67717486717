#include "core/base/edit_distance.h"

#include <gtest/gtest.h>

namespace bitsieve::core {
namespace {

TEST(EditDistanceTest, CountsTheChangesThatAreNeeded) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("bf.exists", "bf.exists"), 0U);
  EXPECT_EQ(EditDistance("bf.exist", "bf.exists"), 1U);
  EXPECT_EQ(EditDistance("prot", "port"), 1U) << "neighbours that are exchanged are one slip";
  EXPECT_EQ(EditDistance("ca", "abc"), 3U) << "no byte is changed twice";
  EXPECT_EQ(EditDistance("laod", "load"), 1U);
  EXPECT_EQ(EditDistance("nope", "port"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
}

TEST(EditDistanceTest, IsTheSameBothWays) {
  for (const char* a : {"", "a", "maxmemory", "max-memory", "save"}) {
    for (const char* b : {"", "b", "maxmemory", "vase", "sieve"}) EXPECT_EQ(EditDistance(a, b), EditDistance(b, a));
  }
}

}  // namespace
}  // namespace bitsieve::core
