#include "server/keyspace/quotas.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

class QuotasTest : public RegistryTest {
 protected:
  QuotasTest() {
    quotas_.Define(kRows);
    quotas_.SetLimits(kRows);
  }

  FilterPtr Make(std::string_view name) {
    auto made = core::MakeFilter({}, registry_.MemoryOf(name), core::SystemClock());
    return made ? FilterPtr(std::move(*made)) : nullptr;
  }
  bool Insert(std::string_view name, int64_t expires_ms = 0) {
    const FilterPtr filter = Make(name);
    return filter != nullptr && registry_.InsertIfAbsent(name, filter, expires_ms) == filter;
  }
  uint64_t Filters(size_t quota) { return registry_.QuotasInUse()[quota].filters; }
  uint64_t Bytes(size_t quota) { return registry_.QuotasInUse()[quota].bytes; }

  const std::vector<config::QuotaRow> kRows = {{"a:*", 3, 0}, {"b:*", 0, 5000}, {"*:x", 1, 1 << 20}};
};

TEST_F(QuotasTest, ANameCountsForTheFirstPatternThatItMatches) {
  EXPECT_EQ(quotas_.NumberOf("a:1"), 1u);
  EXPECT_EQ(quotas_.NumberOf("a:x"), 1u);
  EXPECT_EQ(quotas_.NumberOf("c:x"), 3u);
  EXPECT_EQ(quotas_.NumberOf("c:y"), Quotas::kNone);
}

TEST_F(QuotasTest, NoMoreFiltersThanAllowed) {
  for (const char* name : {"a:1", "a:2", "a:3"}) EXPECT_TRUE(Insert(name));
  EXPECT_FALSE(Insert("a:4"));
  EXPECT_FALSE(registry_.Put("a:4", Make("a:4"), 0));
  EXPECT_EQ(registry_.Find("a:4"), nullptr);
  const auto refusal = registry_.QuotaRefusalOf("a:4");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->of, QuotaRefusal::kFilters);
  EXPECT_EQ(refusal->pattern, "a:*");
  EXPECT_EQ(refusal->most, 3u);
  EXPECT_TRUE(registry_.Put("a:3", Make("a:3"), 0)) << "what replaces another one is not one more";
  EXPECT_EQ(registry_.Rename("a:1", "a:4", false), RenameOutcome::kRenamed);
  EXPECT_TRUE(Insert("free"));
  EXPECT_TRUE(registry_.Remove("a:4"));
  EXPECT_TRUE(Insert("a:5"));
  EXPECT_EQ(registry_.QuotasInUse()[0].refusals, 2u);
}

TEST_F(QuotasTest, NoMoreBytesThanAllowed) {
  core::FilterParams params;
  params.capacity = 100'000;
  EXPECT_FALSE(core::MakeFilter(params, registry_.MemoryOf("b:1"), core::SystemClock()));
  const auto refusal = registry_.QuotaRefusalOf("b:1");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->of, QuotaRefusal::kBytes);
  EXPECT_EQ(refusal->most, 5000u);
  EXPECT_FALSE(registry_.QuotaRefusalOf("free"));
  uint64_t made = 0;
  while (Insert("b:" + std::to_string(made))) ++made;
  EXPECT_GT(made, 10u);
  EXPECT_LE(Bytes(1), 5000u);
  EXPECT_EQ(memory_.used_bytes(), Bytes(1));
  memory_.set_limit_bytes(memory_.used_bytes() + 1);
  EXPECT_FALSE(Insert("free"));
  EXPECT_FALSE(registry_.QuotaRefusalOf("b:new")) << "it is the whole that has less left";
}

TEST_F(QuotasTest, RenamesStayWithinAQuota) {
  Insert("a:1");
  Insert("free");
  EXPECT_EQ(registry_.Rename("a:1", "b:1", false), RenameOutcome::kOtherQuota);
  EXPECT_EQ(registry_.Rename("a:1", "other", false), RenameOutcome::kOtherQuota);
  EXPECT_EQ(registry_.Rename("free", "a:2", false), RenameOutcome::kOtherQuota);
  EXPECT_EQ(registry_.Rename("missing", "a:2", false), RenameOutcome::kNoSource);
  EXPECT_NE(registry_.Find("a:1"), nullptr);
  EXPECT_NE(registry_.Find("free"), nullptr);
  EXPECT_EQ(registry_.Rename("free", "also", false), RenameOutcome::kRenamed);
}

// Names come and go in every way that there is; what the quotas count is what is there.
TEST_F(QuotasTest, CountsAreThoseOfTheNames) {
  std::mt19937 random(7);
  const auto name = [&] { return std::string(1, "abc"[random() % 3]) + ":" + std::to_string(random() % 6); };
  for (int i = 0; i < 20'000; ++i) {
    switch (random() % 7) {
      case 0:
        Insert(name());
        break;
      case 1:
        Insert(name(), clock_.now_ms + 1 + static_cast<int64_t>(random() % 20));
        break;
      case 2: {
        const std::string to = name();
        if (FilterPtr filter = Make(to)) registry_.Put(to, std::move(filter), 0);
        break;
      }
      case 3:
        registry_.Remove(name());
        break;
      case 4:
        registry_.Rename(name(), name(), random() % 2 == 0);
        break;
      case 5:
        registry_.SetExpiry(name(), random() % 2 == 0 ? clock_.now_ms + 5 : clock_.now_ms - 1, 0);
        break;
      default:
        Pass(1);
        if (random() % 100 == 0) registry_.Flush(random() % 2 == 0);
    }
    if (i % 10 != 0) continue;
    registry_.RemoveExpired();
    std::map<char, uint64_t> names;
    for (const std::string& each : ScanAll()) ++names[each[0]];
    ASSERT_EQ(Filters(0), names['a']);
    ASSERT_EQ(Filters(1), names['b']);
    ASSERT_LE(names['a'], 3u);
    ASSERT_LE(Bytes(1), 5000u);
  }
  registry_.Flush(false);
  EXPECT_EQ(Filters(0) + Filters(1), 0u);
}

TEST_F(QuotasTest, LimitsMayChange) {
  for (const char* name : {"a:1", "a:2", "a:3"}) Insert(name);
  quotas_.SetLimits(std::vector<config::QuotaRow>{{"a:*", 1, 0}, {"b:*", 0, 0}, {"*:x", 0, 0}});
  EXPECT_TRUE(registry_.QuotasInUse()[0].IsExceeded());
  registry_.Remove("a:1");
  EXPECT_FALSE(Insert("a:4"));
  quotas_.SetLimits(kRows);
  EXPECT_TRUE(Insert("a:4"));
  EXPECT_TRUE(quotas_.HasPatternsOf(kRows));
  EXPECT_FALSE(quotas_.HasPatternsOf(std::vector<config::QuotaRow>{{"a:*", 3, 0}}));
}

TEST_F(QuotasTest, AFilterWithoutANameIsAssignedLater) {
  core::MemoryBudget& memory = quotas_.ForUnnamed();
  const FilterPtr filter = std::move(*core::MakeFilter({}, memory, core::SystemClock()));
  const uint64_t bytes = memory_.used_bytes();
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(Bytes(1), 0u);
  quotas_.Assign(memory, "b:1");
  EXPECT_EQ(Bytes(1), bytes);
  EXPECT_EQ(memory_.used_bytes(), bytes);
  quotas_.Assign(quotas_.MemoryOf("a:1"), "b:1");
  EXPECT_EQ(Bytes(1), bytes) << "a quota's own budget stays where it is";
}

}  // namespace
}  // namespace bitsieve::server
