#include "core/filters/filter_kind.h"

#include <gtest/gtest.h>

namespace bitsieve::core {
namespace {

// Numbers on disk: never changed, never reused.
static_assert(static_cast<int>(FilterKind::kClassic) == 1);
static_assert(static_cast<int>(FilterKind::kBlocked) == 2);
static_assert(static_cast<int>(FilterKind::kCounting) == 3);
static_assert(static_cast<int>(FilterKind::kCuckoo) == 4);
static_assert(static_cast<int>(FilterKind::kRedisCuckoo) == 5);
static_assert(static_cast<int>(FilterKind::kWindow) == 6);
static_assert(static_cast<int>(FilterKind::kFingerprint) == 8);

TEST(FilterKind, NamesGoBothWays) {
  for (const FilterKindRow& row : kFilterKinds) {
    EXPECT_EQ(FilterKindName(row.kind), row.name);
    EXPECT_EQ(FilterKindFromName(row.name), row.kind);
    EXPECT_NE(FilterKindNames().find(row.name), std::string_view::npos);
  }
  EXPECT_EQ(FilterKindFromName("BLOCKED"), FilterKind::kBlocked);
  EXPECT_EQ(FilterKindFromName("block"), std::nullopt);
  EXPECT_EQ(FilterKindFromName(""), std::nullopt);
}

}  // namespace
}  // namespace bitsieve::core
