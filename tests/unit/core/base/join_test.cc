#include "core/base/join.h"

#include <gtest/gtest.h>

#include <vector>

namespace bitsieve::core {
namespace {

TEST(Join, PutsTheSeparatorBetweenTextsThatAreNotEmpty) {
  EXPECT_EQ(Join(std::vector<std::string_view>{}, ", "), "");
  EXPECT_EQ(Join(std::vector<std::string_view>{"a"}, ", "), "a");
  EXPECT_EQ(Join(std::vector<std::string>{"", "a", "", "bc", ""}, " | "), "a | bc");
}

}  // namespace
}  // namespace bitsieve::core
