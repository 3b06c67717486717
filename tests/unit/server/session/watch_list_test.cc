#include "server/session/watch_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/filter/filter_factory.h"
#include "server/keyspace/registry.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::server {
namespace {

class WatchListTest : public ::testing::Test {
 protected:
  commands::FilterPtr Make(std::string_view name, int64_t expires_ms = 0) {
    return registry_.InsertIfAbsent(name, std::move(*core::MakeFilter({.capacity = 10}, memory_, core::SystemClock())),
                                    expires_ms);
  }

  test::ManualClock clock_;
  core::MemoryBudget memory_;
  Quotas quotas_{memory_};
  Registry registry_{quotas_, clock_, core::SystemClock()};
  WatchList watches_;
};

TEST_F(WatchListTest, ANameIsTouchedByWhateverChangesItsMeaningOrContent) {
  const commands::FilterPtr filter = Make("filter");
  const auto is_touched_by = [this](std::string_view name, const auto& change) {
    watches_.Clear();
    EXPECT_TRUE(watches_.Add(name, registry_));
    EXPECT_FALSE(watches_.Touched(registry_)) << name;
    change();
    return watches_.Touched(registry_);
  };
  EXPECT_TRUE(is_touched_by("filter", [&] {
    const core::KeyHash hash = filter->HashOf("item");
    core::AddOutcome outcome;
    filter->Add(std::span(&hash, 1), std::span(&outcome, 1));
  }));
  EXPECT_TRUE(is_touched_by("filter", [&] { registry_.SetExpiry("filter", clock_.now_ms + 1000, 0); }));
  EXPECT_TRUE(is_touched_by("filter", [&] { clock_.now_ms += 1000; })) << "it expired";
  EXPECT_TRUE(is_touched_by("filter", [&] { Make("filter"); })) << "it was missing";
  EXPECT_TRUE(is_touched_by("filter", [&] {
    registry_.Remove("filter");
    Make("filter");
  })) << "it is there again, but another one";
  EXPECT_FALSE(is_touched_by("filter", [&] { Make("other"); }));
}

TEST_F(WatchListTest, ANameThatIsWatchedStaysAsItWasFirstSeen) {
  Make("a");
  ASSERT_TRUE(watches_.Add("a", registry_));
  const size_t bytes = watches_.bytes();
  registry_.Remove("a");
  EXPECT_TRUE(watches_.Add("a", registry_));
  EXPECT_TRUE(watches_.Touched(registry_));
  EXPECT_EQ(watches_.size(), 1U);
  EXPECT_EQ(watches_.bytes(), bytes);
}

TEST_F(WatchListTest, OneTouchedNameOfManyIsEnough) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(watches_.Add("name" + std::to_string(i), registry_));
  EXPECT_FALSE(watches_.Touched(registry_));
  Make("name73");
  EXPECT_TRUE(watches_.Touched(registry_));
}

TEST_F(WatchListTest, ClearingForgetsAllAndReleasesItsMemory) {
  watches_.Add("a", registry_);
  watches_.Add("b", registry_);
  Make("a");
  watches_.Clear();
  EXPECT_TRUE(watches_.empty());
  EXPECT_EQ(watches_.bytes(), 0U);
  EXPECT_FALSE(watches_.Touched(registry_));
}

TEST_F(WatchListTest, OneNameTooManyIsRefusedAndChangesNothing) {
  for (size_t i = 0; i < WatchList::kMaxNames; ++i) ASSERT_TRUE(watches_.Add(std::to_string(i), registry_));
  const size_t bytes = watches_.bytes();
  EXPECT_FALSE(watches_.Add("one more", registry_));
  EXPECT_EQ(watches_.size(), WatchList::kMaxNames);
  EXPECT_EQ(watches_.bytes(), bytes);
  EXPECT_TRUE(watches_.Add("0", registry_)) << "it is watched already";
}

TEST_F(WatchListTest, NamesOfTooManyBytesAreRefused) {
  constexpr size_t kNameBytes = WatchList::kMaxBytes / 4;
  for (const char first : {'a', 'b', 'c'}) ASSERT_TRUE(watches_.Add(std::string(kNameBytes, first), registry_));
  EXPECT_FALSE(watches_.Add(std::string(kNameBytes, 'd'), registry_)) << "bookkeeping counts, too";
  EXPECT_TRUE(watches_.Add("d", registry_));
  EXPECT_EQ(watches_.size(), 4U);
  EXPECT_LE(watches_.bytes(), WatchList::kMaxBytes);
}

TEST_F(WatchListTest, EachNameIsVisitedOnce) {
  for (const char* name : {"a", "b", "a"}) watches_.Add(name, registry_);
  std::vector<std::string> names;
  watches_.ForEach([&names](std::string_view name) { names.emplace_back(name); });
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a", "b"));
}

}  // namespace
}  // namespace bitsieve::server
