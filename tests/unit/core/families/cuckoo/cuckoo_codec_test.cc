#include "core/families/cuckoo/cuckoo_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/filter_factory.h"
#include "core/filter/image_header.h"
#include "tests/support/reseal.h"

namespace bitsieve::core {
namespace {

using test::Reseal;
using testing::HasSubstr;

std::string SomeHeader() {
  CuckooHeader header;
  header.params.type = kCuckooType;
  header.params.error_rate = 0.001;
  header.params.capacity = 1000;
  header.params.expansion = 3;
  header.params.tightening_ratio = 0.7;
  header.params.seed = 0xFEDCBA9876543210ULL;
  SetBucketSize(header.params, 5);
  SetMaxIterations(header.params, 77);
  header.tables = {{{1000, 8e-4, 300, 5, 14}, 1000}, {{4000, 6e-5, 900, 5, 18}, 17}};
  return EncodeCuckooHeader(header);
}

Result<CuckooHeader> DecodeHeader(const std::string& bytes) {
  const auto frame = OpenHeader(bytes);
  if (!frame) return tl::unexpected(frame.error());
  return DecodeCuckooHeader(frame->fields);
}

TEST(CuckooHeader, RoundTrip) {
  const auto header = DecodeHeader(SomeHeader());
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->params.type, kCuckooType);
  EXPECT_EQ(header->params.error_rate, 0.001);
  EXPECT_EQ(header->params.capacity, 1000U);
  EXPECT_EQ(header->params.expansion, 3U);
  EXPECT_EQ(header->params.tightening_ratio, 0.7);
  EXPECT_EQ(header->params.first_share, 0.8);
  EXPECT_EQ(header->params.seed, 0xFEDCBA9876543210ULL);
  EXPECT_EQ(BucketSizeOf(header->params), 5U);
  EXPECT_EQ(MaxIterationsOf(header->params), 77U);
  ASSERT_EQ(header->tables.size(), 2U);
  EXPECT_EQ(header->tables[0].items, 1000U);
  EXPECT_EQ(header->tables[1].items, 17U);
  EXPECT_EQ(header->tables[1].shape.capacity, 4000U);
  EXPECT_EQ(header->tables[1].shape.error_rate, 6e-5);
  EXPECT_EQ(header->tables[1].shape.buckets, 900U);
  EXPECT_EQ(header->tables[1].shape.bucket_size, 5U);
  EXPECT_EQ(header->tables[1].shape.fingerprint_bits, 18U);
}

TEST(CuckooHeader, EveryDamagedByteAndEveryOtherLengthIsNoticed) {
  const std::string good = SomeHeader();
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      EXPECT_FALSE(DecodeHeader(bad)) << i;
    }
    EXPECT_FALSE(DecodeHeader(good.substr(0, i))) << i;
    if (i >= 8) {
      EXPECT_FALSE(DecodeHeader(Reseal(good.substr(0, i)))) << i;
    }
  }
  EXPECT_FALSE(DecodeHeader(Reseal(good + '\0')));
}

TEST(CuckooHeader, HostileFieldsAreRefusedBehindARightChecksum) {
  const std::string good = SomeHeader();
  const auto with = [&](size_t offset, auto value) {
    std::string bad = good;
    std::memcpy(bad.data() + offset, &value, sizeof value);
    const auto header = DecodeHeader(Reseal(bad));
    return header ? "accepted" : header.error().message;
  };
  constexpr size_t kFirst = 92, kSecond = kFirst + 40;  // where the tables start
  EXPECT_EQ(with(kFirst, uint64_t{1000}), "accepted");
  EXPECT_THAT(with(8, 1e-300), HasSubstr("error rate"));
  EXPECT_THAT(with(24, uint32_t{40000}), HasSubstr("expansion"));
  EXPECT_THAT(with(64, uint64_t{1}), HasSubstr("bucket size"));
  EXPECT_THAT(with(64, uint64_t{9}), HasSubstr("bucket size"));
  EXPECT_THAT(with(80, uint64_t{0}), HasSubstr("iterations"));
  EXPECT_THAT(with(80, uint64_t{65536}), HasSubstr("iterations"));
  EXPECT_THAT(with(88, uint32_t{0}), HasSubstr("number of tables"));
  EXPECT_THAT(with(88, uint32_t{257}), HasSubstr("number of tables"));
  EXPECT_THAT(with(88, UINT32_MAX), HasSubstr("number of tables"));
  EXPECT_THAT(with(88, uint32_t{3}), HasSubstr("ends within table 2"));
  EXPECT_THAT(with(88, uint32_t{1}), HasSubstr("bytes follow"));
  EXPECT_THAT(with(kFirst, uint64_t{0}), HasSubstr("capacity of table 0"));
  EXPECT_THAT(with(kFirst, uint64_t{1501}), HasSubstr("capacity of table 0"));
  EXPECT_THAT(with(kFirst, uint64_t{999}), HasSubstr("table 0 holds more items than it can"));
  EXPECT_THAT(with(kFirst + 8, 0.0), HasSubstr("error rate of table 0"));
  EXPECT_THAT(with(kFirst + 16, uint64_t{0}), HasSubstr("buckets of table 0 is out of range"));
  EXPECT_THAT(with(kFirst + 16, uint64_t{1} << 46), HasSubstr("buckets of table 0 is out of range"));
  EXPECT_THAT(with(kFirst + 16, UINT64_MAX), HasSubstr("buckets of table 0 is out of range"));
  EXPECT_THAT(with(kSecond + 16, uint64_t{901}), HasSubstr("not a multiple"));
  EXPECT_THAT(with(kSecond + 24, uint32_t{13}), HasSubstr("narrower"));
  EXPECT_THAT(with(kSecond + 24, uint32_t{33}), HasSubstr("fingerprints of table 1"));
  EXPECT_THAT(with(kFirst + 24, uint32_t{0}), HasSubstr("fingerprints of table 0"));
}

TEST(CuckooHeader, HugeTablesAreRefusedByTheBudgetBeforeAnythingIsAllocated) {
  CuckooHeader header;
  header.params.type = kCuckooType;
  header.tables = {{{1, 0.01, uint64_t{1} << 46, 4, 32}, 0}};
  MemoryBudget budget(1 << 20);
  const auto decoder = FilterDecoder::Open(EncodeCuckooHeader(header), budget, SystemClock());
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(budget.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
