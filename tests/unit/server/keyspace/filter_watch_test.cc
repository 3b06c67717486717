#include "server/keyspace/filter_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/filter/filter_factory.h"
#include "core/filter/filter_type.h"
#include "server/keyspace/registry.h"
#include "tests/support/filter_types.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FilterWatchTest : public testing::Test {
 protected:
  FilterPtr Make(const std::string& name, uint64_t capacity, uint32_t expansion, const std::string& type = "classic") {
    core::FilterParams params{.type = core::FindFilterType(type)->type, .capacity = capacity, .expansion = expansion};
    test::SetRequiredParams(params);
    core::ShareForStatedCapacity(params);
    auto made = core::MakeFilter(core::Settled(params), memory_, core::SystemClock());
    EXPECT_TRUE(made) << made.error().message;
    return registry_.InsertIfAbsent(name, FilterPtr(std::move(*made)));
  }
  static void AddTo(const FilterPtr& filter, uint64_t items) {
    static uint64_t next = 0;
    for (uint64_t added = 0; added < items;) {
      const core::KeyHash hash = filter->HashOf(std::to_string(next++));
      core::AddOutcome outcome;
      filter->Add({&hash, 1}, {&outcome, 1});
      if (outcome == core::AddOutcome::kFull) return;
      if (outcome == core::AddOutcome::kAdded) ++added;
    }
  }
  // The lines of a whole round.
  std::vector<std::string> Round() {
    lines_.clear();
    now_ms_ += FilterWatch::kRoundMs;
    for (int i = 0; i < 2000; ++i) watch_.Step(now_ms_);
    return lines_;
  }
  void PassAnHour() { now_ms_ += FilterWatch::kSilenceMs; }

  test::ManualClock clock_;
  core::MemoryBudget memory_;
  Quotas quotas_{memory_};
  Registry registry_{quotas_, clock_, core::SystemClock()};
  std::vector<std::string> lines_;
  int64_t now_ms_ = 0;
  FilterWatch watch_{registry_, [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(FilterWatchTest, WarnsAtEightyAndAtAHundredPercent) {
  const FilterPtr filter = Make("f", 1000, 0);
  EXPECT_THAT(Round(), IsEmpty());
  AddTo(filter, 799);
  EXPECT_THAT(Round(), IsEmpty());
  AddTo(filter, 1);
  EXPECT_THAT(Round(), ElementsAre("Filter 'f' holds 800 items, 80% of the 1000 that it was made for: beyond that it "
                                   "refuses further ones"));
  EXPECT_THAT(Round(), IsEmpty());
  AddTo(filter, 200);
  EXPECT_THAT(Round(), IsEmpty()) << "one line an hour";
  PassAnHour();
  EXPECT_THAT(Round(), ElementsAre(HasSubstr("100% of the 1000 that it was made for: it refuses further ones")));
  PassAnHour();
  EXPECT_THAT(Round(), IsEmpty()) << "it has not become worse";
}

TEST_F(FilterWatchTest, WarnsOfTheThirdAndEachFurtherSubFilter) {
  const FilterPtr filter = Make("g", 1000, 1);
  Round();
  for (uint32_t sub_filters = 2; sub_filters <= 5; ++sub_filters) {
    while (filter->SubFilters() < sub_filters) AddTo(filter, 10);
    const std::vector<std::string> lines = Round();
    if (sub_filters == 2) {
      EXPECT_THAT(lines, ElementsAre(HasSubstr("100% of the 1000 that it was made for: it grows")));
    } else {
      const std::string reserve = "BF.RESERVE 'g' 0.01 ";
      EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("in " + std::to_string(sub_filters) + " sub-filters"),
                                           HasSubstr(reserve), HasSubstr("TYPE classic would have avoided them"))));
      const size_t at = lines[0].find(reserve) + reserve.size();
      EXPECT_GT(std::stoull(lines[0].substr(at)), filter->ItemCount());
    }
    PassAnHour();
  }
}

TEST_F(FilterWatchTest, KeepsQuietAboutWhatWasSoBefore) {
  AddTo(Make("full", 100, 0), 100);
  EXPECT_THAT(Round(), IsEmpty());
  EXPECT_THAT(Round(), IsEmpty());
  PassAnHour();
  EXPECT_THAT(Round(), IsEmpty());
}

TEST_F(FilterWatchTest, AFilterThatIsMadeAnewCountsAnew) {
  AddTo(Make("f", 100, 0), 100);
  Round();
  registry_.Remove("f");
  Round();
  AddTo(Make("f", 100, 0), 85);
  EXPECT_THAT(Round(), SizeIs(1));
}

TEST_F(FilterWatchTest, CountsWhatWouldBeTooManyLines) {
  Round();
  for (int i = 0; i < 30; ++i) AddTo(Make("f" + std::to_string(i), 10, 0), 9);
  const std::vector<std::string> lines = Round();
  ASSERT_THAT(lines, SizeIs(FilterWatch::kMaxLinesAtOnce + 1));
  EXPECT_THAT(lines.back(), HasSubstr("20 more filters are filling up"));
}

TEST_F(FilterWatchTest, LeavesOutWhatForgets) {
  Round();
  AddTo(Make("w", 100, 0, "window"), 500);
  EXPECT_THAT(Round(), IsEmpty());
}

TEST_F(FilterWatchTest, NamesAreMadePrintable) {
  Round();
  AddTo(Make("a\nb", 100, 0), 90);
  EXPECT_THAT(Round(), ElementsAre(HasSubstr("Filter 'a\\x0ab' ")));
}

}  // namespace
}  // namespace bitsieve::server
