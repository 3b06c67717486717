// What every filter family must keep of its bytes: they are frozen, they come back whole, and damage is refused.
#include <cstring>
#include <optional>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/window/window_type.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

std::string BodyOf(core::FilterImage& image) {
  std::string body(image.body_bytes(), '\0');
  EXPECT_TRUE(image.Read(0, std::as_writable_bytes(std::span(body))));
  return body;
}

core::Result<std::unique_ptr<core::Filter>> Decode(std::string_view header, std::string_view body,
                                                   core::MemoryBudget& budget) {
  auto decoder = core::FilterDecoder::Open(header, budget);
  if (!decoder) return tl::unexpected(decoder.error());
  if (auto status = (*decoder)->Append(core::AsBytes(body)); !status) return tl::unexpected(status.error());
  return (*decoder)->Finish();
}

class Image : public FilterContract {};
BITSIEVE_FOR_ALL_KINDS(Image);

TEST_P(Image, ComesBackAndAnswersAlike) {
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  const auto filter = Make(1e-3, 500, 2, 99);
  Add(*filter, KeySource::kStrings, 0, 3000);
  const auto image = filter->Capture();
  const auto copy = Decode(image->header(), BodyOf(*image), budget_);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->ItemCount(), filter->ItemCount());
  EXPECT_EQ((*copy)->params().seed, filter->params().seed);
  const core::FilterInfo a = filter->Info();
  const core::FilterInfo b = (*copy)->Info();
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.links, b.links);
  EXPECT_EQ(a.size_bytes, b.size_bytes);
  EXPECT_EQ(a.fill_ratio, b.fill_ratio);
  EXPECT_EQ(CountFound(**copy, KeySource::kStrings, 0, 3000), 3000U);
  EXPECT_EQ(CountFound(**copy, KeySource::kStrings, kAbsent, 100'000),
            CountFound(*filter, KeySource::kStrings, kAbsent, 100'000));
  // It also grows alike.
  Add(*filter, KeySource::kStrings, 3000, 3000);
  Add(**copy, KeySource::kStrings, 3000, 3000);
  EXPECT_EQ(BodyOf(*filter->Capture()), BodyOf(*(*copy)->Capture()));
}

TEST_P(Image, EmptyFilterComesBack) {
  const auto filter = Make(0.01, 1, 0, 1);
  const auto image = filter->Capture();
  const auto copy = Decode(image->header(), BodyOf(*image), budget_);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->ItemCount(), 0U);
}

TEST_P(Image, ReadsInPiecesOfAnySize) {
  const auto filter = Make(0.01, 100, 2, 5);
  Add(*filter, KeySource::kUuids, 0, 1000);
  const std::string whole = BodyOf(*filter->Capture());
  for (const size_t piece : {1UL, 7UL, 64UL, 100UL, 4096UL}) {
    const auto image = filter->Capture();
    std::string pieces;
    for (uint64_t offset = 0; offset < image->body_bytes(); offset += piece) {
      std::string part(std::min<uint64_t>(piece, image->body_bytes() - offset), '\0');
      ASSERT_TRUE(image->Read(offset, std::as_writable_bytes(std::span(part))));
      pieces += part;
    }
    ASSERT_EQ(pieces, whole) << piece;
    // And back, in the same pieces.
    auto decoder = core::FilterDecoder::Open(image->header(), budget_);
    ASSERT_TRUE(decoder);
    EXPECT_EQ((*decoder)->body_bytes(), whole.size());
    for (size_t offset = 0; offset < whole.size(); offset += piece) {
      ASSERT_TRUE((*decoder)->Append(core::AsBytes(std::string_view(whole).substr(offset, piece))));
    }
    ASSERT_TRUE((*decoder)->Finish());
  }
}

TEST_P(Image, ShortLongAndContradictingBodiesAreRefused) {
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  const auto filter = Make(0.01, 100, 2, 5);
  Add(*filter, KeySource::kUuids, 0, 150);
  const auto image = filter->Capture();
  const std::string body = BodyOf(*image);
  const auto code = [&](std::string_view bytes) {
    const auto copy = Decode(image->header(), bytes, budget_);
    return copy ? std::optional<core::ErrorCode>() : copy.error().code;
  };
  EXPECT_EQ(code(body), std::nullopt);
  EXPECT_EQ(code(body.substr(0, body.size() - 1)), core::ErrorCode::kCorrupt);
  EXPECT_EQ(code(""), core::ErrorCode::kCorrupt);
  EXPECT_EQ(code(body + "x"), core::ErrorCode::kCorrupt);
  // Items, but no bits: where repeated additions are counted, one item may be many.
  const auto nothing = GetParam() == core::kCountingType ? std::nullopt : std::optional(core::ErrorCode::kCorrupt);
  EXPECT_EQ(code(std::string(body.size(), '\0')), nothing);
}

TEST_P(Image, MemoryLimitIsAskedBeforeTheBodyIsThere) {
  const auto filter = Make(0.01, 1'000'000, 2, 5);
  const auto image = filter->Capture();
  core::MemoryBudget small(1000);
  const auto decoder = core::FilterDecoder::Open(image->header(), small);
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, core::ErrorCode::kOutOfMemory);
  EXPECT_EQ(small.used_bytes(), 0U);
}

