#include "cli/dedup/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/bulk/input.h"
#include "cli/dedup/compression.h"
#include "cli/dedup/output_file.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class OutputFileTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/out";
};

TEST_F(OutputFileTest, AppearsWhenItIsFinished) {
  OutputFile file(path_);
  EXPECT_TRUE(file.is_regular());
  ASSERT_TRUE(file.Open());
  ASSERT_TRUE(file.Write("abc"));
  ASSERT_TRUE(file.Sync());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(ContentOf(path_), "abc");
  EXPECT_TRUE(file.Finish());  // again, as after an interruption
  OutputFile other(path_ + "2");
  other.Expect(3);
  EXPECT_FALSE(other.Finish());
}

TEST_F(OutputFileTest, ContinuesWhereItWas) {
  {
    OutputFile file(path_);
    ASSERT_TRUE(file.Open());
    ASSERT_TRUE(file.Write("abcdef"));
  }
  OutputFile file(path_);
  ASSERT_TRUE(file.Open(3));
  ASSERT_TRUE(file.Write("x"));
  EXPECT_EQ(file.bytes(), 4u);
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(ContentOf(path_), "abcx");
  OutputFile shorter(path_ + "2");
  const auto opened = shorter.Open(5);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error(), HasSubstr("is shorter than the interrupted run left it"));
}

TEST_F(OutputFileTest, IsDiscarded) {
  OutputFile file(path_);
  file.Discard();
  ASSERT_TRUE(file.Open());
  file.Discard();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_FALSE(OutputFile(directory_.path() + "/no/such").Open());
  EXPECT_FALSE(OutputFile("/dev/null").is_regular());
}

TEST(Compression, IsThatOfTheName) {
  EXPECT_EQ(CompressionOf("a.gz"), Compression::kGzip);
  EXPECT_EQ(CompressionOf("a.jsonl.zst"), Compression::kZstd);
  EXPECT_EQ(CompressionOf("gz"), Compression::kNone);
  EXPECT_EQ(Compressed("abc", Compression::kNone), "abc");
}

TEST(Compression, StreamsFollowEachOther) {
  const TemporaryDirectory directory;
  for (const std::string suffix : {".gz", ".zst"}) {
    const std::string path = directory.path() + "/x" + suffix;
    std::string expected;
    {
      std::ofstream out(path, std::ios::binary);
      for (const size_t length : {0, 3, 100'000, 0, 5}) {
        const std::string part(length, static_cast<char>('a' + length % 26));
        expected += part;
        out << Compressed(part, CompressionOf(path)).value();
      }
    }
    EXPECT_EQ(Compressed("abc", CompressionOf(path)), Compressed("abc", CompressionOf(path)));
    auto input = Input::Open(path, true).value();
    std::string read;
    for (auto bytes = input.Read(); bytes && !bytes->empty(); bytes = input.Read()) read += *bytes;
    EXPECT_EQ(read, expected);
  }
}

}  // namespace
}  // namespace bitsieve::cli
