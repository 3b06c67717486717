#include "server/persistence/disk/checked_file.h"

#include <gtest/gtest.h>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::server {
namespace {

constexpr FileFormat kFormat{"TESTFILE", 3, "test file"};

std::string Payload(size_t bytes) {
  std::string payload;
  for (size_t i = 0; i < bytes; ++i) payload += static_cast<char>(i * 7 + i / 256);
  return payload;
}

FileSeal WriteFile(MemoryDisk& disk, const std::string& payload, uint32_t chunk_bytes, uint32_t version = 3) {
  ChunkBuffer buffer;
  FileFormat format = kFormat;
  format.version = version;
  auto writer = CheckedFileWriter::Create(disk, "/f", format, payload.size(), chunk_bytes, buffer);
  EXPECT_TRUE(writer.has_value());
  EXPECT_TRUE(writer->Append(payload).has_value());
  const auto seal = writer->Finish();
  EXPECT_TRUE(seal.has_value());
  return *seal;
}

core::Result<std::string> ReadFile(const MemoryDisk& disk, FileSeal* seal = nullptr) {
  ChunkBuffer buffer;
  auto reader = CheckedFileReader::Open(disk, "/f", kFormat, buffer);
  if (!reader) return tl::unexpected(reader.error());
  std::string payload;
  while (reader->remaining() != 0) {
    const auto bytes = reader->Next(UINT64_MAX);
    if (!bytes) return tl::unexpected(bytes.error());
    payload += core::AsText(*bytes);
  }
  const auto found = reader->Finish();
  if (!found) return tl::unexpected(found.error());
  if (seal != nullptr) *seal = *found;
  return payload;
}

// A head whose own checksum is right, whatever its fields are.
std::string Head(std::string_view magic, uint32_t version, uint32_t chunk_bytes, uint64_t payload_bytes) {
  std::string head;
  core::ByteWriter writer(head);
  writer.PutBytes(magic);
  writer.Put(version);
  writer.Put(chunk_bytes);
  writer.Put(payload_bytes);
  writer.Put(core::Checksum(head));
  return head;
}

TEST(CheckedFile, GivesBackEveryPayloadAroundTheChunkBoundaries) {
  for (const size_t bytes : {0, 1, 15, 16, 17, 31, 32, 33, 160, 1000}) {
    MemoryDisk disk;
    const FileSeal written = WriteFile(disk, Payload(bytes), 16);
    EXPECT_EQ(written.bytes, disk.Get("/f").size());
    EXPECT_EQ(written.bytes, CheckedFileBytes(bytes, 16));
    FileSeal read;
    const auto payload = ReadFile(disk, &read);
    ASSERT_TRUE(payload.has_value()) << payload.error().message;
    EXPECT_EQ(*payload, Payload(bytes));
    EXPECT_EQ(read, written);
  }
}

TEST(CheckedFile, FieldsMayCrossChunks) {
  MemoryDisk disk;
  WriteFile(disk, Payload(100), 16);
  ChunkBuffer buffer;
  auto reader = CheckedFileReader::Open(disk, "/f", kFormat, buffer);
  ASSERT_TRUE(reader.has_value());
  ASSERT_TRUE(reader->Skip(10).has_value());
  std::string field(40, '\0');
  ASSERT_TRUE(reader->Read(std::as_writable_bytes(std::span(field))).has_value());
  EXPECT_EQ(field, Payload(100).substr(10, 40));
  EXPECT_EQ(reader->remaining(), 50u);
}

TEST(CheckedFile, AFieldBeyondTheEndIsCorrupt) {
  MemoryDisk disk;
  WriteFile(disk, Payload(20), 16);
  ChunkBuffer buffer;
  auto reader = CheckedFileReader::Open(disk, "/f", kFormat, buffer);
  ASSERT_TRUE(reader.has_value());
  std::byte field[21];
  EXPECT_EQ(reader->Read(field).error().code, core::ErrorCode::kCorrupt);
  EXPECT_EQ(reader->Skip(21).error().code, core::ErrorCode::kCorrupt);
  EXPECT_TRUE(reader->Skip(19).has_value());
  EXPECT_EQ(reader->Finish().error().code, core::ErrorCode::kCorrupt) << "a byte was not read";
}

TEST(CheckedFile, AChangeOfAnyByteIsFound) {
  MemoryDisk disk;
  WriteFile(disk, Payload(100), 16);
  const std::string whole = disk.Get("/f");
  for (size_t offset = 0; offset < whole.size(); ++offset) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[offset] = static_cast<char>(damaged[offset] ^ flip);
      disk.Put("/f", damaged);
      const auto payload = ReadFile(disk);
      ASSERT_FALSE(payload.has_value()) << "offset " << offset;
      EXPECT_EQ(payload.error().code, core::ErrorCode::kCorrupt) << payload.error().message;
      EXPECT_NE(payload.error().message.find("/f: "), std::string::npos);
    }
  }
}

