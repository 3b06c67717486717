#include "clients/cpp/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include "tests/support/temporary_directory.h"

namespace bitsieve::clients {
namespace {

using testing::HasSubstr;

class MappedFileTest : public testing::Test {
 protected:
  std::string Written(const std::string& name, std::string_view bytes) const {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string_view TextOf(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  TemporaryDirectory directory_;
};

TEST_F(MappedFileTest, BeginsAtAPageAndOutlivesTheName) {
  const std::string path = Written("f", "bytes");
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file) << file.error().message;
  std::filesystem::remove(path);
  file->ExpectWholeReads();
  file->ExpectScatteredReads();
  EXPECT_EQ(TextOf(*file), "bytes");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % 4096, 0U);
}

TEST_F(MappedFileTest, AnEmptyFileHasNoBytes) {
  const auto file = MappedFile::Open(Written("f", ""));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->bytes().empty());
  file->ExpectWholeReads();
}

TEST_F(MappedFileTest, AnErrorNamesTheFile) {
  for (const std::string& path : {directory_.path() + "/none", directory_.path()}) {
    const auto file = MappedFile::Open(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, core::ErrorCode::kIo);
    EXPECT_THAT(file.error().message, HasSubstr(path));
  }
}

TEST_F(MappedFileTest, AMoveLeavesOneOwner) {
  MappedFile first = std::move(*MappedFile::Open(Written("a", "first")));
  MappedFile second = std::move(*MappedFile::Open(Written("b", "second")));
  MappedFile moved(std::move(first));
  EXPECT_EQ(TextOf(moved), "first");
  moved = std::move(second);
  EXPECT_EQ(TextOf(moved), "second");
}

}  // namespace
}  // namespace bitsieve::clients
