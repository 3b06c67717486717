// filter_file.h: one filter as one file, self-describing: its name when it was written, and its image (core's header
// and body). The manifest has the filter's current name. Thread-safe: free functions; a buffer serves one call at a
// time.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/filter/filter.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/disk/checked_file.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

inline constexpr FileFormat kFilterFileFormat{"BSFILTER", 1, "filter file"};
inline constexpr uint32_t kMaxImageHeaderBytes = 1U << 20;

// Writes the image and makes the bytes durable; the caller syncs the directory. On failure a part of the file may
// remain. Needs the memory of one chunk.
core::Result<FileSeal> WriteFilterFile(Disk& disk, const std::string& path, std::string_view name,
                                       core::FilterImage& image, uint32_t chunk_bytes, ChunkBuffer& buffer);

// Returns the filter in the file, every byte of which must be as `seal` remembers it. kCorrupt, kUnsupported, kIo, or
// kOutOfMemory if the budget refuses; the message names the file. The clock is for filter types that age, and outlives
// the filter.
core::Result<std::unique_ptr<core::Filter>> ReadFilterFile(const Disk& disk, const std::string& path,
                                                           const FileSeal& seal, core::MemoryBudget& budget,
                                                           const core::Clock& clock, ChunkBuffer& buffer);

// Reads a filter file with several threads. Thread-compatible unless stated otherwise.
class FilterFileReader {
 public:
  // Errors and lifetimes are those of ReadFilterFile; Finish needs `buffer` again.
  static core::Result<std::unique_ptr<FilterFileReader>> Open(const Disk& disk, const std::string& path,
                                                              const FileSeal& seal, core::MemoryBudget& budget,
                                                              const core::Clock& clock, ChunkBuffer& buffer);

  // Returns whether Read would find something to do. Thread-safe.
  bool has_more() const { return next_.load(std::memory_order_relaxed) < checksums_.size(); }
  // Reads chunks until every chunk has been taken by some thread. Thread-safe; each thread has a buffer of its own.
  void Read(ChunkBuffer& buffer);
  // Call once, after Read has returned in every thread.
  core::Result<std::unique_ptr<core::Filter>> Finish();

 private:
  FilterFileReader(CheckedFileReader file, std::string path, const FileSeal& seal,
                   std::unique_ptr<core::FilterDecoder> decoder);
  core::Status ReadFirst();
  core::Status ReadChunk(size_t index, ChunkBuffer& buffer);
  core::Status ReadRest();

  CheckedFileReader file_;
  const std::string path_;
  const FileSeal seal_;
  const std::unique_ptr<core::FilterDecoder> decoder_;
  uint64_t body_begin_ = 0;  // in the payload
  // Checksums of the chunks that may be read in any order; each is written by one thread. They take no more bytes than
  // the checksums in the file.
  std::vector<uint64_t> checksums_;
  std::atomic<size_t> next_{0};  // relaxed: it hands out numbers; Finish comes after all readers are joined

  core::Mutex mutex_;
  std::optional<core::Error> error_ BITSIEVE_GUARDED_BY(mutex_);
  size_t error_index_ BITSIEVE_GUARDED_BY(mutex_) = 0;
};

// The beginning of a filter file. Damage in the chunks after it goes unnoticed.
struct FilterFileHead {
  std::string image_header;  // core's; not decoded
  uint64_t body_bytes = 0;   // of the image
};
core::Result<FilterFileHead> ReadFilterFileHead(const Disk& disk, const std::string& path, const FileSeal& seal,
                                                ChunkBuffer& buffer);

// Checks that every byte of the file is as `seal` remembers it, without making the filter. Needs the memory of one
// chunk.
core::Status VerifyFilterFile(const Disk& disk, const std::string& path, const FileSeal& seal, ChunkBuffer& buffer);

}  // namespace bitsieve::server
