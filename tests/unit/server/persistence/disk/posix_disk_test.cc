#include "server/persistence/disk/posix_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/bytes.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PosixDiskTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  void Write(const std::string& name, std::string_view bytes) {
    auto file = disk_.Create(Path(name));
    ASSERT_TRUE(file.has_value()) << file.error().message;
    ASSERT_TRUE((*file)->Write(bytes).has_value());
    ASSERT_TRUE((*file)->Sync().has_value());
    ASSERT_TRUE((*file)->Close().has_value());
  }

  std::string Read(const std::string& name) {
    auto file = disk_.Open(Path(name));
    EXPECT_TRUE(file.has_value());
    std::string bytes((*file)->size(), '\0');
    EXPECT_TRUE((*file)->ReadAt(0, std::as_writable_bytes(std::span(bytes))).has_value());
    return bytes;
  }

  TemporaryDirectory directory_;
  PosixDisk disk_;
};

TEST_F(PosixDiskTest, ReadsWhatWasWritten) {
  const std::string bytes("a\0b", 3);
  Write("f", bytes);
  EXPECT_EQ(Read("f"), bytes);
  Write("f", "x");
  EXPECT_EQ(Read("f"), "x") << "creating empties the file";
}

TEST_F(PosixDiskTest, ReadsFromAnOffsetAndNotBeyondTheEnd) {
  Write("f", "0123456789");
  auto file = disk_.Open(Path("f"));
  std::byte bytes[4];
  ASSERT_TRUE((*file)->ReadAt(3, bytes).has_value());
  EXPECT_EQ(core::AsText(bytes), "3456");
  const core::Status status = (*file)->ReadAt(8, bytes);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, Path("f") + ": ends at byte 10");
}

TEST_F(PosixDiskTest, RenameReplacesAndListIsSorted) {
  Write("b", "1");
  Write("a", "2");
  Write("c", "3");
  ASSERT_TRUE(disk_.Rename(Path("a"), Path("b")).has_value());
  EXPECT_EQ(Read("b"), "2");
  EXPECT_THAT(*disk_.List(directory_.path()), ElementsAre("b", "c"));
  ASSERT_TRUE(disk_.Remove(Path("b")).has_value());
  ASSERT_TRUE(disk_.SyncDirectory(directory_.path()).has_value());
  EXPECT_THAT(*disk_.List(directory_.path()), ElementsAre("c"));
  EXPECT_TRUE(disk_.Remove(Path("b")).has_value()) << "what is gone is gone";
}

TEST_F(PosixDiskTest, MakesMissingParents) {
  ASSERT_TRUE(disk_.CreateDirectory(Path("x/y/z")).has_value());
  EXPECT_TRUE(std::filesystem::is_directory(Path("x/y/z")));
  EXPECT_TRUE(disk_.CreateDirectory(Path("x/y/z")).has_value()) << "it may be there";
}

TEST_F(PosixDiskTest, ErrorsNamePathActAndReason) {
  Write("file", "1");
  EXPECT_EQ(disk_.Open(Path("none")).error().message, Path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(disk_.Create(Path("none/f")).error().message,
            Path("none/f") + ": cannot create: No such file or directory");
  EXPECT_EQ(disk_.Remove(directory_.path()).error().message,
            directory_.path() + ": cannot remove: Directory not empty");
  EXPECT_THAT(disk_.Rename(Path("none"), Path("f")).error().message, HasSubstr("cannot rename to " + Path("f")));
  EXPECT_THAT(disk_.List(Path("none")).error().message, HasSubstr("cannot list the directory"));
  EXPECT_THAT(disk_.CreateDirectory(Path("file")).error().message, HasSubstr("Not a directory"));
  EXPECT_THAT(disk_.CreateDirectory(Path("file/x")).error().message, HasSubstr("Not a directory"));
  EXPECT_THAT(disk_.SyncDirectory(Path("none")).error().message, HasSubstr("cannot open the directory"));
  EXPECT_EQ(disk_.Open(Path("none")).error().code, core::ErrorCode::kIo);
}

TEST_F(PosixDiskTest, RefusesToReadWhatIsNoFile) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(disk_.Open(Path("pipe")).error().message, Path("pipe") + ": is not a regular file");
  EXPECT_EQ(disk_.Open(directory_.path()).error().message, directory_.path() + ": is not a regular file");
}

TEST_F(PosixDiskTest, AFullDiskIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  auto file = disk_.Create("/dev/full");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ((*file)->Write("x").error().message, "/dev/full: cannot write: No space left on device");
}

TEST_F(PosixDiskTest, ALockIsHeldOnceAndNamesItsHolder) {
  {
    const auto lock = disk_.Lock(Path("LOCK"));
    ASSERT_TRUE(lock.has_value());
    const auto second = disk_.Lock(Path("LOCK"));
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error().message, HasSubstr("held by process " + std::to_string(getpid())));
    EXPECT_EQ(disk_.LockHolder(Path("LOCK")), "process " + std::to_string(getpid()));
  }
  EXPECT_EQ(disk_.LockHolder(Path("LOCK")), "");
  EXPECT_EQ(disk_.LockHolder(Path("none")), "");
  EXPECT_TRUE(disk_.Lock(Path("LOCK")).has_value()) << "let go of with the object";
}

}  // namespace
}  // namespace bitsieve::server
