#include "server/persistence/disk/filter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/bytes.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;

class FilterFileTest : public testing::Test {
 protected:
  FileSeal Write(const core::Filter& filter, uint32_t chunk_bytes = 64, std::string_view name = "words") {
    const auto seal = WriteFilterFile(disk_, "/1.filter", name, *filter.Capture(), chunk_bytes, buffer_);
    EXPECT_TRUE(Ok(seal));
    return *seal;
  }
  auto Read(const FileSeal& seal) {
    return ReadFilterFile(disk_, "/1.filter", seal, memory_, core::SystemClock(), buffer_);
  }

  core::Result<std::unique_ptr<core::Filter>> ReadByThreads(const FileSeal& seal) {
    auto reader = FilterFileReader::Open(disk_, "/1.filter", seal, memory_, core::SystemClock(), buffer_);
    if (!reader) return tl::unexpected(reader.error());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        ChunkBuffer buffer;
        (*reader)->Read(buffer);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE((*reader)->has_more());
    return (*reader)->Finish();
  }

  // A file under valid checksums, whatever its payload.
  FileSeal WritePayload(const std::string& payload) {
    auto writer = CheckedFileWriter::Create(disk_, "/1.filter", kFilterFileFormat, payload.size(), 64, buffer_);
    EXPECT_TRUE(writer->Append(payload).has_value());
    return writer->Finish().value();
  }

  MemoryDisk disk_;
  ChunkBuffer buffer_;
  core::MemoryBudget memory_;
  TestKeyspace keyspace_;
};

TEST_F(FilterFileTest, GivesBackEveryKindAndChain) {
  for (const core::FilterTypeRow* row : core::FilterTypes()) {
    const FilterPtr filter = keyspace_.Make(std::string(row->name), 20, row->type);
    for (const int items : {0, 1, 500}) {
      AddItems(*filter, "item", items);
      const auto read = Read(Write(*filter));
      ASSERT_TRUE(Ok(read));
      EXPECT_EQ(BytesOf(**read), BytesOf(*filter)) << row->name << " with " << items << " items";
    }
  }
}

TEST_F(FilterFileTest, SeveralThreadsGiveBackTheSame) {
  for (const core::FilterTypeRow* row : core::FilterTypes()) {
    const FilterPtr filter = keyspace_.Make(std::string(row->name), 20, row->type);
    AddItems(*filter, "item", 500);
    const auto read = ReadByThreads(Write(*filter));
    ASSERT_TRUE(Ok(read));
    EXPECT_EQ(BytesOf(**read), BytesOf(*filter)) << row->name;
  }
}

TEST_F(FilterFileTest, SeveralThreadsNameTheFirstDamage) {
  const FilterPtr filter = keyspace_.Make("f", 1000);
  const FileSeal seal = Write(*filter);
  std::string bytes = disk_.Get("/1.filter");
  const auto offset_of = [](size_t chunk) { return kCheckedHeadBytes + chunk * (64 + sizeof(uint64_t)); };
  for (const size_t chunk : {5, 6, 15}) bytes[offset_of(chunk) + 1] ^= 1;
  disk_.Put("/1.filter", bytes);
  for (int i = 0; i < 20; ++i) {
    const auto read = ReadByThreads(seal);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, core::ErrorCode::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr("/1.filter: at byte " + std::to_string(offset_of(5)) + ": "));
  }
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(FilterFileTest, NamesAreAnyBytes) {
  const FilterPtr filter = keyspace_.Make("f");
  for (const std::string& name : {std::string(), std::string("\0\xff\n", 3), std::string(65536, 'x')}) {
    EXPECT_TRUE(Ok(Read(Write(*filter, 64, name))));
  }
}

TEST_F(FilterFileTest, AChangeOfAnyByteIsFoundAndGivesItsMemoryBack) {
  const FilterPtr filter = keyspace_.Make("f", 20);
  AddItems(*filter, "item", 15);
  const FileSeal seal = Write(*filter);
  const std::string whole = disk_.Get("/1.filter");
  for (size_t offset = 0; offset < whole.size(); ++offset) {
    std::string damaged = whole;
    damaged[offset] ^= 0x04;
    disk_.Put("/1.filter", damaged);
    const auto read = Read(seal);
    ASSERT_FALSE(read.has_value()) << offset;
    EXPECT_EQ(read.error().code, core::ErrorCode::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr("/1.filter: at byte "));
    disk_.Put("/1.filter", whole.substr(0, offset));
    EXPECT_FALSE(Read(seal).has_value()) << "cut to " << offset;
  }
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(FilterFileTest, AWholeFileOfAnotherTimeIsFound) {
  const FilterPtr filter = keyspace_.Make("f", 5000);
  AddItem(*filter, "old");
  const FileSeal old_seal = Write(*filter);
  AddItem(*filter, "new");
  const FileSeal seal = Write(*filter);
  EXPECT_THAT(Read(old_seal).error().message, HasSubstr("not the file that the manifest refers to"));
  EXPECT_TRUE(Ok(Read(seal)));
}

TEST_F(FilterFileTest, TheBudgetIsAskedBeforeAnythingIsAllocated) {
  const FilterPtr filter = keyspace_.Make("f", 100000);
  const FileSeal seal = Write(*filter, kDefaultChunkBytes);
  memory_.set_limit_bytes(1000);
  const auto read = Read(seal);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, core::ErrorCode::kOutOfMemory);
  EXPECT_THAT(read.error().message, HasSubstr("/1.filter: "));
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(FilterFileTest, HostileLengthsUnderValidChecksumsAreFound) {
  const auto prefix = [](uint32_t name_bytes, uint32_t header_bytes) {
    std::string payload;
    core::ByteWriter writer(payload);
    writer.Put(name_bytes);
    writer.Put(header_bytes);
    return payload;
  };
  const std::string header = keyspace_.Make("f", 5000)->Capture()->header();
  for (const std::string& payload :
       {std::string(), std::string("short"), prefix(UINT32_MAX, 10), prefix(0, UINT32_MAX), prefix(0, 1 << 20),
        prefix(0, 0), prefix(1, 2) + "abc", prefix(0, static_cast<uint32_t>(header.size())) + header,
        prefix(0, static_cast<uint32_t>(header.size())) + header + std::string(1 << 16, 'x')}) {
    const auto read = Read(WritePayload(payload));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, core::ErrorCode::kCorrupt) << read.error().message;
  }
}

}  // namespace
}  // namespace bitsieve::server
