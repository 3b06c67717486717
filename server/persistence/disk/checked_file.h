// checked_file.h: the shell of every file of a snapshot: a payload, cut into chunks, each under its own checksum, and a
// chain over all checksums at the end, so that no byte can be lost, changed or moved unnoticed.
// docs/formats/snapshot.md has the byte tables.
//
//   head: magic, version, chunk bytes, payload bytes, checksum | chunk, checksum | ... | chain
//
// Memory: one chunk, regardless of the file's length. Writer and reader are thread-compatible unless stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

inline constexpr uint32_t kDefaultChunkBytes = 1U << 20;
inline constexpr uint32_t kMaxChunkBytes = 16U << 20;
inline constexpr uint64_t kCheckedHeadBytes = 32;

// Returns the length of a file that holds a payload of this length, which is below 2^63.
uint64_t CheckedFileBytes(uint64_t payload_bytes, uint32_t chunk_bytes);

inline constexpr size_t kMagicBytes = 8;

struct FileFormat {
  std::string_view magic;  // kMagicBytes
  uint32_t version;        // the newest that can be read
  std::string_view name;   // for error texts: "manifest"
};

// Identifies the content of one complete file: kept elsewhere, it also reveals a file that was exchanged.
struct FileSeal {
  uint64_t bytes = 0;     // length of the file
  uint64_t checksum = 0;  // the chain at its end

  bool operator==(const FileSeal&) const = default;
};

// Reused from file to file, so that a snapshot of many filters allocates once.
using ChunkBuffer = std::vector<std::byte>;

class CheckedFileWriter {
 public:
  // The payload will be exactly `payload_bytes` long. The buffer outlives the writer.
  static core::Result<CheckedFileWriter> Create(Disk& disk, const std::string& path, const FileFormat& format,
                                                uint64_t payload_bytes, uint32_t chunk_bytes, ChunkBuffer& buffer);

  // Room left in the current chunk, for filling in place; empty only when the payload is complete.
  std::span<std::byte> Room();
  // Commits the first `bytes` of Room(), which are filled.
  core::Status Commit(size_t bytes);
  core::Status Append(std::string_view bytes);
  // Call after the last byte of the payload: makes the file whole and durable. (Its name is durable after a
  // SyncDirectory.)
  core::Result<FileSeal> Finish();

 private:
  CheckedFileWriter(std::unique_ptr<WritableFile> file, uint64_t payload_bytes, uint32_t chunk_bytes,
                    ChunkBuffer& buffer);
  void WriteHead(const FileFormat& format);
  void PutNumber(uint64_t number);
  void CloseChunk();
  core::Status Flush();

  std::unique_ptr<WritableFile> file_;
  ChunkBuffer* buffer_;
  uint32_t chunk_bytes_;
  uint64_t missing_;        // payload bytes still to come
  size_t used_ = 0;         // of buffer_, not yet written
  size_t chunk_begin_ = 0;  // where in buffer_ the current chunk's bytes start
  uint64_t chain_ = 0;
  uint64_t file_bytes_ = 0;  // written so far
};

// Every error names the file, and the offset where it has one: kCorrupt, kUnsupported (a newer version) or kIo.
class CheckedFileReader {
 public:
  // Verifies the head and that the file is exactly as long as its head says. The buffer outlives the reader.
  static core::Result<CheckedFileReader> Open(const Disk& disk, const std::string& path, const FileFormat& format,
                                              ChunkBuffer& buffer);

  uint64_t file_bytes() const { return file_->size(); }
  uint64_t payload_bytes() const { return payload_bytes_; }
  uint64_t remaining() const { return missing_ + chunk_rest_.size(); }  // payload bytes not yet handed out

  // Returns the next bytes of the payload, verified: at least one, at most `max` and at most to the end of a chunk;
  // none at the payload's end. Valid until the next call.
  core::Result<std::span<const std::byte>> Next(uint64_t max);
  // Reads exactly out.size() bytes; kCorrupt if fewer remain.
  core::Status Read(std::span<std::byte> out);
  core::Status Skip(uint64_t bytes);
  // Instead of Next, the chunks that it has not begun may be read in any order, each once, by several threads at a
  // time.
  struct Chunk {
    uint64_t offset = 0;  // in the file
    uint64_t payload_offset = 0;
    uint64_t bytes = 0;  // of payload
  };
  uint64_t chunks_left() const { return (missing_ + chunk_bytes_ - 1) / chunk_bytes_; }
  Chunk ChunkLeft(uint64_t index) const;
  // Reads the chunk's payload into `out`, which is as long, and verifies it in the end; returns its checksum. Calls
  // `observe` with the offset and length of each part that was read, while it is still in the processor's cache.
  // Thread-safe.
  using PieceObserver = std::function<void(uint64_t, uint64_t)>;
  core::Result<uint64_t> ReadChunk(const Chunk& chunk, std::span<std::byte> out, const PieceObserver& observe) const;
  // Call when all of those chunks have been read, with their checksums in order.
  void PassChunks(std::span<const uint64_t> checksums);

  // Checks that everything was handed out and that the chain holds.
  core::Result<FileSeal> Finish();

  // A kCorrupt error about this file, for callers that interpret the payload; names the offset of the current chunk.
  tl::unexpected<core::Error> Corrupt(std::string_view reason) const;

 private:
  CheckedFileReader(std::unique_ptr<ReadableFile> file, std::string path, ChunkBuffer& buffer);
  core::Status ReadHead(const FileFormat& format);
  core::Status CheckLength(uint64_t payload_bytes) const;
  core::Status LoadChunk();
  core::Status CheckRemaining(uint64_t bytes) const;
  tl::unexpected<core::Error> CorruptAt(uint64_t offset, std::string_view reason) const;
  tl::unexpected<core::Error> CorruptChunk(uint64_t offset, uint64_t bytes) const;

  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  ChunkBuffer* buffer_;
  uint32_t chunk_bytes_ = 0;
  uint64_t payload_bytes_ = 0;
  uint64_t missing_ = 0;       // payload bytes in chunks not yet read
  uint64_t offset_ = 0;        // in the file, of the next chunk
  uint64_t chunk_offset_ = 0;  // in the file, of the chunk in the buffer
  std::span<const std::byte> chunk_rest_;
  uint64_t chain_ = 0;
};

}  // namespace bitsieve::server
