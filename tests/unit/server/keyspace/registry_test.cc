#include "server/keyspace/registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

TEST_F(RegistryTest, FindsWhatWasInserted) {
  const FilterPtr filter = NewFilter();
  EXPECT_EQ(registry_.Find("a"), nullptr);
  EXPECT_EQ(registry_.InsertIfAbsent("a", filter), filter);
  EXPECT_EQ(registry_.Find("a"), filter);
  EXPECT_EQ(registry_.InsertIfAbsent("a", NewFilter()), filter) << "who was first stays";
  EXPECT_EQ(registry_.Find(std::string_view("a\0", 2)), nullptr);
  EXPECT_EQ(registry_.Size(), 1u);
}

TEST_F(RegistryTest, NamesAreBinarySafe) {
  const std::string names[] = {"", std::string(1, '\0'), std::string(2, '\0'), "\r\n", "\xff\xfe"};
  for (const std::string& name : names) Put(name);
  for (const std::string& name : names) EXPECT_NE(registry_.Find(name), nullptr);
  EXPECT_EQ(ScanAll(), std::multiset<std::string>(std::begin(names), std::end(names)));
}

TEST_F(RegistryTest, ReplaceNeedsWhatIsExpected) {
  const FilterPtr first = Put("a"), second = NewFilter(), third = NewFilter();
  EXPECT_TRUE(registry_.Replace("a", first, second));
  EXPECT_FALSE(registry_.Replace("a", first, third));
  EXPECT_FALSE(registry_.Replace("b", first, third));
  EXPECT_EQ(registry_.Find("a"), second);
}

TEST_F(RegistryTest, AFoldedFilterTakesThePlaceUnderAnyName) {
  const auto filter_of = [this](std::string_view name) { return registry_.Find(name); };
  for (const bool is_renamed : {false, true}) {
    const FilterPtr filter = Put("a");
    const auto fold = core::FilterFold::Begin(filter, {50}, memory_).value();
    fold->Run();
    if (is_renamed) registry_.Rename("a", "b", false);
    const std::string name = is_renamed ? "b" : "a";
    EXPECT_EQ(registry_.ReplaceFolded("a", *fold), true);
    EXPECT_EQ(filter_of(name), fold->folded());
    EXPECT_TRUE(filter->succeeded());
    registry_.Remove(name);
    EXPECT_EQ(registry_.ReplaceFolded("a", *fold), false) << "it is gone";
  }
}

TEST_F(RegistryTest, AFoldedFilterThatIsTooSmallByNowDoesNotTakeThePlace) {
  const FilterPtr filter = Put("a");
  const auto fold = core::FilterFold::Begin(filter, {50}, memory_).value();
  fold->Run();
  for (int i = 0; i < 60; ++i) {
    const core::KeyHash hash = filter->HashOf(std::to_string(i));
    core::AddOutcome outcome;
    filter->Add({&hash, 1}, {&outcome, 1});
  }
  EXPECT_FALSE(registry_.ReplaceFolded("a", *fold));
  EXPECT_EQ(registry_.Find("a"), filter);
}

TEST_F(RegistryTest, RemovedFiltersLiveWhileHeld) {
  const core::WeakFilterPtr watched = Put("a");
  FilterPtr held = registry_.Find("a");
  EXPECT_TRUE(registry_.Remove("a"));
  EXPECT_FALSE(registry_.Remove("a"));
  EXPECT_FALSE(watched.expired());
  const core::KeyHash hash = held->HashOf("x");
  core::AddOutcome outcome;
  EXPECT_EQ(held->Add({&hash, 1}, {&outcome, 1}), 1u);
  held.reset();
  EXPECT_TRUE(watched.expired());
}

TEST_F(RegistryTest, GivesAllMemoryBack) {
  for (int i = 0; i < 100; ++i) Put("name" + std::to_string(i));
  const uint64_t before = memory_.used_bytes();
  EXPECT_GT(before, 100 * (sizeof(core::Filter) + 64));
  registry_.Rename("name1", "name2", false);
  registry_.Rename("name3", "a longer name", false);
  registry_.Remove("name4");
  registry_.Flush(false);
  EXPECT_EQ(memory_.used_bytes(), 0u);
  EXPECT_EQ(registry_.Size(), 0u);
}

