#include "server/process/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace bitsieve::server {
namespace {

rlimit Current() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

TEST(FileLimit, IsNeverLowered) {
  const rlimit before = Current();
  EXPECT_EQ(RaiseFileLimit(10), before.rlim_cur);
  EXPECT_EQ(Current().rlim_cur, before.rlim_cur);
}

TEST(FileLimit, IsRaisedUpToTheHardLimit) {
  const rlimit before = Current();
  if (before.rlim_cur <= 256 || before.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "no room between the limits";
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseFileLimit(before.rlim_max), before.rlim_max);
  EXPECT_EQ(Current().rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(FileLimit, TellsWhatWasGrantedWhenMoreIsAsked) {
  const rlimit before = Current();
  constexpr uint64_t kTooMany = uint64_t{1} << 62;
  const uint64_t granted = RaiseFileLimit(kTooMany);
  EXPECT_LT(granted, kTooMany);
  EXPECT_EQ(granted, Current().rlim_cur);
  EXPECT_GE(granted, before.rlim_cur);
}

}  // namespace
}  // namespace bitsieve::server
