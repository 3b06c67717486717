#include "server/persistence/disk/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/filter/filter_factory.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;

constexpr char kPath[] = "/d/1.filter";
constexpr size_t kHeadBytes = 32;

// A pack of three filters.
class PackTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk_.CreateDirectory("/d"));
    PackBuilder builder;
    for (const std::string name : {"first", "", "third\n"}) {
      const FilterPtr filter = keyspace_.Make(name, 20);
      AddItems(*filter, name, 5);
      const PackedFilter packed{.name = name,
                                .expires_unix_ms = 1700000000123,
                                .filter_id = 7 + name.size(),
                                .sequence = 5,
                                .freezing = name.empty(),
                                .header = {},
                                .body = {}};
      EXPECT_EQ(builder.Add(packed, *filter->Capture()).value(), count_++);
      bytes_.push_back(builder.LastBytes());
    }
    seal_ = builder.Write(disk_, kPath).value();
    whole_ = disk_.Get(kPath);
  }
  core::Result<Pack> Read() { return Pack::Read(disk_, kPath, seal_, buffer_); }
  core::Result<Pack> Read(const std::string& bytes) {
    disk_.Put(kPath, bytes);
    return Read();
  }
  // Returns where a record begins in the file.
  size_t BeginOf(uint32_t record) const {
    size_t begin = whole_.size();
    for (size_t i = record; i < bytes_.size(); ++i) begin -= bytes_[i];
    return begin;
  }
  // Reads `bytes` with the right checksums of the head and the table, and with a seal that has the latter.
  core::Result<Pack> ReadForged(std::string bytes) {
    const auto put = [&](size_t at, uint64_t number) { std::memcpy(bytes.data() + at, &number, sizeof number); };
    put(kHeadBytes - sizeof(uint64_t),
        core::Checksum(std::string_view(bytes).substr(0, kHeadBytes - sizeof(uint64_t))));
    const size_t table_end = BeginOf(0) - sizeof(uint64_t);
    const uint64_t checksum = core::Checksum(std::string_view(bytes).substr(0, table_end));
    put(table_end, checksum);
    seal_.checksum = checksum;
    return Read(bytes);
  }

  MemoryDisk disk_;
  TestKeyspace keyspace_;
  uint32_t count_ = 0;
  std::vector<uint32_t> bytes_;
  FileSeal seal_;
  std::string whole_;
  ChunkBuffer buffer_;
};

TEST_F(PackTest, ComesBackAsItWas) {
  const auto pack = Read();
  ASSERT_TRUE(Ok(pack));
  ASSERT_EQ(pack->records(), 3u);
  EXPECT_EQ(seal_.bytes, whole_.size());
  const std::string names[] = {"first", "", "third\n"};
  for (uint32_t i = 0; i < 3; ++i) {
    const auto packed = pack->Record(i);
    ASSERT_TRUE(Ok(packed));
    EXPECT_EQ(packed->name, names[i]);
    EXPECT_EQ(packed->expires_unix_ms, 1700000000123);
    EXPECT_EQ(packed->filter_id, 7 + names[i].size());
    EXPECT_EQ(packed->sequence, 5u);
    EXPECT_EQ(packed->freezing, names[i].empty());
    EXPECT_EQ(pack->record_bytes(i), bytes_[i]);
    const auto filter =
        core::DecodeFilter(packed->header, core::AsBytes(packed->body), keyspace_.memory, core::SystemClock());
    ASSERT_TRUE(Ok(filter));
    EXPECT_EQ(BytesOf(**filter), BytesOf(*keyspace_.registry.Find(names[i])));
  }
}

TEST_F(PackTest, IsDurableOnceWritten) {
  ASSERT_TRUE(disk_.SyncDirectory("/d"));
  disk_.LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_TRUE(Ok(Read()));
}

// A change within a record refuses only that record; a change before the records refuses the file.
TEST_F(PackTest, AChangeOfAnyByteIsFound) {
  for (size_t offset = 0; offset < whole_.size(); ++offset) {
    std::string damaged = whole_;
    damaged[offset] ^= 0x10;
    const auto pack = Read(damaged);
    if (offset < BeginOf(0)) {
      ASSERT_FALSE(pack.has_value()) << offset;
      EXPECT_EQ(pack.error().code, core::ErrorCode::kCorrupt);
      EXPECT_THAT(pack.error().message, HasSubstr("/d/1.filter: "));
      continue;
    }
    ASSERT_TRUE(Ok(pack)) << offset;
    for (uint32_t i = 0; i < 3; ++i) {
      const auto packed = pack->Record(i);
      const bool hit = offset >= BeginOf(i) && offset < BeginOf(i) + bytes_[i];
      EXPECT_EQ(packed.has_value(), !hit) << offset;
      if (!hit) continue;
      EXPECT_THAT(packed.error().message, HasSubstr("/d/1.filter: record " + std::to_string(i)));
    }
  }
}

TEST_F(PackTest, ADamagedRecordNamesItsFilter) {
  std::string damaged = whole_;
  damaged.back() ^= 1;
  EXPECT_THAT(Read(damaged)->Record(2).error().message,
              testing::AllOf(HasSubstr("/d/1.filter: record 2 at byte " + std::to_string(BeginOf(2))),
                             HasSubstr("(filter 'third\\x0a')")));
}

TEST_F(PackTest, AnyOtherLengthIsFound) {
  for (size_t bytes = 0; bytes <= whole_.size() + 1; ++bytes) {
    if (bytes == whole_.size()) continue;
    std::string other = whole_;
    other.resize(bytes);
    const auto pack = Read(other);
    ASSERT_FALSE(pack.has_value()) << bytes;
    EXPECT_EQ(pack.error().code, core::ErrorCode::kCorrupt);
  }
}

TEST_F(PackTest, AnExchangedFileIsFound) {
  seal_.checksum ^= 1;
  EXPECT_THAT(Read().error().message, HasSubstr("exchanged"));
}

TEST_F(PackTest, ContradictionsUnderValidChecksumsAreFound) {
  const auto with = [&](size_t at, uint64_t number, size_t bytes) {
    std::string forged = whole_;
    std::memcpy(forged.data() + at, &number, bytes);
    return forged;
  };
  EXPECT_THAT(ReadForged(with(16, UINT64_MAX, 8)).error().message, HasSubstr("a pack has at most"));
  EXPECT_THAT(ReadForged(with(12, UINT32_MAX, 4)).error().message, HasSubstr("do not make the"));
  EXPECT_THAT(ReadForged(with(kHeadBytes, UINT32_MAX, 4)).error().message, HasSubstr("are not as long as"));
  EXPECT_EQ(ReadForged(with(8, 2, 4)).error().code, core::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace bitsieve::server