TEST(CheckedFile, EveryOtherLengthIsFound) {
  MemoryDisk disk;
  WriteFile(disk, Payload(100), 16);
  const std::string whole = disk.Get("/f");
  for (size_t bytes = 0; bytes < whole.size() + 20; ++bytes) {
    if (bytes == whole.size()) continue;
    std::string damaged = whole;
    damaged.resize(bytes);
    disk.Put("/f", damaged);
    const auto payload = ReadFile(disk);
    ASSERT_FALSE(payload.has_value()) << bytes << " bytes";
    EXPECT_EQ(payload.error().code, core::ErrorCode::kCorrupt);
  }
}

TEST(CheckedFile, ExchangedChunksAreFound) {
  MemoryDisk disk;
  WriteFile(disk, Payload(48), 16);
  std::string bytes = disk.Get("/f");
  const std::string first = bytes.substr(32, 24);
  bytes.replace(32, 24, bytes.substr(56, 24));
  bytes.replace(56, 24, first);
  disk.Put("/f", bytes);
  const auto payload = ReadFile(disk);
  ASSERT_FALSE(payload.has_value());
  EXPECT_EQ(payload.error().message, "/f: at byte 104: the chain of checksums is broken");
}

TEST(CheckedFile, DamageIsNamedWithItsOffset) {
  MemoryDisk disk;
  WriteFile(disk, Payload(48), 16);
  std::string bytes = disk.Get("/f");
  bytes[60] ^= 1;
  disk.Put("/f", bytes);
  EXPECT_EQ(ReadFile(disk).error().message, "/f: at byte 56: the chunk of 16 bytes fails its checksum");
}

TEST(CheckedFile, ANewerVersionIsUnsupportedNotCorrupt) {
  MemoryDisk disk;
  WriteFile(disk, Payload(10), 16, 4);
  const auto payload = ReadFile(disk);
  ASSERT_FALSE(payload.has_value());
  EXPECT_EQ(payload.error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(payload.error().message, "/f: is a test file of version 4; this server reads up to version 3");
}

TEST(CheckedFile, AnOlderVersionIsRead) {
  MemoryDisk disk;
  WriteFile(disk, Payload(10), 16, 1);
  EXPECT_EQ(*ReadFile(disk), Payload(10));
}

TEST(CheckedFile, HostileHeadsAllocateNothing) {
  MemoryDisk disk;
  const std::string rest(100, 'x');
  for (const std::string& head :
       {Head("TESTFILE", 3, 0, 10), Head("TESTFILE", 3, UINT32_MAX, 10), Head("TESTFILE", 3, 1, UINT64_MAX),
        Head("TESTFILE", 3, 16, UINT64_MAX - 40), Head("TESTFILE", 3, 1 << 20, 1ULL << 60), Head("TESTFILE", 0, 16, 10),
        Head("TESTFIL", 3, 16, 10) + "x"}) {
    disk.Put("/f", head + rest);
    ChunkBuffer buffer;
    const auto reader = CheckedFileReader::Open(disk, "/f", kFormat, buffer);
    ASSERT_FALSE(reader.has_value());
    EXPECT_TRUE(buffer.empty());
  }
}

TEST(CheckedFile, AnotherKindOfFileIsNamed) {
  MemoryDisk disk;
  disk.Put("/f", std::string(100, 'x'));
  EXPECT_EQ(ReadFile(disk).error().message, "/f: at byte 0: does not start with TESTFILE, so it is not a test file");
}

TEST(CheckedFile, MemoryIsOneChunkWhateverTheLength) {
  MemoryDisk disk;
  ChunkBuffer buffer;
  const std::string payload = Payload(100000);
  auto writer = CheckedFileWriter::Create(disk, "/f", kFormat, payload.size(), 64, buffer);
  ASSERT_TRUE(writer->Append(payload).has_value());
  ASSERT_TRUE(writer->Finish().has_value());
  EXPECT_LE(buffer.size(), 64 + kCheckedHeadBytes + 16);
}

}  // namespace
}  // namespace bitsieve::server
