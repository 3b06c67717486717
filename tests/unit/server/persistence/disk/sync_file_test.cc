// Disk::SyncFile, of the real disk and of those that tests put in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/persistence/disk/posix_disk.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SyncFile, MakesDurableWhatAnotherWrote) {
  MemoryDisk disk;
  ASSERT_TRUE(Ok(disk.CreateDirectory("/d")));
  ASSERT_TRUE(Ok((*disk.Create("/d/synced"))->Write("bytes")));
  ASSERT_TRUE(Ok((*disk.Create("/d/other"))->Write("bytes")));
  ASSERT_TRUE(Ok(disk.SyncFile("/d/synced")));
  ASSERT_TRUE(Ok(disk.SyncDirectory("/d")));
  disk.LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_EQ(disk.Get("/d/synced"), "bytes");
  EXPECT_EQ(disk.Get("/d/other"), "");
  EXPECT_THAT(disk.SyncFile("/d/none").error().message, HasSubstr("No such file"));
}

TEST(SyncFile, IsAStepThatMayFail) {
  MemoryDisk memory;
  memory.Put("/d/file", "bytes");
  FaultDisk disk(memory);
  EXPECT_TRUE(Ok(disk.SyncFile("/d/file")));
  EXPECT_THAT(disk.log(), ElementsAre("sync /d/file"));
  disk.SetFault({1, Fault::Kind::kFail, "Input/output error"});
  EXPECT_EQ(disk.SyncFile("/d/file").error().message, "/d/file: cannot sync: Input/output error");
}

TEST(SyncFile, OfTheRealDiskLeavesTheBytesAlone) {
  const TemporaryDirectory directory;
  PosixDisk disk;
  const std::string path = directory.path() + "/file";
  ASSERT_TRUE(Ok((*disk.Create(path))->Write("bytes")));
  EXPECT_TRUE(Ok(disk.SyncFile(path)));
  EXPECT_EQ((*disk.Open(path))->size(), 5u);
  EXPECT_EQ(disk.SyncFile(path + "x").error().message, path + "x: cannot open: No such file or directory");
}

}  // namespace
}  // namespace bitsieve::server
