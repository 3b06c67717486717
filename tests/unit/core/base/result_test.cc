#include "core/base/result.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

namespace bitsieve::core {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Fail(ErrorCode::kInvalidArgument, std::to_string(number) + " is odd");
  return number / 2;
}

TEST(Result, IsAValueOrAnError) {
  EXPECT_EQ(Half(4).value(), 2);
  const Result<int> failed = Half(3);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(failed.error().message, "3 is odd");
}

TEST(Result, AStatusIsFineUnlessItFailed) {
  EXPECT_TRUE(Status());
  const Status full = Fail(ErrorCode::kFull, "no room");
  EXPECT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kFull);
}

TEST(Result, ErrorsAreCopiedWithTheirMessages) {
  const Error error(ErrorCode::kIo, std::string(100, 'x'));
  Error copy = error;
  EXPECT_EQ(copy.message, error.message);
  copy = Error(ErrorCode::kCorrupt, "short");
  EXPECT_EQ(copy.code, ErrorCode::kCorrupt);
  EXPECT_EQ(copy.message, "short");
  const Error& itself = copy;
  copy = itself;
  EXPECT_EQ(copy.message, "short");
  static_assert(std::is_nothrow_copy_constructible_v<Error> && std::is_nothrow_copy_assignable_v<Error>);
}

}  // namespace
}  // namespace bitsieve::core
