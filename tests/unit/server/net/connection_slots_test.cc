#include "server/net/connection_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace bitsieve::server {
namespace {

TEST(ConnectionSlots, GivesAsManyAsTheLimitSays) {
  ConnectionSlots slots;
  auto first = slots.TryTake(2);
  auto second = slots.TryTake(2);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(slots.TryTake(2));
  EXPECT_TRUE(slots.TryTake(3));
}

TEST(ConnectionSlots, ASlotIsFreeWhenItsHolderDies) {
  ConnectionSlots slots;
  {
    auto slot = slots.TryTake(1);
    auto moved = std::move(slot);
    EXPECT_FALSE(slot);
    EXPECT_TRUE(moved);
    EXPECT_FALSE(slots.TryTake(1));
  }
  EXPECT_TRUE(slots.TryTake(1));
}

TEST(ConnectionSlots, AnEmptySlotPutInItsPlaceGivesItBack) {
  ConnectionSlots slots;
  auto slot = slots.TryTake(1);
  slot = ConnectionSlots::Slot();
  EXPECT_TRUE(slots.TryTake(1));
}

TEST(ConnectionSlots, ThreadsNeverExceedTheLimit) {
  constexpr uint32_t kLimit = 3;
  ConnectionSlots slots;
  std::atomic<uint32_t> held{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const auto slot = slots.TryTake(kLimit);
        if (!slot) continue;
        if (held.fetch_add(1) >= kLimit) exceeded = true;
        held.fetch_sub(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_TRUE(slots.TryTake(1));
}

}  // namespace
}  // namespace bitsieve::server
