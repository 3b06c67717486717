#include "core/base/roll_back.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace bitsieve::core {
namespace {

TEST(RollBack, UndoesWhenAnExceptionPasses) {
  int value = 1;
  const auto change = [&value] {
    value = 2;
    const RollBack roll_back([&value] { value = 1; });
    throw std::runtime_error("what was to follow");
  };
  EXPECT_THROW(change(), std::runtime_error);
  EXPECT_EQ(value, 1);
}

TEST(RollBack, LeavesTheChangeOnceDismissed) {
  int value = 2;
  {
    RollBack roll_back([&value] { value = 1; });
    roll_back.Dismiss();
  }
  EXPECT_EQ(value, 2);
}

}  // namespace
}  // namespace bitsieve::core
