#include "cli/bulk/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;

// "packed\n", compressed with gzip.
constexpr std::string_view kPacked(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x07\x00\xf8\xff"
    "packed\n"
    "\x43\xe0\x41\x2f\x07\x00\x00\x00",
    30);

class InputTest : public testing::Test {
 protected:
  std::string Stored(std::string_view bytes) const {
    const std::string path = directory_.path() + "/input";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string AllOf(Input& input) {
    std::string all;
    while (true) {
      const auto read = input.Read();
      if (!read) return "! " + read.error();
      if (read->empty()) return all;
      all += *read;
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(InputTest, AFileComesByteForByte) {
  const std::string bytes(600'000, '\0');
  auto input = Input::Open(Stored(bytes), true);
  ASSERT_TRUE(input) << input.error();
  EXPECT_EQ(input->file_bytes(), bytes.size());
  EXPECT_TRUE(AllOf(*input) == bytes);
  EXPECT_EQ(input->file_position(), bytes.size());
  EXPECT_TRUE(input->Read()->empty()) << "the end stays";
}

TEST_F(InputTest, AnEmptyFileEndsAtOnce) {
  auto input = Input::Open(Stored(""), true);
  ASSERT_TRUE(input) << input.error();
  EXPECT_EQ(AllOf(*input), "");
}

TEST_F(InputTest, ACompressedFileIsDecompressedOnTheWay) {
  auto input = Input::Open(Stored(kPacked), true);
  ASSERT_TRUE(input) << input.error();
  EXPECT_EQ(AllOf(*input), "packed\n");
  EXPECT_EQ(input->file_bytes(), kPacked.size());
}

TEST_F(InputTest, CompressedBytesStayIfTheyAreNotToBeDecompressed) {
  auto plain = Input::Open(Stored(kPacked), false);
  ASSERT_TRUE(plain) << plain.error();
  EXPECT_EQ(AllOf(*plain), kPacked);
}

TEST_F(InputTest, AnErrorNamesTheFile) {
  for (const std::string& path : {directory_.path() + "/none", directory_.path()}) {
    const auto input = Input::Open(path, true);
    ASSERT_FALSE(input);
    EXPECT_THAT(input.error(), HasSubstr(path));
  }
}

// Nobody ever writes to the pipe, so that only the stop ends the wait.
TEST_F(InputTest, AWaitEndsWhenItIsStopped) {
  const std::string path = directory_.path() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::fstream writer(path, std::ios::in | std::ios::out);
  bool is_stopped = true;
  auto input = Input::Open(path, false, [&is_stopped] { return is_stopped; });
  const std::string error = input ? AllOf(*input) : input.error();
  EXPECT_THAT(error, HasSubstr("interrupted"));
}

}  // namespace
}  // namespace bitsieve::cli
