// Headers of images, taken apart and put together again: all that a header states is checked before anything is made of
// it. tests/contract does the same with whole images of every type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/families/fingerprint/fingerprint_codec.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/families/ribbon/ribbon_codec.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/window/window_codec.h"
#include "core/families/window/window_type.h"
#include "core/filter/image_header.h"
#include "core/filter/staging.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

class CodecTest : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(FilterParams params, int items) {
    ShareForStatedCapacity(params);
    auto filter = std::move(MakeFilter(params, budget_, SystemClock()).value());
    for (int i = 0; i < items; ++i) {
      const KeyHash hash = filter->HashOf(std::to_string(i));
      AddOutcome outcome{};
      filter->Add({&hash, 1}, {&outcome, 1});
    }
    return filter;
  }
  // Decodes a whole header.
  template <class Header>
  static Result<Header> Decode(const std::string& bytes, Result<Header> (*decode)(std::string_view fields)) {
    const auto frame = OpenHeader(bytes);
    if (!frame) return tl::unexpected(frame.error());
    return decode(frame->fields);
  }

  MemoryBudget budget_;
};

class FingerprintCodec : public CodecTest {
 protected:
  FingerprintHeader MakeHeader() {
    const auto filter = Make({.type = kFingerprintType, .capacity = 100, .seed = 7}, 50);
    return Decode(filter->Capture()->header(), DecodeFingerprintHeader).value();
  }
  static std::string ErrorOf(const FingerprintHeader& header) {
    const auto decoded = Decode(EncodeFingerprintHeader(header), DecodeFingerprintHeader);
    if (decoded) return "";
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
    return decoded.error().message;
  }
};

TEST_F(FingerprintCodec, HeadersReadBack) {
  const FingerprintHeader header = MakeHeader();
  EXPECT_EQ(header.params.capacity, 100U);
  EXPECT_EQ(header.params.seed, 7U);
  ASSERT_EQ(header.tables.size(), 1U);
  EXPECT_EQ(header.tables[0].items, 50U);
  EXPECT_EQ(header.Summary().items, 50U);
  EXPECT_EQ(header.Summary().capacity, header.tables[0].shape.capacity);
  const std::string bytes = EncodeFingerprintHeader(header);
  EXPECT_EQ(EncodeFingerprintHeader(Decode(bytes, DecodeFingerprintHeader).value()), bytes);
}

TEST_F(FingerprintCodec, ImpossibleTablesAreCorrupt) {
  const auto changed = [header = MakeHeader()](auto change) {
    FingerprintHeader other = header;
    change(other.tables[0]);
    return ErrorOf(other);
  };
  EXPECT_EQ(changed([](FingerprintRecord&) {}), "");
  EXPECT_THAT(changed([](FingerprintRecord& table) { table.shape.fingerprint_bits = 33; }), HasSubstr("table 0"));
  EXPECT_THAT(changed([](FingerprintRecord& table) { table.shape.error_rate = 1; }), HasSubstr("error rate"));
  EXPECT_THAT(changed([](FingerprintRecord& table) { table.shape.slots = table.shape.capacity; }), HasSubstr("slots"));
  EXPECT_THAT(changed([](FingerprintRecord& table) { table.taken = table.items + 1; }), HasSubstr("holds more"));
}

TEST_F(FingerprintCodec, ThereIsAtLeastOneTableAndNotTooMany) {
  FingerprintHeader header = MakeHeader();
  header.tables.resize(kMaxFingerprintTables + 1, header.tables[0]);
  EXPECT_THAT(ErrorOf(header), HasSubstr("number of tables"));
  header.tables.clear();
  EXPECT_THAT(ErrorOf(header), HasSubstr("number of tables"));
}

TEST_F(FingerprintCodec, TablesAreTakenFromTheBudgetBeforeTheBody) {
  FingerprintHeader header = MakeHeader();
  header.tables[0].shape.slots = uint64_t{1} << 40;
  const std::string bytes = EncodeFingerprintHeader(header);
  budget_.set_limit_bytes(1 << 20);
  const auto decoder = OpenFingerprint(OpenHeader(bytes)->fields, budget_);
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, ErrorCode::kOutOfMemory);
}

class RibbonCodec : public CodecTest {
 protected:
  std::unique_ptr<Filter> MakeFrozen() {
    const auto filter = Make({.type = kRibbonType, .capacity = 1000, .expansion = 0}, 1000);
    EXPECT_TRUE(filter->staging()->Close());
    return std::move(filter->staging()->Build(budget_, [] { return true; }).value());
  }
  static std::string ErrorOf(const RibbonHeader& header) {
    const auto decoded = Decode(EncodeRibbonHeader(header), DecodeRibbonHeader);
    return decoded ? "" : decoded.error().message;
  }
};

