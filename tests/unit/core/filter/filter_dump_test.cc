#include "core/filter/filter_dump.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "tests/support/filter_types.h"

namespace bitsieve::core {
namespace {

FilterParams ParamsOf(FilterType type) {
  FilterParams params;
  params.type = type;
  params.seed = 5;
  test::SetRequiredParams(params);
  ShareForStatedCapacity(params);
  return params;
}

class FilterDumpTest : public testing::TestWithParam<FilterType> {
 protected:
  void SetUp() override {
    filter_ = std::move(*MakeFilter(ParamsOf(GetParam()), budget_, SystemClock()));
    for (int i = 0; i < 250; ++i) {
      const KeyHash hash = filter_->HashOf(std::to_string(i));
      AddOutcome outcome;
      filter_->Add({&hash, 1}, {&outcome, 1});
    }
    dump_ = *DumpFilter(*filter_);
  }
  static bool Has(const Filter& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  ErrorCode RefusalOf(std::string_view bytes) {
    const auto restored = RestoreFilter(bytes, budget_, SystemClock());
    EXPECT_FALSE(restored) << "accepted";
    return restored ? ErrorCode::kIo : restored.error().code;
  }

  MemoryBudget budget_;
  std::unique_ptr<Filter> filter_;
  std::string dump_;
};

std::vector<FilterType> AllTypes() {
  std::vector<FilterType> types;
  for (const FilterTypeRow* row : FilterTypes()) types.push_back(row->type);
  return types;
}
INSTANTIATE_TEST_SUITE_P(Types, FilterDumpTest, testing::ValuesIn(AllTypes()),
                         [](const auto& test) { return std::string(FilterTypeName(test.param)); });

TEST_P(FilterDumpTest, RestoresWhatItDumped) {
  EXPECT_TRUE(IsFilterDump(dump_));
  const auto restored = RestoreFilter(dump_, budget_, SystemClock());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ((*restored)->params().type, GetParam());
  EXPECT_EQ((*restored)->ItemCount(), filter_->ItemCount());
  for (int i = 200; i < 250; ++i) ASSERT_TRUE(Has(**restored, std::to_string(i)));
  EXPECT_EQ(*DumpFilter(**restored), dump_);
}

TEST_P(FilterDumpTest, IsReadInPiecesOfAnySize) {
  for (const size_t most : {1UL, 7UL, 64UL, 1000UL}) {
    DumpStream stream(filter_->Capture());
    EXPECT_EQ(stream.total_bytes(), dump_.size());
    std::string all;
    while (!stream.AtEnd()) {
      std::string piece;
      ASSERT_TRUE(stream.Read(most, piece));
      ASSERT_TRUE(!piece.empty() && piece.size() <= most);
      all += piece;
    }
    ASSERT_EQ(all, dump_);
  }
}

TEST_P(FilterDumpTest, IsTakenInPiecesOfAnySize) {
  for (const size_t most : {1UL, 7UL, 64UL, 1000UL}) {
    const auto opened = OpenFilterDump(dump_, budget_, SystemClock());
    ASSERT_TRUE(opened);
    const std::string_view rest = std::string_view(dump_).substr(opened->head_bytes);
    EXPECT_EQ(opened->decoder->body_bytes(), rest.size());
    for (size_t at = 0; at < rest.size(); at += most) {
      ASSERT_TRUE(opened->decoder->Append(AsBytes(rest.substr(at, most))));
    }
    const auto restored = opened->decoder->Finish();
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(*DumpFilter(**restored), dump_);
  }
}

TEST_P(FilterDumpTest, EveryDamagedBitIsFound) {
  const uint64_t used = budget_.used_bytes();
  for (size_t byte = 0; byte < dump_.size(); ++byte) {
    if (byte > 200 && byte < dump_.size() - 20 && byte % 13 != 0) continue;
    std::string damaged = dump_;
    damaged[byte] ^= static_cast<char>(1 << (byte % 8));
    const ErrorCode code = RefusalOf(damaged);
    EXPECT_TRUE(code == ErrorCode::kCorrupt || code == ErrorCode::kUnsupported) << byte;
  }
  EXPECT_EQ(budget_.used_bytes(), used);
}

TEST_P(FilterDumpTest, CutAndLengthenedOnesAreRefused) {
  for (size_t size = 0; size < dump_.size(); size = size < 200 ? size + 1 : size + 17) {
    EXPECT_EQ(RefusalOf(std::string_view(dump_).substr(0, size)), ErrorCode::kCorrupt) << size;
  }
  EXPECT_EQ(RefusalOf(std::string_view(dump_).substr(0, dump_.size() - 1)), ErrorCode::kCorrupt);
  EXPECT_EQ(RefusalOf(dump_ + 'x'), ErrorCode::kCorrupt);
}

TEST_P(FilterDumpTest, OtherVersionsAreToldApart) {
  std::string newer = dump_;
  newer[4] = 2;
  const auto restored = RestoreFilter(newer, budget_, SystemClock());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(restored.error().message, "dump: version 2 is not supported; this server reads version 1");
}

TEST_P(FilterDumpTest, AKindOfALaterVersionIsNamed) {
  std::string other = dump_;
  uint32_t header_bytes;
  std::memcpy(&header_bytes, other.data() + 8, sizeof header_bytes);
  constexpr size_t kHeader = 20;
  other[kHeader + 6] = 99;  // the type; and right checksums around it
  const uint64_t header_sum = Checksum(std::string_view(other).substr(kHeader, header_bytes - 8));
  std::memcpy(other.data() + kHeader + header_bytes - 8, &header_sum, 8);
  const auto restored = RestoreFilter(other, budget_, SystemClock());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(restored.error().message, "filter header: type 99 is unknown");
}

TEST_P(FilterDumpTest, MemoryIsAskedFirst) {
  MemoryBudget small(100);
  const auto restored = RestoreFilter(dump_, small, SystemClock());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(small.used_bytes(), 0U);
}

TEST(CloneFilterTest, OfAnImageIsAsOfItsMoment) {
  MemoryBudget budget;
  const auto filter = MakeFilter({.capacity = 10'000}, budget, SystemClock());
  ASSERT_TRUE(filter);
  const auto add = [&filter](std::string_view item) {
    const KeyHash hash = (*filter)->HashOf(item);
    AddOutcome outcome;
    (*filter)->Add({&hash, 1}, {&outcome, 1});
  };
  add("before");
  const auto image = (*filter)->Capture();
  const auto then = DumpFilter(**filter);
  add("after");
  const auto clone = CloneFilter(*image, budget, SystemClock());
  ASSERT_TRUE(clone) << clone.error().message;
  EXPECT_EQ(DumpFilter(**clone).value(), then.value());
}

TEST(RunningChecksumTest, IsThatOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7);
  for (const size_t piece : {1UL, 100UL, 999UL}) {
    RunningChecksum running;
    for (size_t at = 0; at < bytes.size(); at += piece) running.Add(std::string_view(bytes).substr(at, piece));
    EXPECT_EQ(running.Value(), Checksum(bytes));
  }
  EXPECT_EQ(RunningChecksum().Value(), Checksum(""));
}

}  // namespace
}  // namespace bitsieve::core
