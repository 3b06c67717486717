// log_recovery_fixture.h: a server with a log on a disk in memory, and the contents that a server finds which starts
// from a copy of that disk. Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/window/window_type.h"
#include "server/persistence/log/log_reader.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

inline std::vector<core::FilterType> AllTypes() {
  std::vector<core::FilterType> types;
  for (const core::FilterTypeRow* row : core::FilterTypes()) types.push_back(row->type);
  return types;
}

inline void RemoveItem(core::Filter& filter, const std::string& item) {
  const core::KeyHash hash = filter.HashOf(item);
  uint8_t removed;
  filter.Remove(std::span(&hash, 1), std::span(&removed, 1));
}

class LogRecoveryTest : public testing::Test {
 protected:
  void SetUp() override { Begin(); }
  void Begin(FsyncPolicy policy = FsyncPolicy::kAlways) {
    server_ = std::make_unique<TestServer>();
    ASSERT_TRUE(Ok(server_->Start(disk_, "/d", {.chunk_bytes = 4096, .log = policy})));
  }
  // Stops the server and keeps it: filters that the test holds must not outlive it.
  void End() {
    server_->Stop();
    ended_.push_back(std::move(server_));
  }
  // Returns the error of a start that must not succeed.
  core::Error StartError() {
    TestServer refused;
    const core::Status status = refused.Start(disk_, "/d");
    EXPECT_FALSE(status.has_value());
    return status ? core::Error() : status.error();
  }
  Registry& registry() { return server_->keyspace.registry; }
  static constexpr uint64_t kLarge = 400'000;  // items of a filter whose content the log has in a file
  commands::FilterPtr Make(const std::string& name, core::FilterType type = core::kBlockedType) {
    return server_->keyspace.Make(name, 50, type);
  }
  void InsertPrepared(const std::string& name, commands::FilterPtr filter) {
    const auto prepared = registry().Prepare(filter);
    ASSERT_TRUE(Ok(prepared));
    EXPECT_EQ(registry().InsertIfAbsent(name, filter), filter);
  }
  void Save() { ASSERT_TRUE(Ok(server_->writer->Save())); }
  // Returns the contents that a server finds after a power failure, once all changes are durable.
  Contents Recovered() {
    server_->AwaitLog();
    MemoryDisk copy = disk_.Copy();
    copy.LosePower(MemoryDisk::UnsyncedNames::kLost);
    TestServer other;
    other.keyspace.clock.now_ms = server_->keyspace.clock.now_ms.load();
    EXPECT_TRUE(Ok(other.Start(copy, "/d")));
    EXPECT_FALSE(other.report.log.torn.has_value());
    return other.contents();
  }
  void ExpectSame() { EXPECT_EQ(Recovered(), server_->contents()); }
  std::string LogPath() const { return ListLog(disk_, "/d/log")->front().path; }

  MemoryDisk disk_;
  std::vector<std::unique_ptr<TestServer>> ended_;
  std::unique_ptr<TestServer> server_;
};

}  // namespace bitsieve::server
