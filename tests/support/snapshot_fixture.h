// snapshot_fixture.h: registries to save, and exact comparison of what came back.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/file_ids.h"
#include "server/persistence/log/keyspace_recorder.h"
#include "server/persistence/log/log_writer.h"
#include "server/persistence/recovery/recovery.h"
#include "server/persistence/snapshot/snapshot_writer.h"
#include "tests/support/filter_types.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::server {

// Budget, registry and what it takes to fill it. Equal calls make equal filters: the seed is fixed.
struct TestKeyspace {
  explicit TestKeyspace(uint64_t limit_bytes = 0) : memory(limit_bytes) {}

  commands::FilterPtr Make(const std::string& name, uint64_t capacity = 50,
                           core::FilterType type = core::kBlockedType) {
    core::FilterParams params;
    params.type = type;
    params.capacity = capacity;
    params.seed = 7;
    test::SetRequiredParams(params);
    core::Result<std::unique_ptr<core::Filter>> filter = core::MakeFilter(params, memory, core::SystemClock());
    EXPECT_TRUE(filter.has_value());
    commands::FilterPtr shared(std::move(*filter));
    EXPECT_EQ(registry.InsertIfAbsent(name, shared), shared);
    return shared;
  }

  core::MemoryBudget memory;
  test::ManualClock clock;  // by which names expire
  Quotas quotas{memory};
  Registry registry{quotas, clock, core::SystemClock()};
};

inline void AddItem(core::Filter& filter, const std::string& item) {
  const core::KeyHash hash = filter.HashOf(item);
  core::AddOutcome outcome;
  filter.Add(std::span(&hash, 1), std::span(&outcome, 1));
}

inline void AddItems(core::Filter& filter, const std::string& prefix, int count) {
  for (int i = 0; i < count; ++i) AddItem(filter, prefix + std::to_string(i));
}

inline bool HasItem(const core::Filter& filter, const std::string& item) {
  const core::KeyHash hash = filter.HashOf(item);
  uint8_t present = 0;
  filter.MayContain(std::span(&hash, 1), std::span(&present, 1));
  return present == 1;
}

// The whole image of a filter: equal bytes, equal filters.
inline std::string BytesOf(const core::Filter& filter) {
  const std::unique_ptr<core::FilterImage> image = filter.Capture();
  std::string bytes = image->header();
  const size_t header_bytes = bytes.size();
  bytes.resize(header_bytes + image->body_bytes());
  EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(bytes)).subspan(header_bytes)));
  return bytes;
}

using Contents = std::map<std::string, std::string>;

inline Contents ContentsOf(const Registry& registry) {
  Contents contents;
  for (const NamedFilter& named : registry.Collect()) {
    contents[named.name] = std::to_string(named.expires_ms) + BytesOf(*named.filter);
  }
  return contents;
}

// A keyspace with its directory and, if requested, its log: as a server is after its start.
struct TestServer {
  struct Settings {
    OnCorruptFilter on_corrupt_filter = OnCorruptFilter::kRefuse;
    OnCorruptLog on_corrupt_log = OnCorruptLog::kRefuse;
    uint32_t chunk_bytes = kDefaultChunkBytes;
    uint64_t max_packed_bytes = 0;  // every filter has a file of its own
    unsigned threads = 2;
    std::optional<FsyncPolicy> log = {};  // none: no log
  };

  ~TestServer() { Stop(); }

  core::Status Start(Disk& disk, const std::string& path, OnCorruptFilter on_corrupt_filter = OnCorruptFilter::kRefuse,
                     OnCorruptLog on_corrupt_log = OnCorruptLog::kRefuse) {
    return Start(disk, path, Settings{.on_corrupt_filter = on_corrupt_filter, .on_corrupt_log = on_corrupt_log});
  }
  core::Status Start(Disk& disk, const std::string& path, const Settings& settings) {
    core::Result<std::unique_ptr<DataDirectory>> opened = DataDirectory::Open(disk, path);
    if (!opened) return tl::unexpected(opened.error());
    directory = std::move(*opened);
    if (settings.log) recorder = std::make_unique<KeyspaceRecorder>();
    core::Result<Recovery> recovery = Recover(*directory, keyspace.registry, filter_clock,
                                              {.on_corrupt_filter = settings.on_corrupt_filter,
                                               .on_corrupt_log = settings.on_corrupt_log,
                                               .keeps_log = settings.log.has_value(),
                                               .threads = settings.threads,
                                               .listener = recorder.get()});
    if (!recovery) return tl::unexpected(recovery.error());
    report = recovery->report;
    freezing = recovery->freezing;
    file_ids = std::make_unique<FileIds>(recovery->next_file_id);
    if (settings.log) {
      log = std::make_unique<LogWriter>(*directory, core::SystemClock(), *settings.log, recovery->log_end,
                                        recovery->filter_files);
      recorder->Begin(*log, {*directory, *file_ids}, image_pool, recovery->saved.next_filter_id);
      keyspace.registry.SetLog(recorder.get(), Registry::Listening::kHasBegun);
    }
    writer = std::make_unique<SnapshotWriter>(
        SnapshotParts{*directory, keyspace.registry, *file_ids, image_pool, core::SystemClock(), recorder.get(),
                      settings.chunk_bytes, settings.max_packed_bytes},
        std::move(recovery->saved));
    return {};
  }

  // Waits until all that was done so far is durable, or written if the policy asks for no more.
  void AwaitLog() {
    std::promise<void> reached;
    log->Await(log->appended().end(), [&] { reached.set_value(); });
    reached.get_future().wait();
  }

  // Lets go of the directory; nothing is saved. What the log had not written is written, if the disk takes it.
  void Stop() {
    keyspace.registry.SetLog(nullptr);
    writer.reset();
    recorder.reset();
    log.reset();
    directory.reset();
  }
  Contents contents() const { return ContentsOf(keyspace.registry); }

  core::FilterClock filter_clock;
  core::MemoryBudget image_memory;
  core::ImagePool image_pool{image_memory, core::Patience::kWait};
  TestKeyspace keyspace;
  std::unique_ptr<DataDirectory> directory;
  RecoveryReport report;
  std::vector<NamedFilter> freezing;
  std::unique_ptr<FileIds> file_ids;
  std::unique_ptr<LogWriter> log;
  std::unique_ptr<KeyspaceRecorder> recorder;
  std::unique_ptr<SnapshotWriter> writer;
};

// For EXPECT_TRUE(Ok(status)): shows the error's text.
template <class T>
testing::AssertionResult Ok(const core::Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}

}  // namespace bitsieve::server
