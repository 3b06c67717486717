#include "server/http/filter_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_ptr.h"

namespace bitsieve::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Listed : public ::testing::Test {
 protected:
  // So many items of its capacity of 100.
  void Add(FilterList& list, const std::string& name, uint64_t items) {
    auto& filter = filters_[name];
    if (filter == nullptr) filter = std::move(*core::MakeFilter({.capacity = 100}, memory_, core::SystemClock()));
    list.Add(name, *filter, {.capacity = 100, .size_bytes = 1000 - items, .sub_filters = 1, .items = items});
  }
  static std::vector<std::string> Names(const FilterList& list, const FilterList::Query& query) {
    std::vector<std::string> names;
    const FilterList::Page page = *list.Find(query);
    for (const FilterList::Row* row : page.rows) names.emplace_back(list.NameOf(*row));
    return names;
  }

  core::MemoryBudget memory_;
  std::map<std::string, core::FilterPtr> filters_;
  FilterList list_;
};

TEST_F(Listed, IsSorted) {
  Add(list_, "b", 3);
  Add(list_, "a", 3);
  Add(list_, "c", 1);
  list_.Finish(nullptr, 0);
  EXPECT_THAT(Names(list_, {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names(list_, {.descending = true}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Names(list_, {.sort = "items"}), ElementsAre("c", "a", "b"));
  EXPECT_THAT(Names(list_, {.sort = "fill", .descending = true}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names(list_, {.sort = "size"}), ElementsAre("a", "b", "c"));
  for (const std::string_view key : FilterList::SortKeys()) EXPECT_EQ(Names(list_, {.sort = key}).size(), 3U) << key;
  EXPECT_FALSE(list_.Find({.sort = "nonsense"}));
}

TEST_F(Listed, IsSearched) {
  for (const char* name : {"users:1", "users:2", "sessions:1", "u*"}) Add(list_, name, 0);
  list_.Finish(nullptr, 0);
  EXPECT_THAT(Names(list_, {.search = "ers"}), ElementsAre("users:1", "users:2"));
  EXPECT_THAT(Names(list_, {.search = "*:1"}), ElementsAre("sessions:1", "users:1"));
  EXPECT_THAT(Names(list_, {.search = "nobody"}), IsEmpty());
}

TEST_F(Listed, IsPaged) {
  for (char name = 'a'; name <= 'z'; ++name) Add(list_, std::string(1, name), 0);
  list_.Finish(nullptr, 0);
  EXPECT_THAT(Names(list_, {.offset = 0, .limit = 2}), ElementsAre("a", "b"));
  EXPECT_THAT(Names(list_, {.offset = 12, .limit = 3}), ElementsAre("m", "n", "o"));
  EXPECT_THAT(Names(list_, {.offset = 25, .limit = 3}), ElementsAre("z"));
  EXPECT_THAT(Names(list_, {.offset = 26, .limit = 3}), IsEmpty());
  EXPECT_THAT(Names(list_, {.offset = SIZE_MAX, .limit = SIZE_MAX}), IsEmpty());
  EXPECT_EQ(list_.Find({.offset = 25})->matches, 26U);
}

TEST_F(Listed, KnowsGrowth) {
  Add(list_, "grows", 10);
  Add(list_, "stays", 5);
  Add(list_, "goes", 1);
  list_.Finish(nullptr, 0);
  FilterList later;
  Add(later, "new", 50);
  Add(later, "stays", 5);
  Add(later, "grows", 40);
  later.Finish(&list_, 2);
  EXPECT_THAT(Names(later, {.sort = "growth", .descending = true}), ElementsAre("grows", "new", "stays"));
  const auto page = later.Find({.sort = "growth", .descending = true});
  EXPECT_EQ(page->rows[0]->growth, 15);
  EXPECT_TRUE(std::isnan(page->rows[1]->growth));
  EXPECT_EQ(page->rows[2]->growth, 0);
}

}  // namespace
}  // namespace bitsieve::server
