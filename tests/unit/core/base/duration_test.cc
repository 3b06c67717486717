#include "core/base/duration.h"

#include <gtest/gtest.h>

namespace bitsieve::core {
namespace {

TEST(Duration, ReadsAWholeNumberOfAUnit) {
  EXPECT_EQ(ParseDuration("500ms", UINT64_MAX), 500);
  EXPECT_EQ(ParseDuration("90s", UINT64_MAX), 90'000);
  EXPECT_EQ(ParseDuration("30M", UINT64_MAX), 1'800'000);
  EXPECT_EQ(ParseDuration("24h", UINT64_MAX), 86'400'000);
  EXPECT_EQ(ParseDuration("7d", UINT64_MAX), 604'800'000);
  EXPECT_EQ(ParseDuration("0s", UINT64_MAX), 0);
}

TEST(Duration, ReadsNothingElse) {
  for (const char* text : {"", "5", "s", "5y", "-5s", "1.5h", "5 s", "s5", "5sm", "99999999999999999999s"}) {
    EXPECT_EQ(ParseDuration(text, UINT64_MAX), std::nullopt) << text;
  }
}

TEST(Duration, HasALimit) {
  EXPECT_EQ(ParseDuration("2s", 2000), 2000);
  EXPECT_EQ(ParseDuration("2001ms", 2000), std::nullopt);
  EXPECT_EQ(ParseDuration("18446744073709551615d", UINT64_MAX), std::nullopt) << "no overflow";
}

TEST(Duration, IsWrittenInItsLargestUnit) {
  for (const char* text : {"1ms", "1500ms", "90s", "30m", "25h", "7d"}) {
    EXPECT_EQ(DurationText(*ParseDuration(text, UINT64_MAX)), text);
  }
  EXPECT_EQ(DurationText(86'400'000), "1d");
}

}  // namespace
}  // namespace bitsieve::core
