#include "commands/idle_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace bitsieve::server {

using namespace commands;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{600'000};

// Counts how many of it live.
struct Thing {
  explicit Thing(std::atomic<int>& alive, int which = 0) : number(which), alive_(alive) { ++alive_; }
  ~Thing() { --alive_; }
  const int number;

 private:
  std::atomic<int>& alive_;
};

class IdleTableTest : public testing::Test {
 protected:
  std::unique_ptr<Thing> Make(int number = 0) { return std::make_unique<Thing>(alive_, number); }
  std::atomic<int> alive_{0};
};

TEST_F(IdleTableTest, WhoTakesHasItAlone) {
  IdleTable<Thing> table;
  EXPECT_EQ(table.Take("a"), nullptr);
  EXPECT_TRUE(table.Put("a", Make(1)));
  std::unique_ptr<Thing> taken = table.Take("a");
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->number, 1);
  EXPECT_EQ(table.Take("a"), nullptr);
  EXPECT_TRUE(table.Return("a", std::move(taken)));
  EXPECT_EQ(table.Take("a")->number, 1);
  EXPECT_EQ(table.Size(), 0U);
}

TEST_F(IdleTableTest, WhoBeginsAnewWins) {
  IdleTable<Thing> table;
  table.Put("a", Make(1));
  std::unique_ptr<Thing> taken = table.Take("a");
  EXPECT_TRUE(table.Put("a", Make(2)));
  EXPECT_FALSE(table.Return("a", std::move(taken)));
  EXPECT_EQ(alive_, 1);
  EXPECT_TRUE(table.Put("a", Make(3)));
  EXPECT_EQ(alive_, 1);
  EXPECT_EQ(table.Take("a")->number, 3);
}

TEST_F(IdleTableTest, AFullOneRefusesWhileAllAreInUse) {
  IdleTable<Thing> table(2, kLong, kLong);
  EXPECT_TRUE(table.Put("a", Make()));
  EXPECT_TRUE(table.Put("b", Make()));
  EXPECT_FALSE(table.Put("c", Make()));
  EXPECT_TRUE(table.Put("a", Make()));  // in its own place
  EXPECT_EQ(alive_, 2);
}

TEST_F(IdleTableTest, TheLongestLeftAloneMakesRoom) {
  IdleTable<Thing> table(2, kLong, milliseconds(0));
  table.Put("a", Make());
  table.Put("b", Make());
  table.Return("a", table.Take("a"));
  EXPECT_TRUE(table.Put("c", Make()));
  EXPECT_EQ(table.Take("b"), nullptr);
  EXPECT_NE(table.Take("a"), nullptr);
}

TEST_F(IdleTableTest, ReturningToATableThatWasFilledMeanwhileIsRefused) {
  IdleTable<Thing> table(1, kLong, kLong);
  table.Put("a", Make());
  std::unique_ptr<Thing> taken = table.Take("a");
  table.Put("b", Make());
  EXPECT_FALSE(table.Return("a", std::move(taken)));
}

TEST_F(IdleTableTest, WhatIsLeftAloneDies) {
  IdleTable<Thing> table(8, milliseconds(20));
  for (int round = 0; round < 3; ++round) {
    table.Put("a", Make());
    table.Put("b", Make());
    for (int i = 0; i < 10'000 && alive_ != 0; ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(alive_, 0);
    EXPECT_EQ(table.Size(), 0U);
  }
}

TEST_F(IdleTableTest, WhatIsLeftAloneIsBuriedByItsHost) {
  static std::atomic<int> buried{0};
  IdleTable<Thing> table(2, milliseconds(1), milliseconds(0), [](std::unique_ptr<Thing> thing) {
    buried += thing->number;
    thing.reset();
  });
  table.Put("a", Make(7));
  while (buried == 0) std::this_thread::sleep_for(milliseconds(1));
  while (alive_ != 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(buried, 7);
}

TEST_F(IdleTableTest, WhatIsUsedStays) {
  IdleTable<Thing> table(8, milliseconds(2'000));
  table.Put("a", Make());
  for (int i = 0; i < 30; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    std::unique_ptr<Thing> taken = table.Take("a");
    ASSERT_NE(taken, nullptr);
    table.Return("a", std::move(taken));
  }
}

TEST_F(IdleTableTest, DiesWithAllThatIsInIt) {
  {
    IdleTable<Thing> table;
    table.Put("a", Make());
  }
  EXPECT_EQ(alive_, 0);
}

TEST_F(IdleTableTest, ManyThreadsAtOnce) {
  {
    IdleTable<Thing> table(4, milliseconds(1), milliseconds(0));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2'000; ++i) {
          const std::string key = std::to_string((i + t) % 6);
          if (auto taken = table.Take(key)) {
            table.Return(key, std::move(taken));
          } else {
            table.Put(key, Make());
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(alive_, 4);
  }
  EXPECT_EQ(alive_, 0);
}

}  // namespace
}  // namespace bitsieve::server
