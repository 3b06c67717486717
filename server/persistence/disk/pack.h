// pack.h: many small filters in one file. A file of its own would cost each of them a block of the disk and a sync.
// docs/formats/pack.md has the byte tables.
//
//   head: magic, version, records, bytes of records, checksum | table: length and checksum of each record, checksum |
//   records
//
// The manifest remembers the table's checksum, the table has each record's: no byte can be changed or exchanged
// unnoticed, and a damaged record damages only its filter. A record holds all that is remembered of its filter,
// including its name and expiry. A pack is never changed: the manifest says which of its records still count.
//
// Memory: a whole pack, about kPackBytes. PackBuilder and Pack are thread-compatible.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/filter/filter.h"
#include "server/persistence/disk/checked_file.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

inline constexpr FileFormat kPackFormat{"BSFPACKS", 1, "pack"};
// Maximum bytes of a record. A larger filter has a file of its own.
inline constexpr uint64_t kMaxPackedBytes = 64 << 10;
// Bytes of records that make a pack complete, so that start and compaction have a bounded amount to do at a time.
inline constexpr uint64_t kPackBytes = 8 << 20;
// Maximum records that a writer puts into a pack; a reader takes any number.
inline constexpr uint32_t kMaxPackRecords = 1 << 16;

// The content of a record.
struct PackedFilter {
  std::string_view name;        // any bytes
  int64_t expires_unix_ms = 0;  // as in ManifestEntry, and so are the next three
  uint64_t filter_id = 0;
  uint64_t sequence = 0;
  bool freezing = false;
  std::string_view header;  // of the image
  std::string_view body;
};

// Returns the length of the record that holds this image under that name.
uint64_t PackedBytes(std::string_view name, const core::FilterImage& image);

class PackBuilder {
 public:
  // Adds a record with everything of `packed` except for header and body, which are the image's; at most
  // kMaxPackedBytes in all. Returns the number of the record. kOutOfMemory: the image was lost; nothing was added.
  core::Result<uint32_t> Add(const PackedFilter& packed, core::FilterImage& image);

  bool empty() const { return table_.empty(); }
  // Returns whether it has the kPackBytes, or the records, of a complete pack.
  bool full() const { return records_.size() >= kPackBytes || table_.size() >= kMaxPackRecords; }
  // Returns the length of the record that was added last.
  uint32_t LastBytes() const { return table_.back().bytes; }
  // Writes all records and makes the bytes durable; the caller syncs the directory. On failure a part of the file may
  // remain.
  core::Result<FileSeal> Write(Disk& disk, const std::string& path) const;
  void Clear();

 private:
  struct Line {
    uint32_t bytes;
    uint64_t checksum;
  };

  std::vector<Line> table_;
  std::string records_;
};

class Pack {
 public:
  // Reads the file into `buffer`, which outlives the pack, and verifies all but the records: kCorrupt, kUnsupported or
  // kIo; the message names the file.
  static core::Result<Pack> Read(const Disk& disk, const std::string& path, const FileSeal& seal, ChunkBuffer& buffer);

  uint32_t records() const { return static_cast<uint32_t>(table_.size()); }
  uint32_t record_bytes(uint32_t record) const { return table_[record].bytes; }
  uint64_t record_checksum(uint32_t record) const { return table_[record].checksum; }
  // Returns the record's content. kCorrupt: the message names the file, the record and its filter, if that much can be
  // read. Valid as long as the buffer.
  core::Result<PackedFilter> Record(uint32_t record) const;
  // Returns `error`, which is about a record's image, with the file, the record and the filter added.
  core::Error Located(uint32_t record, const PackedFilter& packed, const core::Error& error) const;

 private:
  struct Line {
    uint64_t offset;  // in bytes_
    uint32_t bytes;
    uint64_t checksum;
  };

  explicit Pack(std::string path) : path_(std::move(path)) {}
  core::Status ReadHead(const FileSeal& seal);
  core::Status ReadTable(const FileSeal& seal);
  tl::unexpected<core::Error> Corrupt(std::string_view reason) const;
  tl::unexpected<core::Error> CorruptRecord(uint32_t record, std::string_view reason) const;

  std::string path_;
  std::string_view bytes_;  // of the file
  std::vector<Line> table_;
};

}  // namespace bitsieve::server
