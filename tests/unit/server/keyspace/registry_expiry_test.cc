// Names that expire: what the registry reports for them, and what becomes of their memory.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using RegistryExpiryTest = RegistryTest;

TEST_F(RegistryExpiryTest, AnEndedNameIsMissingEverywhere) {
  const FilterPtr a = Put("a"), b = Put("b");
  EXPECT_TRUE(registry_.SetExpiry("a", clock_.now_ms + 100, 0));
  Pass(99);
  EXPECT_EQ(registry_.Find("a"), a);
  EXPECT_EQ(registry_.ExpiryOf("a"), clock_.now_ms + 1);
  EXPECT_EQ(registry_.Size(), 2u);
  Pass(1);
  EXPECT_EQ(registry_.Find("a"), nullptr);
  EXPECT_EQ(registry_.ExpiryOf("a"), std::nullopt);
  EXPECT_EQ(registry_.Size(), 1u);
  EXPECT_EQ(ScanAll(), std::multiset<std::string>{"b"});
  EXPECT_EQ(registry_.RandomName(), "b");
  ASSERT_EQ(registry_.Collect().size(), 1u);
  EXPECT_EQ(registry_.Collect()[0].name, "b");
  EXPECT_FALSE(registry_.Replace("a", a, NewFilter()));
  EXPECT_EQ(registry_.Rename("a", "c", false), RenameOutcome::kNoSource);
}

TEST_F(RegistryExpiryTest, EachOperationFreesAnEndedName) {
  const auto put_ended = [&](std::string_view name) {
    Put(name);
    registry_.SetExpiry(name, clock_.now_ms + 1, 0);
    Pass(1);
  };
  put_ended("a");
  EXPECT_FALSE(registry_.Remove("a"));
  put_ended("a");
  EXPECT_FALSE(registry_.SetExpiry("a", clock_.now_ms + 5, 0));
  put_ended("a");
  const FilterPtr fresh = NewFilter();
  EXPECT_EQ(registry_.InsertIfAbsent("a", fresh), fresh);
  EXPECT_EQ(registry_.ExpiryOf("a"), 0) << "a fresh one lives on";
  put_ended("b");
  EXPECT_EQ(registry_.Rename("a", "b", true), RenameOutcome::kRenamed) << "an ended target is no obstacle";
  EXPECT_EQ(registry_.Find("b"), fresh);
  put_ended("c");
  registry_.RemoveExpired();
  EXPECT_EQ(registry_.Size(), 1u);
  registry_.Remove("b");
  EXPECT_EQ(memory_.used_bytes(), fresh->Info().size_bytes) << "only what the test itself holds";
}

TEST_F(RegistryExpiryTest, ExpiryConditions) {
  const int64_t soon = clock_.now_ms + 10, late = clock_.now_ms + 20;
  Put("a");
  EXPECT_FALSE(registry_.SetExpiry("a", soon, kIfExpiry));
  EXPECT_FALSE(registry_.SetExpiry("a", soon, kIfLater)) << "nothing is later than never";
  EXPECT_TRUE(registry_.SetExpiry("a", late, kIfSooner));
  EXPECT_FALSE(registry_.SetExpiry("a", soon, kIfNoExpiry));
  EXPECT_FALSE(registry_.SetExpiry("a", late, kIfSooner));
  EXPECT_FALSE(registry_.SetExpiry("a", late, kIfLater));
  EXPECT_TRUE(registry_.SetExpiry("a", soon, kIfSooner | kIfExpiry));
  EXPECT_TRUE(registry_.SetExpiry("a", late, kIfLater));
  EXPECT_EQ(registry_.ExpiryOf("a"), late);
  EXPECT_TRUE(registry_.SetExpiry("a", 0, kIfExpiry));
  EXPECT_EQ(registry_.ExpiryOf("a"), 0);
  EXPECT_FALSE(registry_.SetExpiry("a", 0, kIfExpiry));
  EXPECT_FALSE(registry_.SetExpiry("b", soon, 0));
  EXPECT_TRUE(registry_.SetExpiry("a", clock_.now_ms, 0)) << "past: gone at once";
  EXPECT_EQ(registry_.Size(), 0u);
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_EQ(registry_.Expiries().expired, 0u) << "somebody removed it";
}

