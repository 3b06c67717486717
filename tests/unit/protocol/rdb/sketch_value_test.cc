#include "protocol/rdb/sketch_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/given_fields.h"

namespace bitsieve::rdb {
namespace {

using Fields = std::deque<ValueField>;
using core::ErrorCode;

template <class Sketch>
Fields FieldsOf(const Sketch& sketch) {
  TakenFields taken;
  Write(sketch, taken);
  return taken.fields;
}

class SketchValueTest : public testing::Test {
 protected:
  core::Result<core::CountMin> CountMinOf(Fields fields, int version = 0) {
    GivenFields given(std::move(fields));
    return ReadCountMin(given, version, memory_);
  }
  static core::Result<core::TopK> TopKOf(Fields fields, int version = 0) {
    GivenFields given(std::move(fields));
    return ReadTopK(given, version);
  }
  static core::Result<core::TDigest> TDigestOf(Fields fields, int version = 0) {
    GivenFields given(std::move(fields));
    return ReadTDigest(given, version);
  }
  // Expects that each beginning of the fields is refused as damaged.
  template <class Read>
  static void ExpectNoPartIsEnough(const Fields& fields, const Read& read) {
    for (size_t count = 0; count < fields.size(); ++count) {
      const auto made = read(Fields(fields.begin(), fields.begin() + static_cast<ptrdiff_t>(count)));
      ASSERT_FALSE(made) << count;
      EXPECT_EQ(made.error().code, ErrorCode::kCorrupt) << count;
    }
  }

