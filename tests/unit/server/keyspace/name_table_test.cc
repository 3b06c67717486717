#include "server/keyspace/name_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace bitsieve::server {

using namespace commands;

namespace {

class NameTableTest : public testing::Test {
 protected:
  static constexpr uint64_t kSeed = 5;

  NameTableTest() { table_.Init(quotas_, kSeed); }

  static uint64_t Hash(std::string_view name) { return NameTable::HashOf(name, kSeed); }
  Entry* Find(std::string_view name) { return table_.Find(name, Hash(name)); }
  void Insert(std::string_view name, uint64_t stamp) {
    EntryPtr entry = NameTable::Make(name, quotas_);
    entry->SetStamp(stamp);
    table_.MakeRoom();
    table_.Insert(std::move(entry), Hash(name));
  }

  core::MemoryBudget memory_;
  Quotas quotas_{memory_};
  NameTable table_;
};

TEST_F(NameTableTest, AnEmptyOneHasNothing) {
  EXPECT_EQ(Find("a"), nullptr);
  EXPECT_EQ(table_.size(), 0U);
  table_.ForEach([](const Entry&) { FAIL(); });
}

TEST_F(NameTableTest, NamesAreBinarySafeAndOfAnyLength) {
  const std::string names[] = {"", std::string("\0", 1), std::string("\0\0", 2), "a", std::string(kMaxNameBytes, 'x')};
  uint64_t stamp = 0;
  for (const std::string& name : names) Insert(name, ++stamp);
  stamp = 0;
  for (const std::string& name : names) {
    ASSERT_NE(Find(name), nullptr);
    EXPECT_EQ(Find(name)->name(), name);
    EXPECT_EQ(Find(name)->stamp(), ++stamp);
  }
}

// The table behaves as a map does, through all sizes, with entries coming and going while others are still moving to
// new buckets.
TEST_F(NameTableTest, AgreesWithAMapWhateverComesAndGoes) {
  std::mt19937_64 random(1);
  std::map<std::string, uint64_t> model;
  for (uint64_t step = 0; step < 60'000; ++step) {
    const std::string name = std::to_string(random() % 5000);
    const bool growing = step / 10'000 % 2 == 0;
    Entry* const found = Find(name);
    ASSERT_EQ(found != nullptr, model.contains(name)) << name;
    if (found != nullptr) {
      ASSERT_EQ(found->stamp(), model[name]);
    }
    if (found == nullptr && (growing || random() % 4 == 0)) {
      Insert(name, step);
      model[name] = step;
    } else if (found != nullptr && (!growing || random() % 4 == 0)) {
      const EntryPtr taken = table_.Extract(found, Hash(name));
      ASSERT_EQ(taken->name(), name);
      model.erase(name);
    }
    ASSERT_EQ(table_.size(), model.size());
    if (step % 5000 != 0) continue;
    std::map<std::string, uint64_t> all;
    table_.ForEach([&](const Entry& entry) { all.emplace(entry.name(), entry.stamp()); });
    ASSERT_EQ(all, model);
  }
}

TEST_F(NameTableTest, MemoryIsTakenAndGivenBack) {
  Insert("abc", 1);
  EXPECT_EQ(memory_.used_bytes(), kNameOverheadBytes + 3);
  {
    NameTable other;
    other.swap(table_);
    EXPECT_EQ(other.Find("abc", Hash("abc"))->stamp(), 1U);
    EXPECT_EQ(Find("abc"), nullptr);
    EXPECT_EQ(memory_.used_bytes(), kNameOverheadBytes + 3);
  }
  EXPECT_EQ(memory_.used_bytes(), 0U);
  memory_.set_limit_bytes(10);
  EXPECT_EQ(NameTable::Make("abc", quotas_), nullptr);
  EXPECT_EQ(memory_.used_bytes(), 0U);
}

TEST_F(NameTableTest, AnEntryOfAShortNameFillsOneSmallBlockOfTheHeap) {
  EXPECT_LE(sizeof(Entry) + std::string_view("user:123456").size(), 56U);
}

}  // namespace
}  // namespace bitsieve::server
