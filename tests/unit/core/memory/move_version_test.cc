#include "core/memory/move_version.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace bitsieve::core {
namespace {

TEST(MoveVersion, IsUnchangedUntilSomethingMoves) {
  MoveVersion version;
  const uint64_t seen = version.Current();
  EXPECT_TRUE(version.Unchanged(seen));
  {
    const MoveVersion::Move move(version);
    EXPECT_FALSE(version.Unchanged(seen));
    EXPECT_FALSE(version.Unchanged(version.Current())) << "something is moving";
  }
  EXPECT_FALSE(version.Unchanged(seen));
  EXPECT_TRUE(version.Unchanged(version.Current()));
}

TEST(MoveVersion, WhatIsFoundIsReturnedDuringAMove) {
  MoveVersion version;
  const MoveVersion::Move move(version);
  EXPECT_TRUE(version.Finds([] { return true; }));
}

TEST(MoveVersion, WhatIsMissedDuringAMoveIsLookedUpAgain) {
  MoveVersion version;
  int looks = 0;
  EXPECT_TRUE(version.Finds([&] {
    if (++looks > 1) return true;
    const MoveVersion::Move move(version);
    return false;
  }));
  EXPECT_EQ(looks, 2);
}

TEST(MoveVersion, OnlyTheMissedOfABatchAreLookedUpAgain) {
  MoveVersion version;
  std::array<int, 3> looks{};
  std::array<uint8_t, 3> present{};
  std::optional<MoveVersion::Move> move(version);
  version.FindEach(present, [&](size_t i) {
    if (i == 2) move.reset();
    return looks[i]++ > 0 || i == 0;
  });
  EXPECT_EQ(present, (std::array<uint8_t, 3>{1, 1, 1}));
  EXPECT_EQ(looks, (std::array<int, 3>{1, 2, 2}));
}

TEST(MoveVersion, AClosedOneNeverCountsAsAtRest) {
  MoveVersion version;
  version.Close();
  EXPECT_FALSE(version.Unchanged(version.Current()));
}

TEST(MoveVersion, AReaderNeverMissesAnItemThatMoves) {
  MoveVersion version;
  std::array<std::atomic<int>, 2> slots{1, 0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (size_t at = 0; !stop.load(); at = 1 - at) {
      const MoveVersion::Move move(version);
      slots[at].store(0, std::memory_order_release);
      slots[1 - at].store(1, std::memory_order_release);
    }
  });
  int missed = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool found = version.Finds(
        [&] { return slots[0].load(std::memory_order_acquire) == 1 || slots[1].load(std::memory_order_acquire) == 1; });
    missed += found ? 0 : 1;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace bitsieve::core
