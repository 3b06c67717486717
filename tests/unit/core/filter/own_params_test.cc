#include "core/filter/own_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/filter/filter_type.h"

namespace bitsieve::core {
namespace {

constexpr OwnParam kFirst{.number = 1, .name = "first", .default_value = 7, .min = 5, .max = 9};
constexpr std::array<uint64_t, 2> kFew{4, 8};
constexpr OwnParam kSecond{.number = 2, .name = "second", .default_value = 4, .only = kFew};

TEST(OwnParam, ARangeIsASpanOrAFewValues) {
  for (const uint64_t value : {5, 7, 9}) EXPECT_TRUE(kFirst.Allows(value)) << value;
  for (const uint64_t value : {0, 4, 10}) EXPECT_FALSE(kFirst.Allows(value)) << value;
  EXPECT_EQ(kFirst.Range(), "in the range [5, 9]");
  EXPECT_TRUE(kSecond.Allows(8));
  EXPECT_FALSE(kSecond.Allows(5));
  EXPECT_EQ(kSecond.Range(), "4 or 8");
}

TEST(OwnParams, WhatIsNotSetIsTheDefault) {
  const OwnParams params;
  EXPECT_EQ(params.Get(kFirst), 7u);
  EXPECT_EQ(params.Get(kSecond), 4u);
  EXPECT_TRUE(params.pairs().empty());
}

TEST(OwnParams, EqualValuesAreEqualHoweverTheyWereSet) {
  OwnParams one, other;
  one.Set(kSecond, 8);
  one.Set(kFirst, 5);
  one.Set(kFirst, 9);
  other.Set(kFirst, 9);
  other.Set(kSecond, 8);
  EXPECT_EQ(one, other);
  EXPECT_THAT(one.pairs(), testing::ElementsAre(OwnParams::Pair{1, 9}, OwnParams::Pair{2, 8}));
  one.Set(kFirst, 7);
  EXPECT_NE(one, other);
  one.Set(kSecond, 4);
  EXPECT_EQ(one, OwnParams()) << "defaults leave no pair";
}

TEST(OwnParams, OnlyAscendingNumbersAreReadAndNotTooMany) {
  OwnParams params;
  EXPECT_FALSE(params.Append({0, 1}));
  EXPECT_TRUE(params.Append({3, 1}));
  EXPECT_FALSE(params.Append({3, 2}));
  EXPECT_FALSE(params.Append({2, 2}));
  for (uint64_t number = 4; number < 3 + OwnParams::kMaxPairs; ++number) EXPECT_TRUE(params.Append({number, 1}));
  EXPECT_FALSE(params.Append({99, 1}));
  EXPECT_EQ(params.pairs().size(), OwnParams::kMaxPairs);
}

TEST(OwnParams, EveryTypeNumbersItsOwnOnceWithinTheRoomAndItsDefaultsAreValid) {
  for (const FilterTypeRow* type : FilterTypes()) {
    OwnParams all;
    for (const OwnParam& param : type->own_params) {
      EXPECT_TRUE(all.Append({param.number, 1})) << type->name << ": " << param.name;
      const bool of_zero = param.default_value == 0;  // 0 is "not given" where it is a default
      EXPECT_TRUE(of_zero || param.Allows(param.default_value)) << type->name << ": " << param.name;
    }
    for (const TypeOption& option : type->options) {
      EXPECT_NE(option.param == nullptr, option.read == nullptr) << option.word;
      EXPECT_FALSE(option.value.empty() || option.noun.empty() || option.name.empty()) << option.word;
    }
  }
}

}  // namespace
}  // namespace bitsieve::core
