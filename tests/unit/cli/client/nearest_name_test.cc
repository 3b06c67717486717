#include "cli/client/nearest_name.h"

#include <gtest/gtest.h>

#include <array>

namespace bitsieve::cli {
namespace {

TEST(NearestNameTest, IsTheMostSimilar) {
  const std::array<std::string, 4> known = {"load", "check", "check-config", "plan"};
  EXPECT_EQ(NearestName("laod", known), "load");
  EXPECT_EQ(NearestName("chekc", known), "check");
  EXPECT_EQ(NearestName("checkconfig", known), "check-config");
  EXPECT_EQ(NearestName("load", known), "load");
}

TEST(NearestNameTest, IsEmptyIfNoneIsSimilar) {
  const std::array<std::string, 2> known = {"load", "-p"};
  EXPECT_EQ(NearestName("sunion", known), "");
  EXPECT_EQ(NearestName("", known), "");
  EXPECT_EQ(NearestName("abc", known), "");
  EXPECT_EQ(NearestName(std::string(1 << 20, 'x'), known), "");
  EXPECT_EQ(NearestName("load", {}), "");
}

}  // namespace
}  // namespace bitsieve::cli
