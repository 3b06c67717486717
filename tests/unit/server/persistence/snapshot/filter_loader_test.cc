#include "server/persistence/snapshot/filter_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/keyspace/loading_names.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kFilters = 12;

// Holds what a start has read of a snapshot before it loads the filters.
struct Loading {
  explicit Loading(Disk& disk) : directory(std::move(*DataDirectory::Open(disk, "/d"))) {
    ChunkBuffer buffer;
    manifest = *ReadManifest(disk, directory->manifest_path(), buffer);
    present = FileIdsOf(manifest);
    next_filter_id = manifest.next_filter_id;
  }
  LoadedFilters Load(unsigned threads = 1, int64_t expired_unix_ms = 0) {
    return LoadFilters(*directory, manifest, present, keyspace.quotas, core::SystemClock(),
                       {.names = names,
                        .listener = nullptr,
                        .next_filter_id = next_filter_id,
                        .expired_unix_ms = expired_unix_ms,
                        .threads = threads});
  }

  std::unique_ptr<DataDirectory> directory;
  Manifest manifest;
  std::vector<uint64_t> present;
  TestKeyspace keyspace;
  LoadingNames names{keyspace.registry};
  std::atomic<uint64_t> next_filter_id{1};
};

class FilterLoaderTest : public testing::Test {
 protected:
  // Saves filters called "filter00" and so on; those of at most `max_packed_bytes` in a pack.
  void Save(uint64_t max_packed_bytes) {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", {.chunk_bytes = 256, .max_packed_bytes = max_packed_bytes})));
    for (int i = 0; i < kFilters; ++i) {
      const std::string name = std::string(i < 10 ? "filter0" : "filter") + std::to_string(i);
      const FilterPtr filter = server.keyspace.Make(name, 50 * static_cast<uint64_t>(i + 1));
      AddItems(*filter, name, 20);
      contents_[name] = BytesOf(*filter);
    }
    server.keyspace.registry.SetExpiry("filter03", server.keyspace.clock.now_ms + 1'000, 0);
    expires_ms_ = server.keyspace.clock.now_ms + 1'000;
    ASSERT_TRUE(Ok(server.writer->Save()));
  }
  void SaveInFiles() { Save(0); }
  void SaveInPack() { Save(kMaxPackedBytes); }
  void DamageAt(const std::string& path, size_t from_end) {
    std::string bytes = disk_.Get(path);
    bytes[bytes.size() - from_end] ^= 1;
    disk_.Put(path, bytes);
  }

  MemoryDisk disk_;
  Contents contents_;
  int64_t expires_ms_ = 0;
};

TEST_F(FilterLoaderTest, EachEntryHasItsFilterHoweverManyThreadsRead) {
  SaveInFiles();
  for (const unsigned threads : {1U, 4U, 100U}) {
    Loading loading(disk_);
    const LoadedFilters loaded = loading.Load(threads);
    ASSERT_EQ(loaded.filters.size(), static_cast<size_t>(kFilters));
    for (size_t i = 0; i < loaded.filters.size(); ++i) {
      ASSERT_TRUE(Ok(loaded.filters[i]));
      EXPECT_EQ(BytesOf(**loaded.filters[i]), contents_[loading.manifest.filters[i].name]);
    }
  }
}

TEST_F(FilterLoaderTest, AllDamageIsReportedWithFileAndNameAndTheRestIsLoaded) {
  SaveInFiles();
  Loading loading(disk_);
  const std::string damaged = loading.directory->FilterPath(loading.manifest.filters[5].file_id);
  const std::string missing = loading.directory->FilterPath(loading.manifest.filters[9].file_id);
  DamageAt(damaged, 20);
  std::erase(loading.present, loading.manifest.filters[9].file_id);
  const LoadedFilters loaded = loading.Load(2);
  for (size_t i = 0; i < loaded.filters.size(); ++i) EXPECT_EQ(loaded.filters[i].has_value(), i != 5 && i != 9) << i;
  EXPECT_EQ(loaded.filters[5].error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(loaded.filters[5].error().message, AllOf(HasSubstr(damaged), HasSubstr("filter05")));
  EXPECT_EQ(loaded.filters[9].error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(loaded.filters[9].error().message,
              AllOf(HasSubstr(missing), HasSubstr("is missing"), HasSubstr("filter09")));
}

TEST_F(FilterLoaderTest, WithoutMemoryNoFurtherFileIsBegun) {
  SaveInFiles();
  Loading loading(disk_);
  loading.keyspace.memory.set_limit_bytes(1);
  const LoadedFilters loaded = loading.Load();
  size_t begun = 0;
  for (const auto& filter : loaded.filters) {
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().code, core::ErrorCode::kOutOfMemory);
    if (filter.error().message.find("not read") == std::string::npos) ++begun;
  }
  EXPECT_EQ(begun, 1U);
}

TEST_F(FilterLoaderTest, RecordsOfAPackGoToTheNames) {
  SaveInPack();
  Loading loading(disk_);
  const LoadedFilters loaded = loading.Load();
  EXPECT_THAT(loaded.filters, IsEmpty());
  ASSERT_EQ(loaded.packs.size(), 1U);
  ASSERT_TRUE(Ok(loaded.packs[0]));
  EXPECT_EQ(loaded.packs[0]->loaded, static_cast<uint64_t>(kFilters));
  EXPECT_EQ(loading.names.size(), static_cast<uint64_t>(kFilters));
  for (const auto& [name, bytes] : contents_) {
    const Entry* const entry = loading.names.Find(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(BytesOf(*entry->filter), bytes);
    EXPECT_EQ(entry->expires_ms, name == "filter03" ? expires_ms_ : 0);
    EXPECT_EQ(entry->saved().pack, loaded.packs[0]->number) << "the next snapshot need not write it again";
  }
}

TEST_F(FilterLoaderTest, ARecordWhoseTimeHasComeIsPassedOver) {
  SaveInPack();
  Loading before(disk_);
  EXPECT_THAT(before.Load(1, expires_ms_ - 1).packs[0]->expired, IsEmpty());
  before.directory.reset();
  Loading loading(disk_);
  const LoadedFilters loaded = loading.Load(1, expires_ms_);
  EXPECT_THAT(loaded.packs[0]->expired, SizeIs(1));
  EXPECT_THAT(loaded.packs[0]->damaged, IsEmpty());
  EXPECT_EQ(loading.names.Find("filter03"), nullptr);
  EXPECT_EQ(loading.names.size(), static_cast<uint64_t>(kFilters - 1));
}

TEST_F(FilterLoaderTest, ADamagedRecordCostsItsFilterOnly) {
  SaveInPack();
  Loading loading(disk_);
  DamageAt(loading.directory->FilterPath(loading.manifest.packs[0].file_id), 1);
  const LoadedFilters loaded = loading.Load();
  ASSERT_TRUE(Ok(loaded.packs[0]));
  ASSERT_THAT(loaded.packs[0]->damaged, SizeIs(1));
  const LoadedPack::Damage& damage = loaded.packs[0]->damaged[0];
  EXPECT_EQ(damage.error.code, core::ErrorCode::kCorrupt);
  EXPECT_EQ(loaded.packs[0]->records[damage.record].entry, nullptr);
  EXPECT_EQ(loaded.packs[0]->loaded, static_cast<uint64_t>(kFilters - 1));
  EXPECT_EQ(loading.names.size(), static_cast<uint64_t>(kFilters - 1));
}

TEST_F(FilterLoaderTest, AMissingPackIsReportedWithTheNumberOfItsFilters) {
  SaveInPack();
  Loading loading(disk_);
  loading.present.clear();
  const LoadedFilters loaded = loading.Load();
  ASSERT_FALSE(loaded.packs[0]);
  EXPECT_EQ(loaded.packs[0].error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(loaded.packs[0].error().message, AllOf(HasSubstr("is missing"), HasSubstr("(12 filters)")));
}

TEST_F(FilterLoaderTest, FiltersThatWereNeverInALogGetNewIds) {
  SaveInPack();
  Loading loading(disk_);
  const uint64_t first = loading.next_filter_id;
  const LoadedFilters loaded = loading.Load();
  EXPECT_EQ(loading.next_filter_id, first + kFilters);
  std::vector<uint64_t> ids;
  for (const LoadedPack::Record& record : loaded.packs[0]->records) ids.push_back(record.filter_id);
  std::ranges::sort(ids);
  EXPECT_EQ(ids.front(), first);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

}  // namespace
}  // namespace bitsieve::server
