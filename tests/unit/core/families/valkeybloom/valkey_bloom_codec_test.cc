#include "core/families/valkeybloom/valkey_bloom_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/valkeybloom/valkey_bloom.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

// The bytes of a slice with one byte of bits, of the item "a": valkey-bloom's, except for what is changed.
struct GivenSlice {
  uint8_t version = 1;
  uint64_t size = 1;
  uint32_t hash_functions = 6;
  std::string seed = ValkeySeedOf({});
  std::string bits = "\x55";

  std::string Bytes() const {
    std::string bytes;
    ByteWriter out(bytes);
    out.Put(version);
    out.Put(size);
    out.Put(hash_functions);
    out.PutBytes(seed);
    out.PutBytes(bits);
    return bytes;
  }
};

class ValkeyBloomCodecTest : public testing::Test {
 protected:
  using Made = Result<std::unique_ptr<Filter>>;
  static constexpr ValkeyBloomFields kFields{
      .sub_filters = 1, .expansion = 2, .error_rate = 0.5, .tightening_ratio = 0.5, .is_seed_random = false};

  Made Build(const ValkeyBloomFields& fields, const std::vector<GivenSlice>& slices, uint64_t capacity = 1,
             uint64_t items = 1) {
    ValkeyBloomBuilder builder(budget_);
    if (Status status = builder.Begin(fields); !status) return tl::unexpected(status.error());
    for (const GivenSlice& slice : slices) {
      if (Status status = builder.Add(capacity, items, slice.Bytes()); !status) return tl::unexpected(status.error());
    }
    return builder.Finish();
  }
  template <class Change>
  Made Changed(Change change) {
    GivenSlice slice;
    change(slice);
    return Build(kFields, {slice});
  }
  static std::string ErrorOf(const Made& made) { return made ? "no error" : made.error().message; }

  MemoryBudget budget_;
};

TEST_F(ValkeyBloomCodecTest, ASliceIsReadAndWrittenAgain) {
  const auto filter = Build(kFields, {GivenSlice{}});
  ASSERT_TRUE(filter) << filter.error().message;
  const KeyHash hash = (*filter)->HashOf("a");
  uint8_t present = 0;
  (*filter)->MayContain({&hash, 1}, {&present, 1});
  EXPECT_EQ(present, 1);
  EXPECT_EQ((*filter)->ItemCount(), 1U);
  const auto sub_filters = ValkeySubFiltersOf(**filter);
  ASSERT_EQ(sub_filters.size(), 1U);
  EXPECT_EQ(ValkeySliceOf(*sub_filters[0], (*filter)->params()), GivenSlice{}.Bytes());
  const ValkeyBloomFields fields = ValkeyFieldsOf(**filter);
  EXPECT_EQ(fields.sub_filters, 1U);
  EXPECT_EQ(fields.expansion, 2U);
  EXPECT_EQ(fields.error_rate, 0.5);
  EXPECT_EQ(fields.tightening_ratio, 0.5);
  EXPECT_FALSE(fields.is_seed_random);
}

TEST_F(ValkeyBloomCodecTest, SlicesThatNoFilterHasAreRefused) {
  EXPECT_EQ(ErrorOf(Changed([](GivenSlice&) {})), "no error");
  const std::string whole = GivenSlice{}.Bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    ValkeyBloomBuilder builder(budget_);
    ASSERT_TRUE(builder.Begin(kFields));
    EXPECT_FALSE(builder.Add(1, 1, std::string_view(whole).substr(0, size))) << size;
  }
  EXPECT_EQ(Changed([](GivenSlice& slice) { slice.version = 2; }).error().code, ErrorCode::kUnsupported);
  for (const uint64_t size : {uint64_t{0}, uint64_t{2}, UINT64_MAX}) {
    EXPECT_THAT(ErrorOf(Changed([=](GivenSlice& slice) { slice.size = size; })), HasSubstr("not as many")) << size;
  }
  EXPECT_THAT(ErrorOf(Changed([](GivenSlice& slice) {
                slice.bits = "";
                slice.size = 0;
              })),
              HasSubstr("not as many"));
  for (const uint32_t functions : {0U, 2049U, UINT32_MAX}) {
    EXPECT_THAT(ErrorOf(Changed([=](GivenSlice& slice) { slice.hash_functions = functions; })),
                HasSubstr("the shape of sub-filter 0 is impossible"));
  }
  EXPECT_THAT(ErrorOf(Changed([](GivenSlice& slice) { slice.seed[0] ^= 1; })), HasSubstr("fixed"));
}

TEST_F(ValkeyBloomCodecTest, FewerBitsThanItemsAreKept) {
  const auto filter = Changed([](GivenSlice& slice) { slice.bits = std::string(1, '\0'); });
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ((*filter)->ItemCount(), 1U);
}

