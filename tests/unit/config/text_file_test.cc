#include "config/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace bitsieve::config {
namespace {

using testing::StartsWith;

class TextFileTest : public testing::Test {
 protected:
  void Write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/file";
};

TEST_F(TextFileTest, IsReadWhole) {
  const std::string text = std::string(100'000, 'x') + std::string("\0\n", 2);
  Write(text);
  EXPECT_EQ(*ReadTextFile(path_, text.size()), text);
  Write("");
  EXPECT_EQ(*ReadTextFile(path_, 0), "");
}

TEST_F(TextFileTest, ErrorsNameTheFile) {
  EXPECT_EQ(ReadTextFile("/no/such/file", 10).error().message,
            "/no/such/file: cannot be read: No such file or directory");
  EXPECT_EQ(ReadTextFile("/", 10).error().message, "/: cannot be read: Is a directory");
  EXPECT_EQ(ReadTextFile("/dev/zero", 10).error().message, "/dev/zero: is too large: it may have at most 10 bytes");
  Write("x");
  EXPECT_FALSE(ReadTextFile(path_, 0));
}

TEST_F(TextFileTest, IsReplacedWithItsMode) {
  Write("old");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  EXPECT_TRUE(ReplaceTextFile(path_, "new"));
  EXPECT_EQ(*ReadTextFile(path_, 10), "new");
  struct stat now = {};
  ASSERT_EQ(::stat(path_.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0640u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(TextFileTest, ALinkStaysALink) {
  Write("old");
  const std::string link = directory_.path() + "/link";
  std::filesystem::create_symlink("file", link);
  EXPECT_TRUE(ReplaceTextFile(link, "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*ReadTextFile(path_, 10), "new");
}

TEST_F(TextFileTest, AFileThatCannotBeReplacedStays) {
  EXPECT_THAT(ReplaceTextFile(path_, "new").error().message, StartsWith(path_ + ": cannot be written: No such file"));
  Write("old");
  std::filesystem::create_directory(path_ + ".tmp");
  EXPECT_FALSE(ReplaceTextFile(path_, "new"));
  EXPECT_EQ(*ReadTextFile(path_, 10), "old");
}

}  // namespace
}  // namespace bitsieve::config
