#include "clients/cpp/whole_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_directory.h"

namespace bitsieve::clients {
namespace {

class WholeFileTest : public testing::Test {
 protected:
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/file";
};

TEST_F(WholeFileTest, AppearsWhenItIsWholeInThePlaceOfAnother) {
  std::ofstream(path_) << "before";
  auto file = WholeFile::Create(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("one "));
  ASSERT_TRUE(file->Write("two"));
  EXPECT_EQ(Content(), "before");
  ASSERT_TRUE(file->Finish());
  EXPECT_EQ(Content(), "one two");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(WholeFileTest, NeedsAName) {
  const auto file = WholeFile::Create("");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "the file to write has no name");
}

TEST_F(WholeFileTest, LeavesNothingIfItIsNotFinished) {
  {
    auto file = WholeFile::Create(path_);
    ASSERT_TRUE(file->Write("half"));
    EXPECT_EQ(Files(), 1U);
  }
  EXPECT_EQ(Files(), 0U);
}

TEST_F(WholeFileTest, ErrorsNameTheFile) {
  const auto file = WholeFile::Create(directory_.path() + "/missing/file");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, core::ErrorCode::kIo);
  EXPECT_NE(file.error().message.find("/missing/file: No such file"), std::string::npos) << file.error().message;

  std::filesystem::create_directory(path_);  // cannot be replaced by a file
  auto other = WholeFile::Create(path_);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->Finish());
}

}  // namespace
}  // namespace bitsieve::clients
