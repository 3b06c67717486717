#include "commands/cuckoo_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "commands/cuckoo_errors.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "tests/support/default_settings.h"

namespace bitsieve::commands {
namespace {

using testing::ElementsAre;

class CuckooOptionsTest : public testing::Test {
 protected:
  core::FilterParams Reserve(const std::vector<std::string_view>& words) {
    ArgumentReader reader(words, 0);
    const core::FilterParams params = ReadCuckooReserve(reader, settings_);
    error_ = reader.error();
    return params;
  }
  CuckooInsertRequest Insert(const std::vector<std::string_view>& words) {
    ArgumentReader reader(words, 0);
    const CuckooInsertRequest request = ReadCuckooInsert(reader, settings_);
    error_ = reader.error();
    return request;
  }

  test::Default<CommandSettings> settings_;
  std::string error_;
};

TEST_F(CuckooOptionsTest, DefaultsFollowTheOptionsAtOnce) {
  settings_.cf_initial_size = 64;
  settings_.cf_bucket_size = 4;
  settings_.cf_expansion_factor = 2;
  const core::FilterParams params = DefaultCuckooParams(settings_);
  EXPECT_EQ(params.type, core::kRedisCuckooType);
  EXPECT_EQ(params.capacity, 64U);
  EXPECT_EQ(params.expansion, 2U);
  EXPECT_EQ(core::RedisCuckooParamsOf(params).bucket_size, 4U);
}

TEST_F(CuckooOptionsTest, TwoBucketsAreTheLeastCapacity) {
  Reserve({"9", "BUCKETSIZE", "5"});
  EXPECT_EQ(error_, std::string_view(wire::kCuckooCapacityRange));
  EXPECT_EQ(Reserve({"10", "BUCKETSIZE", "5"}).capacity, 10U);
  EXPECT_EQ(error_, "");
  settings_.cf_bucket_size = 8;
  Insert({"CAPACITY", "15", "ITEMS", "x"});
  EXPECT_EQ(error_, std::string_view(wire::kCuckooInsertCapacityRange));
  Insert({"CAPACITY", "16", "ITEMS", "x"});
  EXPECT_EQ(error_, "");
}

TEST_F(CuckooOptionsTest, ChecksHaveAnOrderWhateverThatOfTheArguments) {
  Reserve({"1", "EXPANSION", "x", "BUCKETSIZE", "0", "MAXITERATIONS", "0"});
  EXPECT_EQ(error_, std::string_view(wire::kMaxIterationsRange));
  Reserve({"1", "EXPANSION", "x", "BUCKETSIZE", "0"});
  EXPECT_EQ(error_, std::string_view(wire::kBucketSizeRange));
  Reserve({"1", "EXPANSION", "x"});
  EXPECT_EQ(error_, wire::kBadCuckooExpansion);
}

TEST_F(CuckooOptionsTest, TheFirstOfARepeatedOptionCounts) {
  EXPECT_EQ(Reserve({"100", "EXPANSION", "4", "EXPANSION", "x"}).expansion, 4U);
  EXPECT_EQ(error_, "");
}

TEST_F(CuckooOptionsTest, AnInsertionWithoutItemsOrAValueHasTheErrorOfArity) {
  for (const std::vector<std::string_view>& words :
       {std::vector<std::string_view>{}, {"ITEMS"}, {"CAPACITY"}, {"NOCREATE", "CAPACITY", "100"}}) {
    Insert(words);
    EXPECT_EQ(error_, wire::kArity) << testing::PrintToString(words);
  }
  const std::vector<std::string_view> words = {"nocreate", "items", "a", "CAPACITY"};
  const CuckooInsertRequest request = Insert(words);
  EXPECT_FALSE(request.create);
  EXPECT_THAT(request.items, ElementsAre("a", "CAPACITY"));
  EXPECT_EQ(error_, "");
}

}  // namespace
}  // namespace bitsieve::commands
