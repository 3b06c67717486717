#include "cli/migrate/migration_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;

class MigrationNotesTest : public testing::Test {
 protected:
  core::Outcome<MigrationNotes> Open(const std::string& migration = "a to b") const {
    return MigrationNotes::Open(path_, migration);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/notes";
};

TEST_F(MigrationNotesTest, FiltersOfAnInterruptedMigrationAreThereAgain) {
  const std::string odd("new\nline\0\\x0a", 13);
  {
    auto notes = Open();
    ASSERT_TRUE(notes) << notes.error();
    EXPECT_FALSE(notes->Contains("f"));
    EXPECT_TRUE(notes->Add("f"));
    EXPECT_TRUE(notes->Add(odd));
  }
  const auto again = Open();
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(again->Contains("f"));
  EXPECT_TRUE(again->Contains(odd));
  EXPECT_FALSE(again->Contains("new"));
  EXPECT_FALSE(again->Contains("line"));
}

TEST_F(MigrationNotesTest, NotesOfAnotherMigrationAreRefused) {
  ASSERT_TRUE(Open());
  const auto other = Open("a to c");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error(), testing::AllOf(HasSubstr(path_), HasSubstr("a to b")));
  EXPECT_TRUE(Open());
}

TEST_F(MigrationNotesTest, AreGoneWhenAllIsDone) {
  auto notes = Open();
  ASSERT_TRUE(notes);
  ASSERT_TRUE(std::filesystem::exists(path_));
  MigrationNotes moved(std::move(*notes));
  EXPECT_TRUE(moved.Add("f"));
  moved.Remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(MigrationNotesTest, AFileThatCannotBeWrittenIsNamed) {
  const auto notes = MigrationNotes::Open(directory_.path() + "/none/notes", "a to b");
  ASSERT_FALSE(notes);
  EXPECT_THAT(notes.error(), HasSubstr("/none/notes"));
}

}  // namespace
}  // namespace bitsieve::cli