TEST_P(Image, TakenWhileAnotherThreadAddsHasAllThatWasAddedBefore) {
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  const auto filter = Make(0.01, 1000, 2, 6);
  constexpr uint64_t kBefore = 5000;
  Add(*filter, KeySource::kStrings, 0, kBefore);
  std::thread adder([&] { Add(*filter, KeySource::kStrings, kBefore, 30'000); });
  for (int round = 0; round < 20; ++round) {
    const auto image = filter->Capture();
    const auto copy = Decode(image->header(), BodyOf(*image), budget_);
    ASSERT_TRUE(copy) << copy.error().message;
    ASSERT_EQ(CountFound(**copy, KeySource::kStrings, 0, kBefore), kBefore);
  }
  adder.join();
}

// Bytes on disk are for ever. A difference here means that filters of released versions would be read wrongly: then
// give the kind a new number instead.
TEST_P(Image, GoldenBytes) {
  const auto checksum = [&](double rate, uint64_t capacity, uint64_t items) {
    const auto filter = Make(rate, capacity, 2, 0x5EED);
    Add(*filter, KeySource::kStrings, 0, items);
    const auto image = filter->Capture();
    return core::Checksum(image->header() + BodyOf(*image));
  };
  // Small filters of these two are made larger than in the first releases, which takes nothing from what these read.
  const bool is_resized = GetParam() == core::kClassicType || GetParam() == core::kCountingType;
  const std::vector<uint64_t> actual{checksum(0.01, 1000, 1000), checksum(1e-3, 100, 5000),
                                     is_resized ? checksum(1e-5, 30'000, 60'000) : checksum(1e-5, 300, 1000)};
  std::vector<uint64_t> golden;
  if (GetParam() == core::kClassicType) golden = {12614302702963742885U, 1166816311257607584U, 3049278999526796143U};
  if (GetParam() == core::kBlockedType) golden = {4086709937221661825U, 5796645174181731413U, 8372648271747028273U};
  if (GetParam() == core::kCountingType) golden = {14770286256423510288U, 11015949147256332890U, 14361177940709607954U};
  if (GetParam() == core::kCuckooType) golden = {7090631528030100545U, 6699570944940944091U, 5832223800845684503U};
  if (GetParam() == core::kRedisBloomType)
    golden = {11093280882377427929U, 10613169506350669670U, 5279099375090867250U};
  if (GetParam() == core::kWindowType) golden = {15283411430299707489U, 14672357502230351776U, 6400954193493843293U};
  if (GetParam() == core::kFingerprintType)
    golden = {2477983669621140475U, 6095883417843805304U, 15011073619252424145U};
  if (GetParam() == core::kRibbonType) golden = {9774486048436597645U, 12867141389801132594U, 17085317399785451161U};
  if (GetParam() == core::kRedisCuckooType) golden = {15017006248865830807U, 98238510169293366U, 8503694232372933279U};
  EXPECT_EQ(actual, golden);
}

}  // namespace
}  // namespace bitsieve::test