TEST_F(RegistryExpiryTest, ExpiriesGoWhereTheirFiltersGo) {
  const int64_t end = clock_.now_ms + 50;
  FilterPtr a = Put("a");
  Put("b");
  registry_.SetExpiry("a", end, 0);
  registry_.SetExpiry("b", end + 50, 0);
  EXPECT_TRUE(registry_.Replace("a", a, NewFilter()));
  a.reset();
  EXPECT_EQ(registry_.ExpiryOf("a"), end) << "replacing keeps it";
  EXPECT_EQ(registry_.Rename("a", "b", false), RenameOutcome::kRenamed);
  EXPECT_EQ(registry_.ExpiryOf("b"), end) << "renaming carries it along";
  EXPECT_EQ(registry_.Expiries().names, 1u);
  EXPECT_EQ(registry_.Rename("b", "c", false), RenameOutcome::kRenamed);
  EXPECT_EQ(registry_.Collect()[0].expires_ms, end);
  EXPECT_TRUE(registry_.Put("c", NewFilter(), 0));
  EXPECT_EQ(registry_.ExpiryOf("c"), 0);
  EXPECT_EQ(registry_.Size(), 1u);
  EXPECT_TRUE(registry_.Put("d", NewFilter(), end));
  Pass(50);
  EXPECT_EQ(registry_.Size(), 1u);
  registry_.Flush(false);
  EXPECT_EQ(registry_.Expiries().names, 0u);
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(RegistryExpiryTest, TellsOfExpiries) {
  EXPECT_EQ(registry_.Expiries().names, 0u);
  for (int i = 0; i < 300; ++i) {
    Put("name" + std::to_string(i));
    if (i < 200) registry_.SetExpiry("name" + std::to_string(i), clock_.now_ms + (i < 100 ? 1'000 : 3'000), 0);
  }
  Put("late");
  EXPECT_EQ(registry_.Expiries().names, 200u);
  EXPECT_EQ(registry_.Expiries().average_ms_left, 2'000);
  Pass(1'000);
  EXPECT_EQ(registry_.Size(), 201u) << "exact before anything is swept";
  registry_.RemoveExpired();
  EXPECT_EQ(registry_.Expiries().names, 100u);
  EXPECT_EQ(registry_.Expiries().average_ms_left, 2'000);
  EXPECT_EQ(registry_.Expiries().expired, 100u);
  registry_.SetExpiry("late", std::numeric_limits<int64_t>::max(), 0);
  EXPECT_GT(registry_.Expiries().average_ms_left, std::numeric_limits<int64_t>::max() / 200);
}

TEST_F(RegistryExpiryTest, AnExpiryIsAChange) {
  Put("a");
  uint64_t last = registry_.ChangeCount();
  const auto changed = [&] { return std::exchange(last, registry_.ChangeCount()) != last; };
  registry_.SetExpiry("a", clock_.now_ms + 10, 0);
  EXPECT_TRUE(changed());
  registry_.SetExpiry("a", clock_.now_ms + 10, 0);
  registry_.SetExpiry("a", clock_.now_ms + 20, kIfNoExpiry);
  EXPECT_FALSE(changed());
  registry_.SetExpiry("a", 0, 0);
  EXPECT_TRUE(changed());
  registry_.SetExpiry("a", clock_.now_ms + 10, 0);
  EXPECT_TRUE(changed());
  Pass(10);
  registry_.RemoveExpired();
  EXPECT_TRUE(changed());
}

TEST_F(RegistryExpiryTest, MemoryIsFreedWithoutBeingAsked) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) {
      Put("name" + std::to_string(i));
      registry_.SetExpiry("name" + std::to_string(i), clock_.now_ms + 5, 0);
    }
    Pass(5);
    for (int i = 0; i < 10'000 && memory_.used_bytes() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(memory_.used_bytes(), 0u);
  }
  EXPECT_EQ(registry_.Expiries().expired, 1000u);
}

TEST_F(RegistryExpiryTest, RandomNamesAreAllNames) {
  EXPECT_EQ(registry_.RandomName(), std::nullopt);
  for (int i = 0; i < 20; ++i) Put("name" + std::to_string(i));
  std::map<std::string, int> seen;
  for (int i = 0; i < 4'000; ++i) ++seen[registry_.RandomName().value()];
  EXPECT_EQ(seen.size(), 20u);
  for (const auto& [name, times] : seen) EXPECT_NEAR(times, 200, 100) << name;
  for (int i = 0; i < 20; ++i) registry_.SetExpiry("name" + std::to_string(i), clock_.now_ms + 1, 0);
  Pass(1);
  EXPECT_EQ(registry_.RandomName(), std::nullopt);
}

// Time passes while names are made, given an end, renamed, used and collected; for the sanitizers too.
TEST_F(RegistryExpiryTest, ExpiryRaces) {
  std::atomic<bool> stop{false};
  std::thread time([&] {
    while (!stop) {
      Pass(1);
      registry_.RemoveExpired();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        const std::string a = "n" + std::to_string(random() % 20), b = "n" + std::to_string(random() % 20);
        switch (random() % 8) {
          case 0:
          case 1:
            Put(a);
            break;
          case 2:
            registry_.SetExpiry(a, clock_.now_ms + random() % 20, 0);
            break;
          case 3:
            registry_.Rename(a, b, random() % 2);
            break;
          case 4:
            for (const NamedFilter& named : registry_.Collect()) named.filter->ItemCount();
            break;
          case 5:
            EXPECT_LE(registry_.Size(), 20u);
            registry_.Expiries();
            registry_.RandomName();
            if (i % 500 == 0) registry_.Flush(i % 1000 == 0);
            break;
          case 6:
            registry_.Put(a, NewFilter(), random() % 2 ? clock_.now_ms + 3 : 0);
            break;
          default: {
            const FilterPtr filter = registry_.Find(a);
            if (!filter) break;
            const core::KeyHash hash = filter->HashOf(b);
            core::AddOutcome outcome;
            for (int j = 0; j < 10; ++j) filter->Add({&hash, 1}, {&outcome, 1});
            EXPECT_EQ(outcome, core::AddOutcome::kPresent) << "what is held lives on";
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  time.join();
  EXPECT_EQ(registry_.Collect().size(), registry_.Size());
  registry_.Flush(false);
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_EQ(registry_.Expiries().names, 0u);
}

}  // namespace
}  // namespace bitsieve::server
