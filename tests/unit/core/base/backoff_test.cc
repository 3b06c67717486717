#include "core/base/backoff.h"

#include <gtest/gtest.h>

#include <chrono>

namespace bitsieve::core {
namespace {

using Time = std::chrono::steady_clock;

Time::duration TimeOf(Backoff& backoff, int pauses) {
  const Time::time_point begin = Time::now();
  for (int i = 0; i < pauses; ++i) backoff.Pause();
  return Time::now() - begin;
}

TEST(Backoff, SleepsOnceItHasSpunForLong) {
  Backoff backoff;
  TimeOf(backoff, 256);
  EXPECT_GE(TimeOf(backoff, 20), std::chrono::milliseconds(1)) << "each further pause is a sleep of 50 us";
}

TEST(Backoff, EachWaitSpinsFirst) {
  Time::duration fastest = Time::duration::max();
  for (int attempt = 0; attempt < 50; ++attempt) {
    Backoff backoff;
    fastest = std::min(fastest, TimeOf(backoff, 20));
  }
  EXPECT_LT(fastest, std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace bitsieve::core
