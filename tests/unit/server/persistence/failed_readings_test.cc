// Each reading of a data directory fails once, in each operation that reads one. Either the operation reports the
// error, or it misses nothing; and what is on the disk stays as it was.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/join.h"
#include "server/persistence/backup/archive.h"
#include "server/persistence/backup/backup.h"
#include "server/persistence/backup/pinned_directory.h"
#include "server/persistence/inspect/inspection.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/quiet_backup.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/whole_directory.h"

namespace bitsieve::server {
namespace {

using test::kQuiet;
using testing::HasSubstr;

class FailedReadings : public WholeDirectoryTest {
 protected:
  // Fails each reading of `read` in turn, which gets a copy of the directory and returns what it found, or an error.
  void ExpectReportedOrWhole(const std::function<core::Result<Contents>(Disk& disk)>& read) {
    MemoryDisk counted = disk_.Copy();
    FaultDisk counter(counted);
    ASSERT_TRUE(Ok(read(counter)));
    const uint64_t readings = counter.readings();
    ASSERT_GT(readings, 5U);
    for (uint64_t reading = 1; reading <= readings; ++reading) {
      MemoryDisk copy = disk_.Copy();
      FaultDisk disk(copy);
      disk.FailReading(reading);
      const core::Result<Contents> found = read(disk);
      if (found) {
        EXPECT_EQ(*found, contents_) << reading;
      } else {
        EXPECT_THAT(found.error().message, HasSubstr("Input/output error")) << reading;
      }
      const core::Result<Contents> after = Start(copy, "/d");
      ASSERT_TRUE(Ok(after)) << "after reading " << reading << " failed";
      EXPECT_EQ(*after, contents_) << "after reading " << reading << " failed";
    }
  }
};

TEST_F(FailedReadings, OfAStart) {
  ExpectReportedOrWhole([](Disk& disk) { return Start(disk, "/d"); });
}

// No option sets a file aside that cannot be read: it is not damaged.
TEST_F(FailedReadings, OfAStartThatMaySetAsideWhatIsDamaged) {
  ExpectReportedOrWhole([](Disk& disk) {
    TestServer::Settings settings = kSettings;
    settings.on_corrupt_filter = OnCorruptFilter::kQuarantine;
    settings.on_corrupt_log = OnCorruptLog::kTruncate;
    return Start(disk, "/d", settings);
  });
}

TEST_F(FailedReadings, OfAStartOfAServerWithoutALog) {
  ExpectReportedOrWhole([](Disk& disk) {
    TestServer::Settings settings = kSettings;
    settings.log.reset();
    return Start(disk, "/d", settings);
  });
}

TEST_F(FailedReadings, OfAnInspection) {
  for (const InspectDepth depth : {InspectDepth::kHeads, InspectDepth::kChecksums, InspectDepth::kContents}) {
    ExpectReportedOrWhole([&](Disk& disk) -> core::Result<Contents> {
      const core::Result<Inspection> found = Inspect(disk, "/d", depth);
      if (!found) return tl::unexpected(found.error());
      if (found->damage.empty() && found->unreadable.empty()) return contents_;
      return core::Fail(core::ErrorCode::kIo, core::Join(found->damage, "\n") + core::Join(found->unreadable, "\n"));
    });
  }
}

TEST_F(FailedReadings, OfABackupAndOfItsVerification) {
  ExpectReportedOrWhole([](Disk& disk) -> core::Result<Contents> {
    const auto pinned = PinnedDirectory::Pin(disk, "/d");
    if (!pinned) return tl::unexpected(pinned.error());
    const core::Result<Inspection> made = BackUp(**pinned, disk, "/copies/backup", kQuiet);
    if (!made) return tl::unexpected(made.error());
    return Start(disk, "/copies/backup");
  });
}

TEST_F(FailedReadings, OfARestore) {
  ExpectReportedOrWhole([](Disk& disk) -> core::Result<Contents> {
    const auto pinned = PinnedDirectory::Pin(disk, "/d");
    if (!pinned) return tl::unexpected(pinned.error());
    const auto fill = [&](const std::string& path) { return CopyFiles(**pinned, disk, path, kQuiet); };
    const core::Result<Inspection> made = Restore(fill, disk, "/copies/restored", kQuiet);
    if (!made) return tl::unexpected(made.error());
    return Start(disk, "/copies/restored");
  });
}

TEST_F(FailedReadings, OfAnArchive) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/archive";
  ExpectReportedOrWhole([&](Disk& disk) -> core::Result<Contents> {
    const core::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    const auto pinned = PinnedDirectory::Pin(disk, "/d");
    if (!pinned) return tl::unexpected(pinned.error());
    core::Status status = WriteArchive(**pinned, file.get(), Compression::kZstd, kQuiet);
    if (!status) return tl::unexpected(status.error());
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
    const auto fill = [&](const std::string& target) {
      return ExtractArchive({.name = path, .descriptor = file.get(), .bytes = {}}, disk, target, {1 << 30}, kQuiet);
    };
    const core::Result<Inspection> made = Restore(fill, disk, "/copies/restored", kQuiet);
    if (!made) return tl::unexpected(made.error());
    return Start(disk, "/copies/restored");
  });
}

}  // namespace
}  // namespace bitsieve::server
