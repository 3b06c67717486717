#include "core/base/always_inline.h"

#include <gtest/gtest.h>

namespace bitsieve::core {
namespace {

BITSIEVE_ALWAYS_INLINE const void* FrameWhereInlined() { return __builtin_frame_address(0); }
[[gnu::noinline]] const void* FrameOfACall() { return __builtin_frame_address(0); }

// Whatever the optimisation, it is part of its caller: the instructions are those that the caller's source may use.
TEST(AlwaysInline, HasTheFrameOfItsCaller) {
  const void* const here = __builtin_frame_address(0);
  EXPECT_EQ(FrameWhereInlined(), here);
  EXPECT_NE(FrameOfACall(), here);
}

}  // namespace
}  // namespace bitsieve::core
