#include "core/base/change_meter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace bitsieve::core {
namespace {

void CountOnThreads(int threads, int times) {
  std::atomic<int> ready{0};
  std::vector<std::thread> counting;
  for (int t = 0; t < threads; ++t) {
    counting.emplace_back([&] {
      ChangeMeter::Count(1);  // all have their slots at the same time
      for (++ready; ready < threads;) std::this_thread::yield();
      for (int i = 1; i < times; ++i) ChangeMeter::Count(1);
    });
  }
  for (std::thread& thread : counting) thread.join();
}

TEST(ChangeMeterTest, CountsEveryChangeOfEveryThread) {
  // More threads than there are slots, and then again as many, which take over the slots of those that ended.
  for (const int threads : {1, 3, 63, 64, 65, 150, 150}) {
    const uint64_t before = ChangeMeter::Total();
    CountOnThreads(threads, 1'000);
    EXPECT_EQ(ChangeMeter::Total() - before, static_cast<uint64_t>(threads) * 1'000);
  }
}

TEST(ChangeMeterTest, CountsManyAtOnce) {
  const uint64_t before = ChangeMeter::Total();
  ChangeMeter::Count(0);
  EXPECT_EQ(ChangeMeter::Total(), before);
  ChangeMeter::Count(uint64_t{1} << 40);
  EXPECT_EQ(ChangeMeter::Total() - before, uint64_t{1} << 40);
}

}  // namespace
}  // namespace bitsieve::core