TEST_F(RegistryTest, FlushInTheBackgroundFreesSoon) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) Put("name" + std::to_string(i));
    registry_.Flush(true);
    EXPECT_EQ(registry_.Size(), 0u);
    EXPECT_EQ(registry_.Find("name1"), nullptr);
  }
  for (int i = 0; i < 10'000 && memory_.used_bytes() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST(RegistryLifeTest, TheEndWaitsForTheBackground) {
  core::MemoryBudget memory;
  {
    Quotas quotas(memory);
    Registry registry(quotas, core::SystemClock(), core::SystemClock());
    registry.InsertIfAbsent("a", std::move(*core::MakeFilter({}, memory, core::SystemClock())));
    registry.Flush(true);
    registry.InsertIfAbsent("a", std::move(*core::MakeFilter({}, memory, core::SystemClock())));
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST_F(RegistryTest, TheBudgetMayRefuseAName) {
  const FilterPtr filter = NewFilter();
  memory_.set_limit_bytes(memory_.used_bytes() + 10'000);
  EXPECT_EQ(registry_.InsertIfAbsent(std::string(100'000, 'n'), filter), nullptr);
  EXPECT_EQ(registry_.Size(), 0u);
  EXPECT_EQ(registry_.InsertIfAbsent("n", filter), filter);
  EXPECT_EQ(registry_.Rename("n", std::string(100'000, 'n'), false), RenameOutcome::kOutOfMemory);
  EXPECT_EQ(registry_.Find("n"), filter);
}

TEST_F(RegistryTest, RenameMovesAndReplaces) {
  const FilterPtr a = Put("a");
  const core::WeakFilterPtr b = Put("b");
  EXPECT_EQ(registry_.Rename("x", "b", false), RenameOutcome::kNoSource);
  EXPECT_EQ(registry_.Rename("a", "b", true), RenameOutcome::kTargetExists);
  EXPECT_EQ(registry_.Rename("a", "a", false), RenameOutcome::kRenamed);
  EXPECT_EQ(registry_.Rename("a", "a", true), RenameOutcome::kTargetExists);
  EXPECT_EQ(registry_.Rename("a", "b", false), RenameOutcome::kRenamed);
  EXPECT_EQ(registry_.Find("a"), nullptr);
  EXPECT_EQ(registry_.Find("b"), a);
  EXPECT_TRUE(b.expired());
  EXPECT_EQ(registry_.Rename("b", "c", true), RenameOutcome::kRenamed);
  EXPECT_EQ(registry_.Find("c"), a);
  EXPECT_EQ(registry_.Size(), 1u);
}

TEST_F(RegistryTest, ChangeCountTellsOfEveryChange) {
  uint64_t last = registry_.ChangeCount();
  const auto changed = [&] { return std::exchange(last, registry_.ChangeCount()) != last; };
  const FilterPtr a = Put("a");
  EXPECT_TRUE(changed());
  Put("a");
  registry_.Find("a");
  registry_.Remove("b");
  registry_.Rename("a", "a", false);
  EXPECT_FALSE(changed());
  registry_.Replace("a", a, NewFilter());
  EXPECT_TRUE(changed());
  registry_.Rename("a", "b", false);
  EXPECT_TRUE(changed());
  registry_.Remove("b");
  EXPECT_TRUE(changed());
  registry_.Flush(false);
  EXPECT_TRUE(changed());
}

// The map is compared with a plain one over random operations.
TEST_F(RegistryTest, AgreesWithAModel) {
  std::mt19937 random(1);
  std::map<std::string, FilterPtr> model;
  for (int step = 0; step < 20'000; ++step) {
    const std::string a = "n" + std::to_string(random() % 50), b = "n" + std::to_string(random() % 50);
    switch (random() % 4) {
      case 0: {
        const FilterPtr filter = NewFilter();
        EXPECT_EQ(registry_.InsertIfAbsent(a, filter), model.try_emplace(a, filter).first->second);
        break;
      }
      case 1:
        EXPECT_EQ(registry_.Remove(a), model.erase(a) == 1);
        break;
      case 2: {
        const bool there = model.contains(a);
        EXPECT_EQ(registry_.Rename(a, b, false), there ? RenameOutcome::kRenamed : RenameOutcome::kNoSource);
        if (there && a != b) {
          model[b] = model[a];
          model.erase(a);
        }
        break;
      }
      default: {
        const auto found = model.find(a);
        EXPECT_EQ(registry_.Find(a), found == model.end() ? nullptr : found->second);
      }
    }
    EXPECT_EQ(registry_.Size(), model.size());
  }
  for (const NamedFilter& named : registry_.Collect()) EXPECT_EQ(named.filter, model.at(named.name));
  EXPECT_EQ(registry_.Collect().size(), model.size());
}

// One filter is renamed to and fro; every collection sees it exactly once.
TEST_F(RegistryTest, CollectSeesNoRenameHalfDone) {
  Put("here-and-there-0");
  std::atomic<bool> stop{false};
  std::thread renamer([&] {
    for (int i = 0; !stop; ++i) {
      const std::string from = "here-and-there-" + std::to_string(i % 50);
      const std::string to = "here-and-there-" + std::to_string((i + 1) % 50);
      ASSERT_EQ(registry_.Rename(from, to, false), RenameOutcome::kRenamed);
    }
  });
  for (int i = 0; i < 300; ++i) EXPECT_EQ(registry_.Collect().size(), 1u);
  stop = true;
  renamer.join();
}

// A name that stays during a scan is visited, even if other names come and go.
TEST_F(RegistryTest, ScanVisitsAllThatStays) {
  std::set<std::string> staying;
  for (int i = 0; i < 300; ++i) staying.insert("staying" + std::to_string(i));
  for (const std::string& name : staying) Put(name);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!stop) {
        const std::string name = "passing" + std::to_string(random() % 1000);
        if (random() % 2) {
          Put(name);
        } else {
          registry_.Remove(name);
        }
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const std::multiset<std::string> seen = ScanAll(1 + i);
    for (const std::string& name : staying) EXPECT_EQ(seen.count(name), 1u) << name;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RegistryTest, ScanTakesStepsAndEnds) {
  for (int i = 0; i < 1000; ++i) Put("name" + std::to_string(i));
  int visits = 0;
  const auto count = [&](std::string_view, const FilterPtr&) { ++visits; };
  EXPECT_NE(registry_.Scan(0, 10, count), 0u);
  EXPECT_GE(visits, 10);
  EXPECT_LE(visits, 30);
  visits = 0;
  EXPECT_EQ(registry_.Scan(0, std::numeric_limits<uint64_t>::max(), count), 0u);
  EXPECT_EQ(visits, 1000);
  visits = 0;
  EXPECT_EQ(registry_.Scan(1024, 10, count), 0u);
  EXPECT_EQ(registry_.Scan(std::numeric_limits<uint64_t>::max(), 10, count), 0u);
  EXPECT_EQ(visits, 0);
}

// Runs everything at once, for the sanitizers.
TEST_F(RegistryTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        const std::string a = "n" + std::to_string(random() % 20), b = "n" + std::to_string(random() % 20);
        switch (random() % 7) {
          case 0:
            Put(a);
            break;
          case 1:
            registry_.Remove(a);
            break;
          case 2:
            registry_.Rename(a, b, random() % 2);
            break;
          case 3: {
            const FilterPtr filter = registry_.Find(a);
            if (filter) registry_.Replace(a, filter, NewFilter());
            break;
          }
          case 4:
            if (i % 100 == 0) registry_.Flush(i % 200 == 0);
            break;
          case 5:
            if (i % 50 == 0) registry_.Collect();
            break;
          default: {
            const FilterPtr filter = registry_.Find(a);
            if (!filter) break;
            const core::KeyHash hash = filter->HashOf(b);
            core::AddOutcome outcome;
            filter->Add({&hash, 1}, {&outcome, 1});
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry_.Collect().size(), registry_.Size());
  registry_.Flush(false);
}

}  // namespace
}  // namespace bitsieve::server
