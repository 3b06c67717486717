#include "server/http/gzip_source.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace bitsieve::server {
namespace {

// Text in chunks, with an empty one before each.
class TextSource final : public ByteSource {
 public:
  TextSource(std::string text, size_t fails_at) : text_(std::move(text)), fails_at_(fails_at) {}

  bool AtEnd() const override { return at_ == text_.size(); }
  bool Read(size_t most, std::string& out) override {
    if (at_ >= fails_at_) return false;
    if (std::exchange(is_empty_, !is_empty_)) return true;
    const size_t count = std::min(most, text_.size() - at_);
    out.append(text_, at_, count);
    at_ += count;
    return true;
  }

 private:
  const std::string text_;
  const size_t fails_at_;
  size_t at_ = 0;
  bool is_empty_ = true;
};

// Returns what a source gives, until it fails.
std::string ReadAll(ByteSource& source, size_t most, bool& failed) {
  std::string all;
  failed = false;
  while (!source.AtEnd() && !failed) {
    const size_t before = all.size();
    failed = !source.Read(most, all);
    EXPECT_LE(all.size() - before, most);
  }
  return all;
}

std::string Gunzip(std::string packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string plain(8 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  plain.resize(stream.total_out);
  inflateEnd(&stream);
  return plain;
}

TEST(GzipSource, IsTheSameBytesOnceUnpacked) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 1'000'000; ++i) noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const std::string& text : {std::string(), std::string("a"), std::string(3'000'000, 'a'), noise}) {
    for (const size_t most : {1000, 65536}) {
      GzipSource source(std::make_shared<TextSource>(text, SIZE_MAX));
      bool failed = true;
      const std::string packed = ReadAll(source, most, failed);
      EXPECT_FALSE(failed);
      EXPECT_TRUE(Gunzip(packed) == text) << text.size() << " bytes by " << most;
      const bool repeats = text.size() == 3'000'000;
      EXPECT_LT(packed.size(), repeats ? text.size() / 100 : text.size() + 1000);
    }
  }
}

TEST(GzipSource, FailsAsItsSourceDoes) {
  GzipSource source(std::make_shared<TextSource>(std::string(100'000, 'a'), 50'000));
  bool failed = false;
  ReadAll(source, 1000, failed);
  EXPECT_TRUE(failed);
  EXPECT_FALSE(source.AtEnd());
}

}  // namespace
}  // namespace bitsieve::server
