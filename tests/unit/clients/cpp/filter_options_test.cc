#include "clients/cpp/filter_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::clients {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string ProblemOf(const FilterOptions& options) {
  const auto params = ParamsOf(options);
  if (params) return "";
  EXPECT_EQ(params.error().code, ErrorCode::kInvalidArgument);
  return params.error().message;
}

TEST(FilterOptionsTest, AnUnknownTypeIsNamedWithThoseThatCanBeMade) {
  EXPECT_THAT(ProblemOf({.type = "bloom"}), AllOf(HasSubstr("bloom"), HasSubstr("blocked"), HasSubstr("ribbon")));
  EXPECT_THAT(ProblemOf({.type = "rediscuckoo"}), HasSubstr("must be one of"));
  EXPECT_EQ(ProblemOf({.type = "BLOCKED"}), "") << "in any case, as in TYPE";
}

TEST(FilterOptionsTest, AnOptionOfAnotherTypeIsNamedWithThoseOfThis) {
  EXPECT_THAT(ProblemOf({.type = "cuckoo", .type_options = {{"WINDOW", "24h"}}}),
              AllOf(HasSubstr("WINDOW"), HasSubstr("BUCKETSIZE"), HasSubstr("MAXITERATIONS")));
  EXPECT_THAT(ProblemOf({.type = "cuckoo", .type_options = {{"BUCKETSIZE", "0"}}}), HasSubstr("bucket size"));
  EXPECT_EQ(ProblemOf({.type = "cuckoo", .type_options = {{"BUCKETSIZE", "2"}}}), "");
}

TEST(FilterOptionsTest, WithoutASeedEachFilterHasItsOwn) {
  EXPECT_NE(ParamsOf({})->seed, ParamsOf({})->seed);
  EXPECT_EQ(ParamsOf({.seed = 0})->seed, 0U);
}

// The rest of the parameters is checked when the filter is made.
TEST(FilterOptionsTest, RangesAreLeftToTheMaking) {
  const auto params = ParamsOf({.error_rate = 7, .capacity = 0});
  ASSERT_TRUE(params);
  EXPECT_FALSE(core::Validate(*params));
}

TEST(FilterOptionsTest, ExpansionOf0IsAFilterThatDoesNotGrow) {
  EXPECT_TRUE(ParamsOf({})->scaling());
  EXPECT_FALSE(ParamsOf({.expansion = 0})->scaling());
  EXPECT_EQ(ParamsOf({.expansion = 4})->expansion, 4U);
}

}  // namespace
}  // namespace bitsieve::clients
