// Bodies of images: copied, put together of several memories, and taken apart again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/filter/copied_image.h"
#include "core/filter/mapped_body.h"
#include "core/filter/parts_decoder.h"
#include "core/filter/parts_image.h"
#include "core/memory/image_part.h"

namespace bitsieve::core {
namespace {

std::vector<std::byte> Numbered(size_t bytes) {
  std::vector<std::byte> numbered(bytes);
  for (size_t i = 0; i < bytes; ++i) numbered[i] = static_cast<std::byte>(i + 1);
  return numbered;
}

TEST(CopiedImage, HasHeaderAndBody) {
  CopiedImage image("header", "body");
  EXPECT_EQ(image.header(), "header");
  EXPECT_EQ(image.body_bytes(), 4U);
  std::array<char, 2> read;
  ASSERT_TRUE(image.Read(1, std::as_writable_bytes(std::span(read))));
  EXPECT_EQ(std::string(read.data(), 2), "od");
}

TEST(MappedBody, IsTakenMemoryByMemory) {
  const std::vector<std::byte> bytes = Numbered(128);
  MappedBody body(bytes);
  const auto first = body.Take(64), second = body.Take(64);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->data(), bytes.data()) << "nothing is copied";
  EXPECT_EQ(second->data(), bytes.data() + 64);
  EXPECT_FALSE(first->is_own());
  EXPECT_TRUE(body.CheckAtEnd());
}

TEST(MappedBody, OfAnotherLengthIsCorrupt) {
  const std::vector<std::byte> bytes = Numbered(100);
  MappedBody body(bytes);
  ASSERT_TRUE(body.Take(64));
  EXPECT_EQ(body.CheckAtEnd().error().code, ErrorCode::kCorrupt);
  const auto missing = body.Take(64);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kCorrupt);
}

// Copies itself when it is read, and counts who closed it.
class FakePart final : public ImagePart {
 public:
  explicit FakePart(char letter) : letter_(letter) {}
  Status Read(uint64_t, std::span<std::byte> out) override {
    if (letter_ == '!') return Fail(ErrorCode::kOutOfMemory, "lost");
    std::ranges::fill(out, static_cast<std::byte>(letter_));
    return {};
  }
  void GiveUp() override {}
  void Close() override {}

 private:
  const char letter_;
};

class PartsImageTest : public testing::Test {
 protected:
  std::string Read(uint64_t offset, size_t bytes) {
    std::string read(bytes, '?');
    EXPECT_TRUE(image_.Read(offset, std::as_writable_bytes(std::span(read))));
    return read;
  }

  SpinLock writers_;
  MemoryBudget budget_;
  BitMemory memory_ = std::move(*BitMemory::Allocate(64, budget_));
  PartsImage image_{"header", writers_};
};

TEST_F(PartsImageTest, ReadsAcrossParts) {
  image_.AddPart(std::make_unique<FakePart>('a'), 3);
  image_.AddPart(std::make_unique<FakePart>('b'), 2);
  image_.AddPart(std::make_unique<FakePart>('c'), 4);
  EXPECT_EQ(image_.header(), "header");
  EXPECT_EQ(image_.body_bytes(), 9U);
  EXPECT_EQ(Read(0, 9), "aaabbcccc");
  EXPECT_EQ(Read(2, 4), "abbc");
  EXPECT_EQ(Read(5, 1), "c");
}

TEST_F(PartsImageTest, IsLostWithOneOfItsParts) {
  image_.AddPart(std::make_unique<FakePart>('a'), 1);
  image_.AddPart(std::make_unique<FakePart>('!'), 1);
  EXPECT_EQ(Read(0, 1), "a");
  std::array<std::byte, 2> out;
  EXPECT_EQ(image_.Read(0, out).error().code, ErrorCode::kOutOfMemory);
}

TEST_F(PartsImageTest, ShowsAMemoryAsItWas) {
  std::memset(memory_.data(), 'x', 64);
  image_.AddPart(memory_, 8, {budget_, Patience::kLose});
  memory_.BeforeWrite(0);
  std::memset(memory_.data(), 'y', 8);
  EXPECT_EQ(Read(0, 8), "xxxxxxxx");
}

// Parts of 3 and 5 bytes; counts the ones among them.
class TestDecoder final : public PartsDecoder {
 public:
  TestDecoder() {
    AddPart(first_);
    AddPart(second_);
  }
  static bool ClearFrom(std::span<const std::byte> bytes, uint64_t bit) { return IsClearFrom(bytes, bit); }
  std::string Content() const {
    std::string content(8, '\0');
    std::memcpy(content.data(), first_.data(), 3);
    std::memcpy(content.data() + 3, second_.data(), 5);
    return content;
  }

  std::vector<uint64_t> counts;
  bool refuses = false;

 private:
  uint64_t Count(size_t, std::span<const std::byte> bytes) const override {
    return static_cast<uint64_t>(std::ranges::count(bytes, std::byte{'1'}));
  }
  Status FinishPart(size_t part, uint64_t count) override {
    EXPECT_EQ(part, counts.size());
    counts.push_back(count);
    return refuses ? Status(Fail(ErrorCode::kCorrupt, "refused")) : Status();
  }
  Result<std::unique_ptr<Filter>> FinishFilter() override { return nullptr; }

  std::array<std::byte, 3> first_{};
  std::array<std::byte, 5> second_{};
};

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(PartsDecoder, PutsBytesWhereTheyBelong) {
  TestDecoder decoder;
  EXPECT_EQ(decoder.body_bytes(), 8U);
  ASSERT_TRUE(decoder.Append(BytesOf("1a1b")));
  ASSERT_TRUE(decoder.Append(BytesOf("11c1")));
  ASSERT_TRUE(decoder.Finish());
  EXPECT_EQ(decoder.Content(), "1a1b11c1");
  EXPECT_EQ(decoder.counts, (std::vector<uint64_t>{2, 3}));
}

TEST(PartsDecoder, TakesBytesInAnyOrder) {
  TestDecoder decoder;
  EXPECT_EQ(decoder.Room(1).size(), 2U);
  EXPECT_EQ(decoder.Room(3).size(), 5U);
  EXPECT_TRUE(decoder.Room(8).empty());
  decoder.Put(5, BytesOf("111"));
  decoder.Put(0, BytesOf("abcde"));
  ASSERT_TRUE(decoder.Finish());
  EXPECT_EQ(decoder.Content(), "abcde111");
}

TEST(PartsDecoder, OfAnotherLengthIsCorrupt) {
  TestDecoder decoder;
  ASSERT_TRUE(decoder.Append(BytesOf("1234567")));
  EXPECT_EQ(decoder.Append(BytesOf("89")).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(decoder.Finish().error().code, ErrorCode::kCorrupt) << "a byte is missing";
}

TEST(PartsDecoder, ARefusedPartIsTheOutcome) {
  TestDecoder decoder;
  decoder.refuses = true;
  ASSERT_TRUE(decoder.Append(BytesOf("12345678")));
  EXPECT_EQ(decoder.Finish().error().message, "refused");
  EXPECT_EQ(decoder.counts.size(), 1U);
}

TEST(PartsDecoder, FindsBitsThatAreSet) {
  const std::array<std::byte, 2> bytes{std::byte{0xFF}, std::byte{0x08}};
  EXPECT_TRUE(TestDecoder::ClearFrom(bytes, 12));
  EXPECT_FALSE(TestDecoder::ClearFrom(bytes, 11));
  EXPECT_TRUE(TestDecoder::ClearFrom(bytes, 16));
}

}  // namespace
}  // namespace bitsieve::core