TEST_F(ValkeyBloomCodecTest, FieldsThatNoFilterHasAreRefused) {
  const auto with = [this](auto change) {
    ValkeyBloomFields fields = kFields;
    change(fields);
    return Build(fields, {GivenSlice{}});
  };
  for (const uint64_t sub_filters : {uint64_t{0}, uint64_t{kMaxSubFilters} + 1, UINT64_MAX}) {
    EXPECT_THAT(ErrorOf(with([=](auto& fields) { fields.sub_filters = sub_filters; })),
                HasSubstr("number of sub-filters must be in the range"));
  }
  EXPECT_THAT(ErrorOf(with([](auto& fields) { fields.sub_filters = 2; })), HasSubstr("missing"));
  EXPECT_THAT(ErrorOf(Build(kFields, {GivenSlice{}, GivenSlice{}})), HasSubstr("more sub-filters than it states"));
  EXPECT_THAT(ErrorOf(with([](auto& fields) { fields.expansion = uint64_t{1} << 32; })), HasSubstr("expansion"));
  for (const double wrong :
       {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto rate = with([=](auto& fields) { fields.error_rate = wrong; });
    ASSERT_FALSE(rate) << wrong;
    EXPECT_EQ(rate.error().code, ErrorCode::kInvalidArgument) << wrong;
    EXPECT_FALSE(with([=](auto& fields) { fields.tightening_ratio = wrong; })) << wrong;
  }
  for (const uint64_t capacity : {uint64_t{0}, ValkeyBloom::kMaxCapacity + 1, UINT64_MAX}) {
    EXPECT_FALSE(Build(kFields, {GivenSlice{}}, capacity, 0)) << capacity;
  }
  EXPECT_THAT(ErrorOf(Build(kFields, {GivenSlice{}}, 1, 2)), HasSubstr("more items than it can"));
}

TEST_F(ValkeyBloomCodecTest, AllSubFiltersHaveOneSeed) {
  ValkeyBloomFields fields = kFields;
  fields.sub_filters = 2;
  fields.is_seed_random = true;
  GivenSlice other;
  other.seed[31] ^= 1;
  EXPECT_EQ(ErrorOf(Build(fields, {other, other})), "no error");
  EXPECT_THAT(ErrorOf(Build(fields, {other, GivenSlice{}})), HasSubstr("different seeds"));
}

// A lookup takes as many steps as there are hash functions in all, so that a small value must not state many.
TEST_F(ValkeyBloomCodecTest, HashFunctionsAreBoundedInAll) {
  ValkeyBloomFields fields = kFields;
  fields.sub_filters = 600;
  fields.tightening_ratio = 0.999;
  GivenSlice slice;
  slice.hash_functions = 2048;
  EXPECT_THAT(ErrorOf(Build(fields, std::vector<GivenSlice>(600, slice))), HasSubstr("sub-filter 512 is impossible"));
  fields.sub_filters = 512;
  EXPECT_EQ(ErrorOf(Build(fields, std::vector<GivenSlice>(512, slice))), "no error");
}

// Rates that have become 0 are those of no sub-filter.
TEST_F(ValkeyBloomCodecTest, ASubFilterHasARate) {
  ValkeyBloomFields fields = kFields;
  fields.sub_filters = 3;
  fields.tightening_ratio = 1e-200;
  EXPECT_FALSE(Build(fields, std::vector<GivenSlice>(3)));
}

TEST_F(ValkeyBloomCodecTest, RefusedMemoryIsNoDamage) {
  budget_.set_limit_bytes(1);
  const auto made = Build(kFields, {GivenSlice{}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kOutOfMemory);
}

class ValkeyLoadTest : public ValkeyBloomCodecTest {
 protected:
  static std::string Payload() {
    std::string bytes;
    ByteWriter out(bytes);
    out.Put(uint8_t{1});
    out.Put(uint32_t{2});
    out.Put(0.5);
    out.Put(0.5);
    out.Put(uint8_t{0});
    out.Put(uint64_t{1});
    out.Put(uint64_t{GivenSlice{}.Bytes().size()});
    out.PutBytes(GivenSlice{}.Bytes());
    out.Put(uint64_t{1});  // items
    out.Put(uint64_t{1});  // capacity
    return bytes;
  }
};

TEST_F(ValkeyLoadTest, APayloadIsRead) {
  EXPECT_EQ(Payload().size(), 100U);
  const auto filter = DecodeValkeyLoad(Payload(), budget_);
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ((*filter)->ItemCount(), 1U);
  EXPECT_TRUE(DecodeValkeyLoad(Payload() + "more", budget_)) << "what follows is ignored";
}

TEST_F(ValkeyLoadTest, OtherPayloadsAreRefused) {
  const std::string whole = Payload();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto cut = DecodeValkeyLoad(std::string_view(whole).substr(0, size), budget_);
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt) << size;
  }
  std::string newer = whole;
  newer[0] = 2;
  EXPECT_EQ(DecodeValkeyLoad(newer, budget_).error().code, ErrorCode::kUnsupported);
  std::string flag = whole;
  flag[21] = 2;
  EXPECT_EQ(DecodeValkeyLoad(flag, budget_).error().code, ErrorCode::kCorrupt);
  std::string endless = whole;
  endless.replace(30, 8, 8, '\xff');
  EXPECT_EQ(DecodeValkeyLoad(endless, budget_).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
