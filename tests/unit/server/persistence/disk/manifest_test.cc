#include "server/persistence/disk/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/bytes.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;

Manifest SmallManifest() {
  Manifest manifest;
  manifest.snapshot_number = 5;
  manifest.saved_unix_ms = 1700000000123;
  manifest.next_file_id = 10;
  manifest.filters = {
      {"", 9, {100, 1}}, {std::string("\0\r\n\xff", 4), 3, {200, 2}, 1700000000456}, {"words", 1, {300, 3}}};
  return manifest;
}

core::Result<Manifest> Read(const MemoryDisk& disk) {
  ChunkBuffer buffer;
  return ReadManifest(disk, "/MANIFEST", buffer);
}

core::Result<Manifest> RoundTrip(const Manifest& manifest) {
  MemoryDisk disk;
  ChunkBuffer buffer;
  const core::Status status = WriteManifest(disk, "/MANIFEST", manifest, buffer);
  if (!status) return tl::unexpected(status.error());
  return Read(disk);
}

// A payload under valid checksums, whatever it holds.
core::Result<Manifest> ReadPayload(const std::string& payload) {
  MemoryDisk disk;
  ChunkBuffer buffer;
  auto writer = CheckedFileWriter::Create(disk, "/MANIFEST", kManifestFormat, payload.size(), 64, buffer);
  EXPECT_TRUE(writer->Append(payload).has_value());
  EXPECT_TRUE(writer->Finish().has_value());
  return Read(disk);
}

std::string PayloadHead(uint64_t next_file_id, uint64_t count, uint64_t next_filter_id = 1, uint64_t packs = 0) {
  std::string payload;
  core::ByteWriter writer(payload);
  for (const uint64_t number : {uint64_t{1}, uint64_t{2}, uint64_t{0}, next_file_id, next_filter_id}) {
    writer.Put(number);
  }
  writer.Put(uint8_t{1});  // there is a log
  writer.Put(count);
  if (count == 0) writer.Put(packs);
  return payload;
}

TEST(Manifest, ComesBackAsItWas) {
  EXPECT_EQ(RoundTrip(SmallManifest()).value(), SmallManifest());
  EXPECT_EQ(RoundTrip(Manifest()).value(), Manifest());
}

TEST(Manifest, HoldsLongAndManyNames) {
  Manifest manifest;
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(100000 + i);
    manifest.filters.push_back(
        {i % 5000 == 0 ? number + std::string(65536, 'n') : number, manifest.next_file_id++, {}});
  }
  EXPECT_EQ(RoundTrip(manifest).value(), manifest);
}

TEST(Manifest, AChangeOfAnyByteIsFound) {
  MemoryDisk disk;
  ChunkBuffer buffer;
  ASSERT_TRUE(WriteManifest(disk, "/MANIFEST", SmallManifest(), buffer).has_value());
  const std::string whole = disk.Get("/MANIFEST");
  for (size_t offset = 0; offset < whole.size(); ++offset) {
    std::string damaged = whole;
    damaged[offset] ^= 0x10;
    disk.Put("/MANIFEST", damaged);
    const auto manifest = Read(disk);
    ASSERT_FALSE(manifest.has_value()) << offset;
    EXPECT_EQ(manifest.error().code, core::ErrorCode::kCorrupt);
    disk.Put("/MANIFEST", whole.substr(0, offset));
    EXPECT_FALSE(Read(disk).has_value()) << "cut to " << offset;
  }
}

TEST(Manifest, ContradictionsUnderValidChecksumsAreFound) {
  EXPECT_THAT(ReadPayload("").error().message, HasSubstr("more than its length can hold"));
  EXPECT_THAT(ReadPayload(PayloadHead(1, UINT64_MAX)).error().message, HasSubstr("more than its length can hold"));
  EXPECT_THAT(ReadPayload(PayloadHead(1, 1) + std::string(52, '\0')).error().message,
              HasSubstr("more than its length can hold"));
  EXPECT_THAT(ReadPayload(PayloadHead(2, 1) + std::string(57, '\0') + "\xff\xff\xff\xff").error().message,
              HasSubstr("ends within its list"));
  EXPECT_THAT(ReadPayload(PayloadHead(1, 0) + "x").error().message, HasSubstr("bytes after its last list"));
  EXPECT_THAT(ReadPayload(PayloadHead(1, 0, 1, UINT64_MAX)).error().message,
              HasSubstr("packs, more than its length can hold"));
  EXPECT_THAT(ReadPayload(PayloadHead(1, 0, 1, 1) + std::string(24, '\0') + "\xff\xff\xff\xff").error().message,
              HasSubstr("ends within its list of packs"));
  EXPECT_THAT(ReadPayload(PayloadHead(0, 0)).error().message, HasSubstr("file ids"));
  EXPECT_THAT(ReadPayload(PayloadHead(UINT64_MAX, 0)).error().message, HasSubstr("file ids"));
  EXPECT_THAT(ReadPayload(PayloadHead(1, 0, 0)).error().message, HasSubstr("filter ids"));
}

TEST(Manifest, ExpiriesAreNotNegative) {
  Manifest manifest = SmallManifest();
  manifest.filters[2].expires_unix_ms = -1;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("expiry of a filter lies before 1970"));
  manifest.filters[2].expires_unix_ms = INT64_MAX;
  EXPECT_EQ(RoundTrip(manifest).value(), manifest);
}

TEST(Manifest, NamesAndIdsAreDistinct) {
  Manifest manifest = SmallManifest();
  manifest.filters[1].name = "words";
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("do not ascend"));
  manifest = SmallManifest();
  manifest.filters[1].file_id = 9;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("file ids contradict"));
  manifest.filters[1].file_id = 10;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("file ids contradict")) << "not below the next one";
  manifest.filters[1].file_id = 0;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("file ids contradict"));
}

TEST(Manifest, FilterIdsAndPositionsDoNotContradictEachOther) {
  Manifest manifest = SmallManifest();
  manifest.next_filter_id = 5;
  manifest.log_position = 100;
  manifest.filters[0].filter_id = 4;
  manifest.filters[1].log_position = 100;
  EXPECT_EQ(RoundTrip(manifest).value(), manifest);
  manifest.filters[1].filter_id = 4;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("filter ids contradict")) << "twice";
  manifest.filters[1].filter_id = 5;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("filter ids contradict")) << "not below the next one";
  manifest.filters[1].filter_id = 0;
  manifest.filters[1].log_position = 101;
  EXPECT_THAT(RoundTrip(manifest).error().message, HasSubstr("after the log's own"));
}

}  // namespace
}  // namespace bitsieve::server