TEST_F(RibbonCodec, WhatIsCollectedReadsBackAsItsHashes) {
  const auto filter = Make({.type = kRibbonType, .capacity = 1000, .expansion = 0}, 10);
  const auto header = Decode(filter->Capture()->header(), DecodeRibbonHeader);
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->frozen);
  EXPECT_EQ(header->items, 10U);
  EXPECT_EQ(header->body_bytes(), 10 * sizeof(uint64_t));
  EXPECT_EQ(header->Summary().items, 10U);
}

TEST_F(RibbonCodec, AFrozenFilterReadsBackAsItsShards) {
  const auto filter = MakeFrozen();
  const auto image = filter->Capture();
  const auto header = Decode(image->header(), DecodeRibbonHeader);
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->frozen);
  EXPECT_EQ(header->shape.shards, 1U);
  EXPECT_EQ(header->body_bytes(), image->body_bytes());
  EXPECT_EQ(EncodeRibbonHeader(*header), image->header());
}

TEST_F(RibbonCodec, ImpossibleShapesAreCorrupt) {
  const auto changed = [header = Decode(MakeFrozen()->Capture()->header(), DecodeRibbonHeader).value()](auto change) {
    RibbonHeader other = header;
    change(other);
    return ErrorOf(other);
  };
  EXPECT_EQ(changed([](RibbonHeader&) {}), "");
  EXPECT_THAT(changed([](RibbonHeader& header) { header.shape.columns = 0; }), HasSubstr("columns"));
  EXPECT_THAT(changed([](RibbonHeader& header) { header.shape.shards = header.shape.words; }), HasSubstr("shards"));
  EXPECT_THAT(changed([](RibbonHeader& header) { header.shape.words += 1; }), HasSubstr("words"));
  EXPECT_NE(changed([](RibbonHeader& header) { header.items = kMaxRibbonItems; }), "");
}

class WindowCodec : public CodecTest {
 protected:
  WindowHeader MakeHeader(const WindowSpan& span) {
    FilterParams params{.type = kWindowType, .capacity = 300, .expansion = 0};
    SetWindow(params, span);
    return Decode(Make(params, 50)->Capture()->header(), DecodeWindowHeader).value();
  }
  static std::string ErrorOf(const WindowHeader& header) {
    const auto decoded = Decode(EncodeWindowHeader(header), DecodeWindowHeader);
    return decoded ? "" : decoded.error().message;
  }
};

TEST_F(WindowCodec, AWindowIsDividedIntoGenerations) {
  FilterParams params{.type = kWindowType, .capacity = 301, .expansion = 0};
  SetWindow(params, {.items = 301});
  const WindowShape of_items = WindowShapeFor(params);
  EXPECT_EQ(of_items.generations, kGenerations);
  EXPECT_EQ(of_items.max_generations, kGenerations + 1);
  EXPECT_GE(of_items.sub_filter.capacity * kGenerations, 301U);
  SetWindow(params, {.duration_ms = 1000});
  const WindowShape of_time = WindowShapeFor(params);
  EXPECT_GT(of_time.max_generations, of_items.max_generations) << "a burst needs more";
  EXPECT_LT(of_time.sub_filter.error_rate, of_items.sub_filter.error_rate);
}

TEST_F(WindowCodec, HeadersReadBack) {
  const WindowHeader header = MakeHeader({.duration_ms = 60'000});
  EXPECT_EQ(WindowOf(header.params).duration_ms, 60'000U);
  EXPECT_EQ(header.Summary().items, 50U);
  EXPECT_EQ(header.Summary().capacity, 300U);
  EXPECT_GT(header.generations.back().last_ms, 0U);
  const std::string bytes = EncodeWindowHeader(header);
  EXPECT_EQ(EncodeWindowHeader(Decode(bytes, DecodeWindowHeader).value()), bytes);
}

TEST_F(WindowCodec, ImpossibleGenerationsAreCorrupt) {
  const auto changed = [header = MakeHeader({.items = 300})](auto change) {
    WindowHeader other = header;
    change(other);
    return ErrorOf(other);
  };
  EXPECT_EQ(changed([](WindowHeader&) {}), "");
  EXPECT_THAT(changed([](WindowHeader& header) { header.shape.max_generations = kMaxGenerations + 1; }),
              HasSubstr("generations is out of range"));
  EXPECT_THAT(changed([](WindowHeader& header) { header.shape.sub_filter.bits = 1; }), HasSubstr("shape"));
  EXPECT_THAT(changed([](WindowHeader& header) { header.generations.clear(); }), HasSubstr("out of range"));
  EXPECT_THAT(changed([](WindowHeader& header) { header.generations.back().items = 1'000; }), HasSubstr("holds more"));
  EXPECT_THAT(changed([](WindowHeader& header) { header.generations.back().first_ms = 5; }), HasSubstr("times"));
  EXPECT_THAT(changed([](WindowHeader& header) { header.generations.back().last_ms = 5; }), HasSubstr("a time in"));
}

}  // namespace
}  // namespace bitsieve::core
