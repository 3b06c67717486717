#include "core/filter/content_turn.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

TEST(ContentTurnTest, OneAtATimeHasIt) {
  MemoryBudget budget;
  const auto filter = MakeFilter({}, budget, SystemClock()).value();
  int turns = 0;  // no lock: the sanitizer would see two at a time
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 1000; ++turn) {
        const ContentTurn mine(*filter);
        ++turns;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, 4000);
}

TEST(ContentTurnTest, OtherFiltersDoNotWait) {
  MemoryBudget budget;
  const auto one = MakeFilter({}, budget, SystemClock()).value();
  const auto other = MakeFilter({}, budget, SystemClock()).value();
  const ContentTurn of_one(*one);
  const ContentTurn of_other(*other);
}

}  // namespace
}  // namespace bitsieve::core
