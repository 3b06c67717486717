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
  const auto bounded = [](double rate) {
    ArgumentReader reader({}, 0);
    const double result = BoundedErrorRate(reader, rate, "range");
    return reader.ok() ? std::to_string(result) : reader.error();
  };
  EXPECT_EQ(bounded(0.25), bounded(0.999)) << "a large one is lowered";
  EXPECT_EQ(bounded(0.1), std::to_string(0.1));
  EXPECT_EQ(bounded(0), "range");
  EXPECT_EQ(bounded(1), "range");
  EXPECT_EQ(bounded(1e-10), std::string_view(wire::kErrorRateRange)) << "a small one has a separate error";
}

TEST(CreateOptions, RangesIncludeTheirEnds) {
  const auto is_capacity = [](int64_t capacity) {
    ArgumentReader reader({}, 0);
    BoundedCapacity(reader, capacity, "range");
    return reader.ok();
  };
  constexpr auto kMax = static_cast<int64_t>(core::kMaxCapacity);
  EXPECT_TRUE(is_capacity(1) && is_capacity(kMax));
  EXPECT_FALSE(is_capacity(0) || is_capacity(-1) || is_capacity(kMax + 1));
  EXPECT_TRUE(ExpansionInRange(0) && ExpansionInRange(core::kMaxExpansion));
  EXPECT_FALSE(ExpansionInRange(-1) || ExpansionInRange(int64_t{core::kMaxExpansion} + 1));
}

TEST(CreateOptions, NonscalingWinsOverExpansionAndRemembersIt) {
  ArgumentReader reader({}, 0);
  core::FilterParams params;
  GivenOptions given{.expansion = 5, .nonscaling = true, .seed = {}};
  SettleCreateOptions(reader, kTestErrors, given, params);
  EXPECT_EQ(reader.error(), "");
  EXPECT_EQ(params.expansion, 0U);
  EXPECT_EQ(given.overridden_expansion, 5U);
}

TEST(CreateOptions, AStatedCapacityGetsMostOfTheErrorRate) {
  ArgumentReader reader({}, 0);
  core::FilterParams stated, grown;
  GivenOptions with_capacity{.expansion = {}, .seed = {}, .capacity = true}, without;
  SettleCreateOptions(reader, kTestErrors, with_capacity, stated);
  SettleCreateOptions(reader, kTestErrors, without, grown);
  EXPECT_GT(stated.first_share, grown.first_share);
}

}  // namespace
}  // namespace bitsieve::commands
