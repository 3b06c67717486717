#include "server/keyspace/loading_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {
namespace {

class LoadingNamesTest : public RegistryTest {
 protected:
  // Inserts a name with a filter; returns what is left of the entry, null if it was taken.
  EntryPtr Insert(std::string_view name, int64_t expires_ms = 0) {
    std::array<EntryPtr, 1> entries{names_.Make(name)};
    entries[0]->filter = NewFilter();
    entries[0]->expires_ms = expires_ms;
    names_.Insert(entries);
    return std::move(entries[0]);
  }

  LoadingNames names_{registry_};
};

TEST_F(LoadingNamesTest, NothingIsInTheRegistryBeforePublish) {
  names_.Expect(100);
  for (int i = 0; i < 100; ++i) Insert("name" + std::to_string(i));
  EXPECT_EQ(names_.size(), 100U);
  EXPECT_EQ(registry_.Find("name7"), nullptr);
  const commands::FilterPtr filter = names_.Find("name7")->filter;
  EXPECT_EQ(names_.Publish(), 0U);
  EXPECT_EQ(names_.size(), 0U);
  EXPECT_EQ(registry_.Find("name7"), filter);
  EXPECT_EQ(ScanAll().size(), 100U);
}

TEST_F(LoadingNamesTest, ANameThatIsThereAlreadyIsNotTaken) {
  EXPECT_EQ(Insert("a"), nullptr);
  const EntryPtr second = Insert("a");
  ASSERT_NE(second, nullptr);
  EXPECT_NE(names_.Find("a"), second.get());
  EXPECT_EQ(names_.size(), 1U);
}

TEST_F(LoadingNamesTest, NamesCanBeTakenOut) {
  Insert("a");
  Insert("b");
  const EntryPtr taken = names_.Take(*names_.Find("a"));
  EXPECT_EQ(taken->name(), "a");
  EXPECT_EQ(names_.Find("a"), nullptr);
  std::vector<std::string> left;
  names_.ForEach([&](Entry& entry) { left.emplace_back(entry.name()); });
  EXPECT_EQ(left, std::vector<std::string>{"b"});
  names_.Clear();
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(LoadingNamesTest, NamesWhoseTimeHasComeAreNotPublished) {
  Insert("past", clock_.now_ms - 1);
  Insert("future", clock_.now_ms + 1'000);
  Insert("never");
  EXPECT_EQ(names_.Publish(), 1U);
  EXPECT_EQ(ScanAll(), (std::multiset<std::string>{"future", "never"}));
  Pass(2'000);
  EXPECT_EQ(registry_.Find("future"), nullptr);
}

TEST_F(LoadingNamesTest, StampsAreGivenOnce) {
  const uint64_t first = names_.NewStamps(10);
  EXPECT_GE(names_.NewStamps(1), first + 10);
}

TEST_F(LoadingNamesTest, TheBudgetMayRefuseAName) {
  memory_.set_limit_bytes(1);
  EXPECT_EQ(names_.Make(std::string(1'000, 'x')), nullptr);
}

}  // namespace
}  // namespace bitsieve::server
