#include "cli/shell/history_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HistoryFileTest : public testing::Test {
 protected:
  HistoryFileTest() {
    std::string folder = testing::TempDir() + "bitsieve-test-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~HistoryFileTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(HistoryFileTest, LinesOfTwoShellsAreKept) {
  const std::string path = folder_ + "/state/bitsieve/history";
  const HistoryFile one(path);
  const HistoryFile other(path);
  EXPECT_THAT(one.Load(), IsEmpty());
  one.Append("PING");
  other.Append("ECHO ä");
  one.Append("QUIT");
  EXPECT_THAT(other.Load(), ElementsAre("PING", "ECHO ä", "QUIT"));
}

TEST_F(HistoryFileTest, OnlyItsOwnerCanReadIt) {
  HistoryFile(folder_ + "/state/history").Append("PING");
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder_ + "/state/history").permissions(), perms::owner_read | perms::owner_write);
  EXPECT_EQ(std::filesystem::status(folder_ + "/state").permissions(), perms::owner_all);
}

TEST_F(HistoryFileTest, AFileThatCannotBeWrittenIsNoError) {
  HistoryFile(folder_ + "/file").Append("PING");
  const HistoryFile below_a_file(folder_ + "/file/history");
  below_a_file.Append("PING");
  EXPECT_THAT(below_a_file.Load(), IsEmpty());
  HistoryFile("").Append("PING");
  EXPECT_THAT(HistoryFile("").Load(), IsEmpty());
}

TEST(HistoryFilePathTest, IsThatOfXdg) {
  setenv("HOME", "/home/eve", 1);
  unsetenv("XDG_STATE_HOME");
  EXPECT_EQ(HistoryFile::DefaultPath(), "/home/eve/.local/state/bitsieve/history");
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(HistoryFile::DefaultPath(), "/state/bitsieve/history");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(HistoryFile::DefaultPath(), "");
}

}  // namespace
}  // namespace bitsieve::cli
