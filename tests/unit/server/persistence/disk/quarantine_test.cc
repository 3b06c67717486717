#include "server/persistence/disk/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::IsEmpty;

constexpr const char* kDamagedPath = "/d/filters/17.filter";
constexpr const char* kAsidePath = "/d/quarantine/17.filter";

class QuarantineTest : public testing::Test {
 protected:
  QuarantineTest() : directory_(std::move(*DataDirectory::Open(disk_, "/d"))) { memory_.Put(kDamagedPath, "damaged"); }
  std::string At(const std::string& path) const {
    const auto all = memory_.All();
    const auto found = all.find(path);
    return found == all.end() ? "" : found->second;
  }
  // No file or lock may be open when power is lost.
  void LosePower(MemoryDisk::UnsyncedNames unsynced) {
    directory_.reset();
    memory_.LosePower(unsynced);
  }

  MemoryDisk memory_;
  FaultDisk disk_{memory_};
  std::unique_ptr<DataDirectory> directory_;
};

TEST_F(QuarantineTest, AFileIsMovedForGood) {
  Quarantine quarantine(*directory_);
  ASSERT_TRUE(Ok(quarantine.Take(kDamagedPath, "wrong checksum")));
  ASSERT_EQ(quarantine.taken().size(), 1U);
  EXPECT_EQ(quarantine.taken()[0].path, kDamagedPath);
  EXPECT_EQ(quarantine.taken()[0].moved_to, kAsidePath);
  EXPECT_EQ(quarantine.taken()[0].reason, "wrong checksum");
  LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_EQ(At(kDamagedPath), "");
  EXPECT_EQ(At(kAsidePath), "damaged");
}

TEST_F(QuarantineTest, ACopyIsThereForGoodNextToItsFile) {
  Quarantine quarantine(*directory_);
  ASSERT_TRUE(Ok(quarantine.Copy(kDamagedPath, "wrong checksum")));
  EXPECT_EQ(quarantine.taken().size(), 1U);
  LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_EQ(At(kDamagedPath), "damaged");
  EXPECT_EQ(At(kAsidePath), "damaged");
}

TEST_F(QuarantineTest, WhatWasSetAsideBeforeIsNotReplaced) {
  for (const char* content : {"first", "second", "third"}) {
    memory_.Put(kDamagedPath, content);
    ASSERT_TRUE(Ok(Quarantine(*directory_).Take(kDamagedPath, "again")));  // as each start has its own
  }
  EXPECT_EQ(At(kAsidePath), "first");
  EXPECT_EQ(At(std::string(kAsidePath) + ".1"), "second");
  EXPECT_EQ(At(std::string(kAsidePath) + ".2"), "third");
}

TEST_F(QuarantineTest, AMissingFileCanOnlyBeRecorded) {
  Quarantine quarantine(*directory_);
  EXPECT_EQ(quarantine.Take("/d/filters/18.filter", "missing").error().code, core::ErrorCode::kIo);
  EXPECT_EQ(quarantine.Copy("/d/filters/18.filter", "missing").error().code, core::ErrorCode::kIo);
  EXPECT_THAT(quarantine.taken(), IsEmpty());
  quarantine.RecordMissing("/d/filters/18.filter", "missing");
  ASSERT_EQ(quarantine.taken().size(), 1U);
  EXPECT_EQ(quarantine.taken()[0].moved_to, "");
}

// One disk for each step that can fail, and each outcome of the power failure after it.
TEST(QuarantineFaults, AFileIsNeverInNeitherPlace) {
  for (const auto unsynced : {MemoryDisk::UnsyncedNames::kLost, MemoryDisk::UnsyncedNames::kKept}) {
    bool failed = true;
    for (uint64_t step = 1; failed; ++step) {
      ASSERT_LT(step, 20U);
      MemoryDisk memory;
      FaultDisk disk(memory);
      auto directory = std::move(*DataDirectory::Open(disk, "/d"));
      memory.Put(kDamagedPath, "damaged");
      disk.SetFault({.step = step, .kind = Fault::Kind::kFailFromOn});
      Quarantine quarantine(*directory);
      failed = !quarantine.Take(kDamagedPath, "wrong checksum");
      EXPECT_EQ(quarantine.taken().empty(), failed);
      directory.reset();
      memory.LosePower(unsynced);
      const auto all = memory.All();
      EXPECT_TRUE(all.contains(kDamagedPath) || all.contains(kAsidePath)) << step;
      EXPECT_TRUE(failed || !all.contains(kDamagedPath)) << step;
    }
  }
}

}  // namespace
}  // namespace bitsieve::server
