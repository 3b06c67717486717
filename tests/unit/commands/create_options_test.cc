#include "commands/create_options.h"

#include <gtest/gtest.h>

#include <vector>

#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace {

constexpr OptionErrors kTestErrors{
    .missing = "missing", .bad_expansion = "expansion", .bad_capacity = "capacity", .bad_error_rate = "rate"};

struct CreationRead {
  bool is_option = false;
  std::string error = {};
  core::FilterParams params = {};
  GivenOptions given = {};
};

CreationRead ReadOne(const std::vector<std::string_view>& words, decltype(&ReadCreateOption) read) {
  CreationRead result;
  ArgumentReader reader(words, 0);
  result.is_option = read(reader, kTestErrors, result.params, result.given);
  result.error = reader.error();
  return result;
}

TEST(CreateOptions, CapacityAndErrorAreNotOptionsOfReserve) {
  for (const char* word : {"CAPACITY", "error"}) {
    EXPECT_FALSE(ReadOne({word, "0.5"}, ReadCommonOption).is_option) << word;
  }
  EXPECT_EQ(ReadOne({"CAPACITY", "7"}, ReadCreateOption).params.capacity, 7U);
  EXPECT_EQ(ReadOne({"error", "0.125"}, ReadCreateOption).params.error_rate, 0.125);
  EXPECT_FALSE(ReadOne({"ITEMS", "x"}, ReadCreateOption).is_option);
}

TEST(CreateOptions, ErrorsAreThoseOfTheCommand) {
  EXPECT_EQ(ReadOne({"CAPACITY"}, ReadCreateOption).error, "missing");
  EXPECT_EQ(ReadOne({"CAPACITY", "0"}, ReadCreateOption).error, "capacity");
  EXPECT_EQ(ReadOne({"ERROR", "1"}, ReadCreateOption).error, "rate");
  EXPECT_EQ(ReadOne({"EXPANSION", "x"}, ReadCreateOption).error, "expansion");
  EXPECT_EQ(kTestErrors.Missing("own"), "missing");
  EXPECT_EQ(OptionErrors{}.Missing("own"), "own");
}

TEST(CreateOptions, AnErrorRateIsBounded) {
  const auto bounded = [](double rate, std::string_view type) {
    ArgumentReader reader({}, 0);
    core::FilterParams params;
    params.type = core::FindFilterType(type)->type;
    params.error_rate = CheckedErrorRate(reader, rate, "range");
    GivenOptions given;
    SettleType(reader, "capacity", given, params);
    return reader.ok() ? std::to_string(params.error_rate) : reader.error();
  };
  EXPECT_EQ(bounded(0.25, "blocked"), bounded(0.999, "blocked")) << "a large one is lowered";
  EXPECT_EQ(bounded(0.1, "blocked"), std::to_string(0.1));
  EXPECT_EQ(bounded(1e-10, "blocked"), std::string_view(wire::kErrorRateRange)) << "a small one has a separate error";
  EXPECT_EQ(bounded(0.999, "valkeybloom"), std::to_string(0.999)) << "a type may have any rate";
  EXPECT_EQ(bounded(1e-10, "valkeybloom"), std::to_string(1e-10));
  for (const char* type : {"blocked", "valkeybloom"}) {
    EXPECT_EQ(bounded(0, type), "range");
    EXPECT_EQ(bounded(1, type), "range");
  }
}

TEST(CreateOptions, RangesIncludeTheirEnds) {
  const auto is_capacity = [](int64_t capacity, core::FilterType type) {
    ArgumentReader reader({}, 0);
    core::FilterParams params;
    params.type = type;
    params.capacity = CheckedCapacity(reader, capacity, "range");
    GivenOptions given;
    SettleType(reader, "range", given, params);
    return reader.ok();
  };
  constexpr auto kMax = static_cast<int64_t>(core::kMaxCapacity);
  for (const core::FilterType type : {core::kDefaultFilterType, core::kValkeyBloomType}) {
    const bool is_unbounded = type == core::kValkeyBloomType;
    EXPECT_TRUE(is_capacity(1, type) && is_capacity(kMax, type));
    EXPECT_FALSE(is_capacity(0, type) || is_capacity(-1, type));
    EXPECT_EQ(is_capacity(kMax + 1, type), is_unbounded);
    EXPECT_TRUE(ExpansionInRange(type, 0) && ExpansionInRange(type, core::kMaxExpansion));
    EXPECT_FALSE(ExpansionInRange(type, -1) || ExpansionInRange(type, int64_t{1} << 32));
    EXPECT_EQ(ExpansionInRange(type, int64_t{core::kMaxExpansion} + 1), is_unbounded);
  }
}

TEST(CreateOptions, NonscalingWinsOverExpansionAndRemembersIt) {
  ArgumentReader reader({}, 0);
  core::FilterParams params;
  GivenOptions given;
  given.expansion = 5;
  given.nonscaling = true;
  SettleCreateOptions(reader, kTestErrors, given, params);
  EXPECT_EQ(reader.error(), "");
  EXPECT_EQ(params.expansion, 0U);
  EXPECT_EQ(given.overridden_expansion, 5U);
}

TEST(CreateOptions, AStatedCapacityGetsMostOfTheErrorRate) {
  ArgumentReader reader({}, 0);
  core::FilterParams stated, grown;
  GivenOptions with_capacity, without;
  with_capacity.capacity = true;
  SettleCreateOptions(reader, kTestErrors, with_capacity, stated);
  SettleCreateOptions(reader, kTestErrors, without, grown);
  EXPECT_GT(stated.first_share, grown.first_share);
}

}  // namespace
}  // namespace bitsieve::commands
