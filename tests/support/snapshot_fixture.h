// snapshot_fixture.h: registries to save, and exact comparison of what came back.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/filters/filter_factory.h"
#include "server/keyspace/registry.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/recovery.h"
#include "server/persistence/snapshot_writer.h"

namespace bitsieve::server {

// Budget, registry and what it takes to fill it. Equal calls make equal filters: the seed is fixed.
struct TestKeyspace {
  explicit TestKeyspace(uint64_t limit_bytes = 0) : memory(limit_bytes) {}

  FilterPtr Make(const std::string& name, uint64_t capacity = 50, core::FilterKind kind = core::FilterKind::kBlocked) {
    core::FilterParams params;
    params.kind = kind;
    params.capacity = capacity;
    params.seed = 7;
    if (kind == core::FilterKind::kWindow) {
      params.window.items = capacity;
      params.expansion = 0;
    }
    core::Result<std::unique_ptr<core::Filter>> filter = core::MakeFilter(params, memory);
    EXPECT_TRUE(filter.has_value());
    FilterPtr shared(std::move(*filter));
    EXPECT_EQ(registry.InsertIfAbsent(name, shared), shared);
    return shared;
  }

  core::MemoryBudget memory;
  std::atomic<int64_t> now_ms{1'700'000'000'000};  // by which names expire
  Registry registry{memory, [this] { return now_ms.load(); }};
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

// A keyspace with its directory: as a server is after its start.
struct TestServer {
  core::Status Start(Disk& disk, const std::string& path, OnCorrupt on_corrupt = OnCorrupt::kRefuse,
                     uint32_t chunk_bytes = kDefaultChunkBytes, unsigned threads = 2) {
    core::Result<std::unique_ptr<DataDirectory>> opened = DataDirectory::Open(disk, path);
    if (!opened) return tl::unexpected(opened.error());
    directory = std::move(*opened);
    core::Result<Recovery> recovery = Recover(*directory, keyspace.registry, {on_corrupt, threads});
    if (!recovery) return tl::unexpected(recovery.error());
    report = recovery->report;
    writer = std::make_unique<SnapshotWriter>(*directory, keyspace.registry, std::move(recovery->saved), chunk_bytes);
    return {};
  }

  // Lets go of the directory; nothing is saved.
  void Stop() {
    writer.reset();
    directory.reset();
  }
  Contents contents() const { return ContentsOf(keyspace.registry); }

  TestKeyspace keyspace;
  std::unique_ptr<DataDirectory> directory;
  RecoveryReport report;
  std::unique_ptr<SnapshotWriter> writer;
};

// For EXPECT_TRUE(Ok(status)): shows the error's text.
template <class T>
testing::AssertionResult Ok(const core::Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}

}  // namespace bitsieve::server
