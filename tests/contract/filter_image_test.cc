// The contract of every filter family about its bytes: they are frozen, they come back whole, and damage is refused.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"
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
  auto decoder = core::FilterDecoder::Open(header, budget, StillClock());
  if (!decoder) return tl::unexpected(decoder.error());
  if (auto status = (*decoder)->Append(core::AsBytes(body)); !status) return tl::unexpected(status.error());
  return (*decoder)->Finish();
}

class Image : public FilterContract {
 protected:
  // Returns the checksum of the image of a filter with this number of items.
  uint64_t GoldenChecksum(double rate, uint64_t capacity, uint64_t items) {
    const auto filter = Make(rate, capacity, 2, 0x5EED);
    Add(*filter, KeySource::kStrings, 0, items);
    const auto image = filter->Capture();
    return core::Checksum(image->header() + BodyOf(*image));
  }
};
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
  EXPECT_EQ(a.sub_filters, b.sub_filters);
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
    // The same pieces are then decoded.
    auto decoder = core::FilterDecoder::Open(image->header(), budget_, StillClock());
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
  // The body has items, but no bits. Bloom filters are like that while they are united, and those of RedisBloom before
  // their chunks have come; the other types count what is in the body.
  const std::array bloom_filters{core::kBlockedType, core::kClassicType, core::kCountingType, core::kRedisBloomType,
                                 core::kValkeyBloomType};
  const bool may_be_so = std::ranges::find(bloom_filters, GetParam()) != bloom_filters.end();
  const auto nothing = may_be_so ? std::nullopt : std::optional(core::ErrorCode::kCorrupt);
  EXPECT_EQ(code(std::string(body.size(), '\0')), nothing);
}

TEST_P(Image, MemoryLimitIsAskedBeforeTheBodyIsThere) {
  const auto filter = Make(0.01, 1'000'000, 2, 5);
  const auto image = filter->Capture();
  core::MemoryBudget small(1000);
  const auto decoder = core::FilterDecoder::Open(image->header(), small, StillClock());
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

// The bytes on disk must never change. A difference here means that filters of released versions would be read wrongly:
// then give the type a new number instead. A new type's file is made by running this test with BITSIEVE_WRITE_GOLDEN=1,
// once. Each line: the requested error rate, capacity and items of a filter, and the checksum of its image.
TEST_P(Image, GoldenBytes) {
  const std::string path = std::string(GOLDEN_DIR) + "/" + std::string(core::FilterTypeName(GetParam()));
  if (std::getenv("BITSIEVE_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(path)) {
    std::ofstream file(path);
    file << "0.01 1000 1000 " << GoldenChecksum(0.01, 1000, 1000) << '\n';
    file << "0.001 100 5000 " << GoldenChecksum(0.001, 100, 5000) << '\n';
    file << "1e-05 300 1000 " << GoldenChecksum(1e-5, 300, 1000) << '\n';
  }
  std::ifstream file(path);
  double rate = 0;
  uint64_t capacity = 0, items = 0, checksum = 0;
  int lines = 0;
  for (; file >> rate >> capacity >> items >> checksum; ++lines) {
    EXPECT_EQ(GoldenChecksum(rate, capacity, items), checksum) << path << ", line " << lines + 1;
  }
  EXPECT_GE(lines, 3) << path << " has too few lines, or is missing";
}

}  // namespace
}  // namespace bitsieve::test
