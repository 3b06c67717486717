#include "server/persistence/backup/archive.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/descriptor.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/quiet_backup.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/tar_text.h"
#include "tests/support/temporary_directory.h"

// An archive that is to get no end is not closed, and the library keeps its last block then.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libarchive.so\n"; }

namespace bitsieve::server {

using namespace commands;

namespace {

using test::TarEnd;
using test::TarMember;
using testing::HasSubstr;

using test::kQuiet;

class Archive : public testing::Test {
 protected:
  Archive() {
    TestServer server;
    EXPECT_TRUE(Ok(server.Start(source_, "/d", {.log = FsyncPolicy::kAlways})));
    AddItems(*server.keyspace.Make("a", 100), "a", 50);
    AddItems(*server.keyspace.Make("b", 100'000), "b", 50);
    EXPECT_TRUE(Ok(server.writer->Save()));
    AddItems(*server.keyspace.Make("c"), "c", 20);
    server.AwaitLog();
  }

  std::string Written(Compression compression = Compression::kNone) {
    const std::string path = directory_.path() + "/archive";
    const auto pinned = PinnedDirectory::Pin(source_, "/d");
    EXPECT_TRUE(Ok(pinned));
    const core::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    EXPECT_TRUE(Ok(WriteArchive(**pinned, file.get(), compression, kQuiet)));
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  static core::Status Extract(std::string_view bytes, MemoryDisk& disk, const ArchiveLimits& limits = {1 << 20, 100}) {
    (void)disk.CreateDirectory("/r");
    return ExtractArchive({.name = "the archive", .descriptor = -1, .bytes = bytes}, disk, "/r", limits, kQuiet);
  }
  static std::string ErrorOf(std::string_view bytes, const ArchiveLimits& limits = {1 << 20, 100}) {
    MemoryDisk disk;
    const core::Status status = Extract(bytes, disk, limits);
    return status ? "" : status.error().message;
  }

  MemoryDisk source_;
  TemporaryDirectory directory_;
};

TEST_F(Archive, HasTheFilesOfTheBackup) {
  for (const auto compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    MemoryDisk disk;
    ASSERT_TRUE(Ok(Extract(Written(compression), disk)));
    EXPECT_TRUE(Ok(VerifyBackup(disk, "/r")));
    const auto pinned = PinnedDirectory::Pin(source_, "/d");
    for (const PinnedFile& file : (*pinned)->files()) {
      EXPECT_EQ(disk.Get("/r/" + file.name), source_.Get("/d/" + file.name).substr(0, file.bytes));
    }
    EXPECT_EQ(disk.All().size(), (*pinned)->files().size());
  }
}

TEST_F(Archive, CutOffAnywhereItIsNoBackup) {
  for (const auto compression : {Compression::kNone, Compression::kZstd}) {
    const std::string whole = Written(compression);
    // The zeros at the end of a tar archive may be missing.
    for (size_t bytes = 0; bytes + 2 * test::kTarBlockBytes < whole.size(); bytes += 97) {
      if (compression == Compression::kNone && whole.find_first_not_of('\0', bytes) == std::string::npos) break;
      MemoryDisk disk;
      const bool extracted = Extract(std::string_view(whole).substr(0, bytes), disk).has_value();
      EXPECT_FALSE(extracted && VerifyBackup(disk, "/r")) << bytes << " of " << whole.size();
    }
  }
}

TEST_F(Archive, WhatIsNoPartOfABackupEndsIt) {
  for (const char* name :
       {"/etc/passwd", "../MANIFEST", "filters/../MANIFEST", "filters/1.filter/x", "filters/01.filter", "LOCK",
        "MANIFEST.tmp", "log/1.log", "log/CURRENT.tmp", "quarantine/1.filter", "x/MANIFEST"}) {
    EXPECT_THAT(ErrorOf(TarMember(name, "x") + TarEnd()), HasSubstr("is not part of a backup")) << name;
  }
  EXPECT_THAT(ErrorOf(TarMember("etc/", "", '5') + TarEnd()), HasSubstr("is not part of a backup"));
  EXPECT_THAT(ErrorOf(TarMember("MANIFEST", "", '2', "/etc/passwd") + TarEnd()), HasSubstr("is not part of a backup"));
  EXPECT_THAT(ErrorOf(TarMember("MANIFEST", "", '1', "/etc/passwd") + TarEnd()),
              HasSubstr("the archive: \"MANIFEST\""));
  EXPECT_THAT(ErrorOf(TarMember("MANIFEST", "", '6') + TarEnd()), HasSubstr("is not part of a backup"));
  EXPECT_THAT(ErrorOf(TarMember("MANIFEST", "a") + TarMember("./MANIFEST", "b") + TarEnd()),
              HasSubstr("appears more than once"));
  EXPECT_EQ(ErrorOf(TarMember("./", "", '5') + TarMember("./log/", "", '5') + TarMember("./MANIFEST", "x") + TarEnd()),
            "");
  EXPECT_THAT(ErrorOf("no archive at all, whatever its name"), HasSubstr("the archive: "));
  EXPECT_THAT(ErrorOf(""), HasSubstr("the archive: "));
}

TEST_F(Archive, IsBounded) {
  const std::string two =
      TarMember("filters/1.filter", std::string(600, 'x')) + TarMember("filters/2.filter", "y") + TarEnd();
  EXPECT_EQ(ErrorOf(two, {601, 2}), "");
  EXPECT_THAT(ErrorOf(two, {600, 2}), HasSubstr("\"filters/2.filter\" has 1 bytes, but there is room for only 0 more"));
  EXPECT_THAT(ErrorOf(two, {601, 1}), HasSubstr("is more than the 1 files allowed"));
}

TEST_F(Archive, APipeThatIsClosedIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto pinned = PinnedDirectory::Pin(source_, "/d");
  const core::Status status = WriteArchive(**pinned, ends[1], Compression::kNone, kQuiet);
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("Broken pipe"));
}

TEST_F(Archive, AFailureAtAnyStepOfTheDiskIsReported) {
  const std::string bytes = Written();
  const auto extract = [&](FaultDisk& disk) {
    return ExtractArchive({.name = "the archive", .descriptor = -1, .bytes = bytes}, disk, "/r", {1 << 20, 100},
                          kQuiet);
  };
  MemoryDisk whole;
  ASSERT_TRUE(Ok(whole.CreateDirectory("/r")));
  FaultDisk counter(whole);
  ASSERT_TRUE(Ok(extract(counter)));
  for (uint64_t step = 1; step <= counter.steps(); ++step) {
    MemoryDisk base;
    ASSERT_TRUE(Ok(base.CreateDirectory("/r")));
    FaultDisk disk(base);
    disk.SetFault({.step = step});
    const core::Status status = extract(disk);
    ASSERT_FALSE(status) << step;
    EXPECT_THAT(status.error().message, HasSubstr("No space left on device"));
  }
}

}  // namespace
}  // namespace bitsieve::server
