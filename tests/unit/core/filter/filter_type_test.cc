#include "core/filter/filter_type.h"

#include <gtest/gtest.h>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/window/window_type.h"

namespace bitsieve::core {
namespace {

// Numbers on disk: never changed, never reused.
static_assert(static_cast<int>(kClassicType) == 1);
static_assert(static_cast<int>(kBlockedType) == 2);
static_assert(static_cast<int>(kCountingType) == 3);
static_assert(static_cast<int>(kCuckooType) == 4);
static_assert(static_cast<int>(kRedisCuckooType) == 5);
static_assert(static_cast<int>(kWindowType) == 6);
static_assert(static_cast<int>(kFingerprintType) == 8);

TEST(FilterType, NamesGoBothWays) {
  for (const FilterTypeRow* row : FilterTypes()) {
    EXPECT_EQ(FilterTypeName(row->type), row->name);
    EXPECT_EQ(FindFilterType(row->name), row);
    EXPECT_EQ(FindFilterType(row->type), row);
    EXPECT_NE(FilterTypeNames().find(row->name), std::string_view::npos);
  }
  EXPECT_EQ(FindFilterType("BLOCKED"), &kBlockedRow);
  EXPECT_EQ(FindFilterType("block"), nullptr);
  EXPECT_EQ(FindFilterType(""), nullptr);
}

TEST(FilterType, TheFirstRowThatFitsIsFound) {
  EXPECT_EQ(FindFilterType([](const FilterTypeRow& row) { return row.can.forget; }), &kWindowRow);
  EXPECT_EQ(FindFilterType([](const FilterTypeRow&) { return true; }), FilterTypes().front());
  EXPECT_EQ(FindFilterType([](const FilterTypeRow&) { return false; }), nullptr);
}

TEST(FilterType, TypesOfOtherProductsHaveTheirForms) {
  const auto name_of = [](FilterType type) {
    if (type == kRedisCuckooType) return "MBbloomCF";
    return type == kValkeyBloomType ? "bloomfltr" : "MBbloom--";
  };
  for (const FilterTypeRow* row : FilterTypes()) {
    const bool is_redisblooms = row->type == kRedisBloomType || row->type == kRedisCuckooType;
    EXPECT_EQ(row->redisbloom_form != nullptr, is_redisblooms) << row->name;
    EXPECT_EQ(row->value_name, name_of(row->type)) << row->name;
    EXPECT_EQ(row->own_seed != nullptr, row->type == kValkeyBloomType) << row->name;
  }
}

}  // namespace
}  // namespace bitsieve::core
