#include "clients/cpp/filter_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/filter/change_runs.h"
#include "core/filter/filter_dump.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::clients {
namespace {

using testing::HasSubstr;

class FilterCopyTest : public testing::Test {
 protected:
  static std::string Dump() {
    core::MemoryBudget budget;
    core::FilterParams params;
    params.capacity = 1000;
    params.seed = 7;
    return *core::DumpFilter(**core::MakeFilter(params, budget, core::SystemClock()));
  }
  static std::unique_ptr<FilterCopy> Make() {
    ArrivingCopy arriving(0);
    EXPECT_TRUE(arriving.Append(Dump()));
    return std::move(*arriving.Finish("0000000000000001-5"));
  }
  static bool Contains(const FilterCopy& copy, std::string_view item) {
    const core::KeyHash hash = copy.filter->HashOf(item);
    uint8_t present = 0;
    copy.filter->MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static std::string Addition(const FilterCopy& copy, std::string_view item) {
    const core::KeyHash hash = copy.filter->HashOf(item);
    std::string run;
    core::AppendChangeRun({core::ChangeKind::kAdded, 0, 0, 0, {&hash, 1}}, run);
    return run;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/copy";
};

TEST_F(FilterCopyTest, TakesChanges) {
  const auto copy = Make();
  EXPECT_FALSE(Contains(*copy, "a"));
  EXPECT_TRUE(copy->Apply(Addition(*copy, "a") + Addition(*copy, "b")));
  EXPECT_TRUE(Contains(*copy, "a"));
  EXPECT_TRUE(Contains(*copy, "b"));
  EXPECT_TRUE(copy->Apply(""));
  EXPECT_EQ(copy->Apply("x").error().code, core::ErrorCode::kCorrupt);
}

TEST_F(FilterCopyTest, ADumpThatIsDamagedOrTooLargeIsRefused) {
  std::string dump = Dump();
  dump.back() ^= 1;
  ArrivingCopy damaged(0);
  const core::Status appended = damaged.Append(dump);
  EXPECT_FALSE(appended && damaged.Finish("").has_value());
  ArrivingCopy limited(100);
  EXPECT_EQ(limited.Append(Dump()).error().code, core::ErrorCode::kOutOfMemory);
  ArrivingCopy none(0);
  EXPECT_EQ(none.Finish("").error().code, core::ErrorCode::kCorrupt);
}

TEST_F(FilterCopyTest, IsKeptInAFile) {
  const auto copy = Make();
  EXPECT_TRUE(copy->Apply(Addition(*copy, "a")));
  ASSERT_TRUE(SaveCopy(path_, "seen", *copy, 1234));
  const auto loaded = LoadCopy(path_, "seen", 0);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->saved_ms, 1234);
  EXPECT_EQ(loaded->copy->position, "0000000000000001-5");
  EXPECT_EQ(*core::DumpFilter(*loaded->copy->filter), *core::DumpFilter(*copy->filter));
  EXPECT_THAT(LoadCopy(path_, "other", 0).error().message, HasSubstr("a copy of another filter"));
  EXPECT_EQ(LoadCopy(path_ + "x", "seen", 0).error().code, core::ErrorCode::kIo);
}

TEST_F(FilterCopyTest, AFileWithAnyDamagedByteIsRefused) {
  ASSERT_TRUE(SaveCopy(path_, "seen", *Make(), 1234));
  std::ifstream in(path_, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto refused = [this](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    const auto loaded = LoadCopy(path_, "seen", 0);
    return !loaded && loaded.error().code == core::ErrorCode::kCorrupt;
  };
  for (size_t i = 0; i < whole.size(); i += i < 200 ? 1 : 97) {
    std::string damaged = whole;
    damaged[i] ^= 0x10;
    EXPECT_TRUE(refused(damaged)) << i;
  }
  for (size_t size = 0; size < whole.size(); size += 31) EXPECT_TRUE(refused(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace bitsieve::clients
