#include "protocol/rdb/module_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <variant>

#include "core/filter/filter_dump.h"
#include "core/filter/filter_params.h"
#include "tests/support/given_fields.h"

namespace bitsieve::rdb {
namespace {

using testing::HasSubstr;

class ModuleValueTest : public testing::Test {
 protected:
  core::Result<ModuleValue> Read(std::deque<ValueField> fields, bool cuckoo, int version) {
    GivenFields reader(std::move(fields));
    return ReadModuleValue(reader, cuckoo ? core::kCuckooValueName : core::kBloomValueName, version, memory_,
                           core::SystemClock());
  }
  std::string DumpOf(core::FilterType type) {
    core::FilterParams params;
    params.type = type;
    return core::DumpFilter(**core::MakeFilter(core::Settled(params), memory_, core::SystemClock())).value();
  }
  static std::deque<ValueField> Own(const std::string& dump, uint64_t marks = 0, uint64_t format = kOwnValueFormat) {
    const size_t first = dump.size() - 1;  // the first chunk has the whole head
    return {format, marks, uint64_t{dump.size()}, dump.substr(0, first), dump.substr(first)};
  }

  core::MemoryBudget memory_;
};

TEST_F(ModuleValueTest, ADumpComesInOneChunkOrSeveral) {
  const std::string dump = DumpOf(core::kDefaultFilterType);
  const auto whole = Read({kOwnValueFormat, uint64_t{0}, uint64_t{dump.size()}, dump}, false, kOwnValueVersion);
  ASSERT_TRUE(whole) << whole.error().message;
  const auto parts = Read(Own(dump, kFreezingMark), false, kOwnValueVersion);
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(core::DumpFilter(*parts->filter).value(), dump);
  EXPECT_TRUE(parts->was_freezing);
  EXPECT_FALSE(whole->was_freezing);
}

TEST_F(ModuleValueTest, AValueThatIsCutOrTooLongIsCorrupt) {
  const std::string dump = DumpOf(core::kDefaultFilterType);
  for (size_t fields = 0; fields < 5; ++fields) {
    std::deque<ValueField> cut = Own(dump);
    cut.resize(fields);
    const auto read = Read(cut, false, kOwnValueVersion);
    ASSERT_FALSE(read) << fields;
    EXPECT_EQ(read.error().code, core::ErrorCode::kCorrupt) << fields;
  }
  std::deque<ValueField> longer = Own(dump);
  longer.back() = std::get<std::string>(longer.back()) + "x";
  EXPECT_THAT(Read(longer, false, kOwnValueVersion).error().message, HasSubstr("longer than its stated length"));
}

TEST_F(ModuleValueTest, UnknownVersionsAreUnsupported) {
  const std::string dump = DumpOf(core::kDefaultFilterType);
  EXPECT_EQ(Read(Own(dump), false, kNewestRedisBloomVersion + 1).error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(Read(Own(dump, 0, 2), false, kOwnValueVersion).error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(Read({}, true, 3).error().code, core::ErrorCode::kUnsupported) << "fingerprints of another hash";
}

TEST_F(ModuleValueTest, AFilterOfTheOtherDataTypeIsCorrupt) {
  EXPECT_THAT(Read(Own(DumpOf(core::kRedisCuckooType)), false, kOwnValueVersion).error().message,
              HasSubstr("another data type"));
  EXPECT_TRUE(Read(Own(DumpOf(core::kRedisCuckooType)), true, kOwnValueVersion));
}

TEST_F(ModuleValueTest, RefusedMemoryIsNoDamage) {
  const std::string dump = DumpOf(core::kDefaultFilterType);
  memory_.set_limit_bytes(1);
  EXPECT_EQ(Read(Own(dump), false, kOwnValueVersion).error().code, core::ErrorCode::kOutOfMemory);
}

// A header may claim any number of sub-filters: it is compared with what there may be before anything is read for it.
TEST_F(ModuleValueTest, AnImpossibleNumberOfSubFiltersIsCorrupt) {
  for (const uint64_t sub_filters : {uint64_t{0}, UINT64_MAX}) {
    const auto read = Read({uint64_t{0}, sub_filters, uint64_t{0}, uint64_t{2}}, false, kNewestRedisBloomVersion);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, core::ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace bitsieve::rdb
