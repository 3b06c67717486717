#include "core/filter/use_counters.h"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>
#include <vector>

namespace bitsieve::core {
namespace {

FilterUse UseOf(const UseCounters& counters) {
  FilterUse use;
  counters.Collect(use);
  return use;
}

TEST(UseCounters, AreZeroBeforeTheFirstCommand) {
  const FilterUse use = UseOf(UseCounters());
  EXPECT_EQ(use.hits + use.misses + use.added + use.last_unix_s, 0U);
}

TEST(UseCounters, CountBatchesAndTheirTime) {
  UseCounters counters;
  const auto before = static_cast<uint32_t>(std::time(nullptr));
  counters.Count(3, 2, 1);
  counters.Count(0, 5, 0);
  const FilterUse use = UseOf(counters);
  EXPECT_EQ(use.hits, 3U);
  EXPECT_EQ(use.misses, 7U);
  EXPECT_EQ(use.added, 1U);
  EXPECT_GE(use.last_unix_s + 1, before);
}

TEST(UseCounters, TheLatestUseOfAllIsTheLast) {
  UseCounters counters;
  counters.Add({.hits = 1, .last_unix_s = 20});
  counters.Add({.hits = 1, .last_unix_s = 10});
  FilterUse use{.hits = 5, .misses = 1, .added = 2, .last_unix_s = 15};
  counters.Collect(use);
  EXPECT_EQ(use.hits, 7U);
  EXPECT_EQ(use.misses, 1U);
  EXPECT_EQ(use.added, 2U);
  EXPECT_EQ(use.last_unix_s, 20U);
}

TEST(UseCounters, LoseNothingThatThreadsCountAtOnce) {
  UseCounters counters;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) counters.Count(1, 2, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(UseOf(counters).hits, 40'000U);
  EXPECT_EQ(UseOf(counters).misses, 80'000U);
}

}  // namespace
}  // namespace bitsieve::core