  core::MemoryBudget memory_;
};

// The values are those of RedisBloom, after CMS.INITBYDIM k 1 1 and CMS.INCRBY k a 5.
TEST_F(SketchValueTest, ACountMinSketchIsSavedAsByRedisBloom) {
  core::CountMin sketch = core::CountMin::Make({1, 1}, memory_).value();
  sketch.Increase("a", 5);
  const Fields fields{uint64_t{1}, uint64_t{1}, uint64_t{5}, std::string("\5\0\0\0", 4)};
  EXPECT_EQ(FieldsOf(sketch), fields);
  EXPECT_EQ(CountMinOf(fields)->Count("a"), 5U);
  ExpectNoPartIsEnough(fields, [this](const Fields& part) { return CountMinOf(part); });
  const Fields newer{uint64_t{1}, uint64_t{1}, uint64_t{5}, uint64_t{4}, std::string("\5\0\0\0", 4)};
  EXPECT_EQ(FieldsOf(*CountMinOf(newer, 1)), fields);
  Fields wide = newer;
  wide[3] = uint64_t{8};
  EXPECT_EQ(CountMinOf(wide, 1).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(CountMinOf(fields, 2).error().code, ErrorCode::kUnsupported);
  for (const uint64_t width : {uint64_t{0}, uint64_t{2}, UINT64_MAX, uint64_t{1} << 63}) {
    Fields wrong = fields;
    wrong[0] = width;
    EXPECT_EQ(CountMinOf(wrong).error().code, ErrorCode::kCorrupt) << width;
  }
}

// The values are those of RedisBloom, after TOPK.RESERVE k 1 1 1 1 and TOPK.ADD k a; the address is left out.
TEST_F(SketchValueTest, ATopKIsSavedAsByRedisBloom) {
  core::TopK sketch = core::TopK::Make({1, 1, 1, 1}).value();
  const Fields empty{uint64_t{1},          uint64_t{1},           uint64_t{1},         1.0,
                     std::string(8, '\0'), std::string(24, '\0'), std::string(1, '\0')};
  EXPECT_EQ(FieldsOf(sketch), empty);
  sketch.Add("a", 1);
  const std::string entry("\x17\xf5\x3c\xf2\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 24);
  const Fields fields{uint64_t{1}, uint64_t{1},          uint64_t{1}, 1.0, std::string("\x17\xf5\x3c\xf2\1\0\0\0", 8),
                      entry,       std::string("a\0", 2)};
  EXPECT_EQ(FieldsOf(sketch), fields);
  Fields of_redis_bloom = fields;
  std::get<std::string>(of_redis_bloom[5]).replace(8, 8, "\x58\x7a\x27\xd4\x23\x7f\0\0", 8);
  EXPECT_EQ(TopKOf(of_redis_bloom)->state(), sketch.state());
  ExpectNoPartIsEnough(fields, [](const Fields& part) { return TopKOf(part); });
}

TEST_F(SketchValueTest, ATopKKeepsItsDrawsAndItsItems) {
  core::TopK sketch = core::TopK::Make({3, 2, 2, 0.9}).value();
  for (int i = 0; i < 1000; ++i) sketch.Add(std::to_string(i % 20) + std::string("\0x", 2), 2);
  ASSERT_GT(sketch.state().draws, 0U);
  EXPECT_EQ(TopKOf(FieldsOf(sketch))->state(), sketch.state());
}

TEST_F(SketchValueTest, ATopKThatCannotBeIsRefused) {
  const Fields good = FieldsOf(core::TopK::Make({2, 3, 2, 0.9}).value());
  const auto is_refused = [&good](size_t field, const ValueField& value) {
    Fields fields = good;
    fields[field] = value;
    const auto made = TopKOf(fields);
    return !made && made.error().code == ErrorCode::kCorrupt;
  };
  for (size_t field = 0; field < 3; ++field) {
    for (const uint64_t wrong : {uint64_t{0}, uint64_t{7}, (uint64_t{1} << 32) + 2, UINT64_MAX}) {
      EXPECT_TRUE(is_refused(field, wrong)) << field << ' ' << wrong;
    }
  }
  for (const double decay : {0.0, 7.0, -1.0, std::nan("")}) EXPECT_TRUE(is_refused(3, decay));
  EXPECT_TRUE(is_refused(4, std::string(47, '\0')));
  EXPECT_TRUE(is_refused(5, std::string(47, '\0')));
  EXPECT_TRUE(is_refused(6, std::string())) << "an item ends with a byte of 0";
  EXPECT_EQ(TopKOf(good, 1).error().code, ErrorCode::kUnsupported);
}

// The values are those of RedisBloom, of an empty digest.
TEST_F(SketchValueTest, ATDigestIsSavedAsByRedisBloom) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const Fields empty{100.0, kMost, -kMost, uint64_t{610}, uint64_t{0}, uint64_t{0}, uint64_t{0}, 0.0, 0.0};
  core::TDigest digest = core::TDigest::Make(100).value();
  EXPECT_EQ(FieldsOf(digest), empty);
  for (int i = 0; i < 5000; ++i) digest.Add(i % 777);
  digest.Compress();
  const Fields fields = FieldsOf(digest);
  EXPECT_EQ(TDigestOf(fields)->state(), digest.state());
  ExpectNoPartIsEnough(fields, [](const Fields& part) { return TDigestOf(part); });
}

TEST_F(SketchValueTest, ATDigestOfOneNumberIsThereThoughItsNodeWasNotSaved) {
  const Fields fields{100.0, 7.0, 7.0, uint64_t{610}, uint64_t{0}, uint64_t{1}, uint64_t{0}, 0.0, 1.0};
  core::TDigest digest = TDigestOf(fields).value();
  EXPECT_EQ(digest.Quantile(0.5), 7);
  EXPECT_EQ(digest.observations(), 1U);
}

TEST_F(SketchValueTest, ATDigestThatCannotBeIsRefused) {
  core::TDigest digest = core::TDigest::Make(100).value();
  for (int i = 0; i < 10; ++i) digest.Add(i);
  digest.Compress();
  const Fields good = FieldsOf(digest);
  const auto is_refused = [&good](size_t field, const ValueField& value) {
    Fields fields = good;
    fields[field] = value;
    const auto made = TDigestOf(fields);
    return !made && made.error().code == ErrorCode::kCorrupt;
  };
  for (const double compression : {0.0, -1.0, 1e9, double{INFINITY}, std::nan("")}) {
    EXPECT_TRUE(is_refused(0, compression));
  }
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{609}, UINT64_MAX}) EXPECT_TRUE(is_refused(3, capacity));
  for (const uint64_t nodes : {uint64_t{11}, uint64_t{611}, UINT64_MAX}) EXPECT_TRUE(is_refused(4, nodes));
  for (const uint64_t nodes : {uint64_t{1}, uint64_t{2}, UINT64_MAX}) EXPECT_TRUE(is_refused(5, nodes));
  for (const double weight : {-1.0, 0.5, 1e19, std::nan("")}) {
    EXPECT_TRUE(is_refused(7, weight)) << weight;
    EXPECT_TRUE(is_refused(8, weight)) << weight;
    EXPECT_TRUE(is_refused(good.size() - 1, weight)) << weight;
  }
  EXPECT_EQ(TDigestOf(good, 1).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace bitsieve::rdb
