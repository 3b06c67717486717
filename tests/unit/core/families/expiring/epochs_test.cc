#include "core/families/expiring/epochs.h"

#include <gtest/gtest.h>

#include <random>

namespace bitsieve::core {
namespace {

constexpr uint64_t kNowMs = 1'700'000'000'000;

TEST(Epochs, AreAFourteenthOrA250thOfTheTimeToLive) {
  EXPECT_EQ(Epochs(14'000, 4).At(29'999), 29);
  EXPECT_EQ(Epochs(14'000, 4).At(30'000), 30);
  EXPECT_EQ(Epochs(1000, 8).At(4003), 1000);
  EXPECT_EQ(Epochs(1000, 8).At(4004), 1001);
}

TEST(Epochs, AnEpochEndsWhereTheNextOneBegins) {
  for (const uint64_t ttl_ms : {100ULL, 101ULL, 999ULL, 86'400'000ULL, 10ULL * 365 * 86'400'000}) {
    for (const uint32_t bits : {4U, 8U}) {
      const Epochs epochs(ttl_ms, bits);
      for (uint64_t epoch = epochs.At(kNowMs); epoch < epochs.At(kNowMs) + 600; ++epoch) {
        // An epoch may be shorter than a millisecond.
        ASSERT_GE(epochs.At(epochs.EndMs(epoch)), epoch + 1) << ttl_ms << " ms, " << bits << " bits";
        ASSERT_LE(epochs.At(epochs.EndMs(epoch) - 1), epoch);
      }
    }
  }
}

// The promise: never shorter than the time to live, and longer by an epoch at most.
TEST(Epochs, TheEpochOfAnExpiryEndsWithinAnEpochAfterIt) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t ttl_ms = 100 + random() % (uint64_t{1} << (7 + random() % 32));
    const Epochs epochs(ttl_ms, i % 2 == 0 ? 4 : 8);
    const uint64_t until_ms = kNowMs + random() % 1'000'000 + ttl_ms;
    const uint64_t end_ms = epochs.EndMs(epochs.At(until_ms));
    ASSERT_GT(end_ms, until_ms);
    ASSERT_LE(end_ms - until_ms, ttl_ms / epochs.per_ttl() + 1);
    ASSERT_EQ(epochs.At(until_ms), epochs.At(until_ms - ttl_ms) + epochs.per_ttl());
  }
}

TEST(Epochs, ANumberIsReadFromAMomentOn) {
  const Epochs epochs(14'000, 4);
  for (uint64_t since = 1000; since < 1016; ++since) {
    for (uint64_t epoch = since; epoch < since + 16; ++epoch) {
      EXPECT_EQ(epochs.Since(since, epochs.NumberOf(epoch)), epoch);
    }
  }
}

TEST(Epochs, SlotsForItemsAndItemsInSlotsAgree) {
  for (const uint32_t bits : {4U, 8U}) {
    const Epochs epochs(14'000, bits);
    for (uint64_t items = 1; items < 5000; ++items) EXPECT_EQ(epochs.ItemsIn(epochs.SlotsFor(items)), items);
  }
  EXPECT_EQ(Epochs(14'000, 4).SlotsFor(14'000), 15'000);
  EXPECT_EQ(Epochs(14'000, 8).SlotsFor(14'000), 14'056);
}

}  // namespace
}  // namespace bitsieve::core
