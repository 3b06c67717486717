#include "server/keyspace/freezer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/staging.h"
#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

class FreezerTest : public RegistryTest {
 protected:
  // Under the name, closed.
  FilterPtr PutClosed(std::string_view name, uint64_t items) {
    core::FilterParams params;
    params.type = core::kRibbonType;
    params.error_rate = 0.01;
    params.capacity = items;
    const FilterPtr filter = std::move(*core::MakeFilter(params, memory_, core::SystemClock()));
    const std::vector<core::KeyHash> hashes = Hashes(*filter, items);
    std::vector<core::AddOutcome> outcomes(items);
    filter->Add(hashes, outcomes);
    EXPECT_TRUE(filter->staging()->Close());
    return registry_.InsertIfAbsent(name, filter);
  }
  static std::vector<core::KeyHash> Hashes(const core::Filter& filter, uint64_t items) {
    std::vector<core::KeyHash> hashes(items);
    for (uint64_t i = 0; i < items; ++i) hashes[i] = filter.HashOf(std::to_string(i));
    return hashes;
  }
  static core::FreezeInfo FreezeOf(const FilterPtr& filter) { return filter->Info().freeze; }
  void Tell(const FreezeReport& report) {
    const std::lock_guard lock(mutex_);
    reports_.push_back(report);
  }
  std::vector<FreezeReport> Reports() {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  // Waits until the condition holds.
  template <class Condition>
  static bool Eventually(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
  }
  bool BecomesFrozen(std::string_view name) {
    return Eventually([&] {
      const FilterPtr filter = registry_.Find(name);
      return filter != nullptr && FreezeOf(filter).state == core::FreezeState::kFrozen;
    });
  }

 private:
  std::mutex mutex_;
  std::vector<FreezeReport> reports_;
};

TEST_F(FreezerTest, TheFrozenFilterTakesThePlaceAndKeepsTheExpiry) {
  Freezer freezer(registry_, [this](const FreezeReport& report) { Tell(report); });
  FilterPtr closed = PutClosed("a", 1000);
  registry_.SetExpiry("a", clock_.now_ms + 5000, 0);
  const uint64_t changes = registry_.ChangeCount();
  freezer.Freeze("a", closed);
  ASSERT_TRUE(BecomesFrozen("a"));
  EXPECT_GT(registry_.ChangeCount(), changes) << "the next snapshot must have it";
  EXPECT_EQ(registry_.ExpiryOf("a"), clock_.now_ms + 5000);
  const FilterPtr frozen = registry_.Find("a");
  ASSERT_EQ(Reports().size(), 1U);
  EXPECT_TRUE(Reports()[0].status);
  EXPECT_EQ(Reports()[0].name, "a");
  EXPECT_EQ(Reports()[0].items, 1000U);
  EXPECT_EQ(Reports()[0].collected_bytes, closed->Info().size_bytes);
  EXPECT_EQ(Reports()[0].frozen_bytes, frozen->Info().size_bytes);
  std::vector<uint8_t> present(1000);
  for (const FilterPtr& each : {closed, frozen}) {
    each->MayContain(Hashes(*each, 1000), present);
    EXPECT_EQ(std::count(present.begin(), present.end(), 1), 1000);
  }
  // The memory of what was collected is freed with its last holder.
  const core::WeakFilterPtr watched = closed;
  closed.reset();
  EXPECT_TRUE(Eventually([&] { return watched.expired(); }));
}

TEST_F(FreezerTest, OneThatWasRenamedIsFoundUnderItsNewName) {
  Freezer freezer(registry_, [this](const FreezeReport& report) { Tell(report); });
  for (int i = 0; i < 100; ++i) Put("other" + std::to_string(i));
  const FilterPtr closed = PutClosed("a", 100);
  registry_.SetExpiry("a", clock_.now_ms + 5000, 0);
  EXPECT_EQ(registry_.Rename("a", "b", false), RenameOutcome::kRenamed);
  const FilterPtr usurper = Put("a");
  freezer.Freeze("a", closed);
  ASSERT_TRUE(BecomesFrozen("b"));
  EXPECT_EQ(registry_.Find("a"), usurper);
  EXPECT_EQ(registry_.ExpiryOf("b"), clock_.now_ms + 5000);
}

TEST_F(FreezerTest, OneThatIsDeletedIsForgotten) {
  Freezer freezer(registry_, [this](const FreezeReport& report) { Tell(report); });
  const uint64_t used = memory_.used_bytes();
  std::vector<core::WeakFilterPtr> watched;
  for (const char* name : {"a", "b", "c"}) {  // the first may be in the making, the others wait
    FilterPtr closed = PutClosed(name, 50'000);
    freezer.Freeze(name, closed);
    watched.push_back(closed);
  }
  for (const char* name : {"a", "b", "c"}) registry_.Remove(name);
  for (const auto& each : watched) EXPECT_TRUE(Eventually([&] { return each.expired(); }));
  EXPECT_TRUE(Eventually([&] { return memory_.used_bytes() == used; }));
  EXPECT_EQ(registry_.Size(), 0U);
}

TEST_F(FreezerTest, WithoutMemoryItCollectsAgainAndTellsWhy) {
  Freezer freezer(registry_, [this](const FreezeReport& report) { Tell(report); });
  const FilterPtr closed = PutClosed("a", 100'000);
  memory_.set_limit_bytes(memory_.used_bytes() + 1000);
  freezer.Freeze("a", closed);
  ASSERT_TRUE(Eventually([&] { return FreezeOf(closed).state == core::FreezeState::kStaging; }));
  EXPECT_NE(FreezeOf(closed).failure.find("memory"), std::string::npos);
  EXPECT_EQ(registry_.Find("a"), closed);
  ASSERT_TRUE(Eventually([&] { return Reports().size() == 1; }));
  EXPECT_EQ(Reports()[0].status.error().code, core::ErrorCode::kOutOfMemory);
  // And again, now that there is some.
  memory_.set_limit_bytes(0);
  ASSERT_TRUE(closed->staging()->Close());
  freezer.Freeze("a", closed);
  EXPECT_TRUE(BecomesFrozen("a"));
}

TEST_F(FreezerTest, StopGivesUpAndLeavesThemClosed) {
  Freezer freezer(registry_, [this](const FreezeReport& report) { Tell(report); });
  const FilterPtr first = PutClosed("a", 200'000), second = PutClosed("b", 1000);
  freezer.Freeze("a", first);
  freezer.Freeze("b", second);
  freezer.Stop();
  freezer.Stop();
  for (const char* name : {"a", "b"}) {
    EXPECT_NE(FreezeOf(registry_.Find(name)).state, core::FreezeState::kStaging) << name;
  }
}

TEST_F(FreezerTest, ReplaceAnywhereNeedsWhatIsExpected) {
  const FilterPtr first = Put("a"), second = NewFilter();
  EXPECT_FALSE(registry_.ReplaceAnywhere(second, first));
  EXPECT_TRUE(registry_.ReplaceAnywhere(first, second));
  EXPECT_EQ(registry_.Find("a"), second);
  registry_.SetExpiry("a", clock_.now_ms + 10, 0);
  Pass(20);
  EXPECT_FALSE(registry_.ReplaceAnywhere(second, first)) << "its time has come";
}

}  // namespace
}  // namespace bitsieve::server
