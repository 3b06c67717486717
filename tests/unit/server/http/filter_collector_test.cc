#include "server/http/filter_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "core/filter/filter_factory.h"
#include "server/keyspace/registry.h"

namespace bitsieve::server {
namespace {

using ::testing::ElementsAre;

class Collecting : public ::testing::Test {
 protected:
  void Add(const std::string& name, uint64_t capacity) {
    const core::FilterParams params{.error_rate = 0.01, .capacity = capacity, .expansion = 0};
    registry_.InsertIfAbsent(name, std::move(*core::MakeFilter(params, memory_, core::SystemClock())));
  }
  std::shared_ptr<const Collection> Collect(ChosenFilters chosen) {
    FilterCollector collector(registry_, [this] { return loading_.load(); });
    collector.Choose(std::move(chosen));
    collector.Start();
    while (collector.Latest() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return collector.Latest();
  }
  static std::vector<std::string> Names(const Collection& collection) {
    std::vector<std::string> names;
    for (const FilterFigures& each : collection.chosen) names.push_back(each.name);
    return names;
  }

  core::MemoryBudget memory_{0};
  core::FilterClock filter_clock_;
  Quotas quotas_{memory_};
  Registry registry_{quotas_, core::SystemClock(), filter_clock_};
  std::atomic<bool> loading_{false};
};

TEST_F(Collecting, AddsUpAllFilters) {
  for (int i = 0; i < 3000; ++i) Add("f" + std::to_string(i), 100);
  const auto collection = Collect({});
  EXPECT_EQ(collection->totals.filters, 3000U);
  EXPECT_EQ(collection->totals.capacity, 300'000U);
  EXPECT_EQ(collection->totals.sub_filters, 3000U);
  EXPECT_GT(collection->work.count(), 0);
}

TEST_F(Collecting, ChoosesTheLargestAndThoseThatMatch) {
  Add("small:1", 100);
  Add("small:2", 100);
  Add("large", 1'000'000);
  Add("middle", 10'000);
  EXPECT_THAT(Names(*Collect({.largest = 2})), ElementsAre("large", "middle"));
  EXPECT_THAT(Names(*Collect({.largest = 1, .patterns = {"s*:2", "l*"}})), ElementsAre("large", "small:2"));
  EXPECT_THAT(Names(*Collect({.largest = 3})), ElementsAre("large", "middle", "small:1")) << "by name if equally large";
}

TEST_F(Collecting, MakesAListWhileItIsUsed) {
  Add("a", 100);
  FilterCollector collector(registry_, [] { return false; });
  collector.Start();
  while (collector.Latest() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(collector.Latest()->list, nullptr);
  while (collector.List() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(collector.List()->size(), 1U);
}

TEST_F(Collecting, BoundsHowManyMatch) {
  for (size_t i = 0; i < FilterCollector::kMaxMatching + 7; ++i) Add(std::to_string(i), 100);
  const auto collection = Collect({.largest = 0, .patterns = {"*"}});
  EXPECT_EQ(collection->chosen.size(), FilterCollector::kMaxMatching);
  EXPECT_EQ(collection->left_out, 7U);
}

}  // namespace
}  // namespace bitsieve::server
