// filter_file.h: one filter as one file, self-describing: its name when it was written, and its image (core's header
// and body). The manifest says which name a filter has now. Thread-safe: free functions; a buffer serves one call at a
// time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filters/filter.h"
#include "server/persistence/checked_file.h"
#include "server/persistence/disk.h"

namespace bitsieve::server {

inline constexpr FileFormat kFilterFileFormat{"BSFILTER", 1, "filter file"};
inline constexpr uint32_t kMaxImageHeaderBytes = 1U << 20;

// Writes the image and makes the bytes durable; the caller syncs the directory. On failure a part of the file may
// remain. Needs the memory of one chunk.
core::Result<FileSeal> WriteFilterFile(Disk& disk, const std::string& path, std::string_view name,
                                       core::FilterImage& image, uint32_t chunk_bytes, ChunkBuffer& buffer);

// The filter in the file, every byte of which must be as `seal` remembers it. kCorrupt, kUnsupported, kIo, or
// kOutOfMemory if the budget refuses; the message names the file. The clock is for kinds that age, and outlives it.
core::Result<std::unique_ptr<core::Filter>> ReadFilterFile(const Disk& disk, const std::string& path,
                                                           const FileSeal& seal, core::MemoryBudget& budget,
                                                           const core::Clock& clock, ChunkBuffer& buffer);

// What it begins with. Damage behind goes unnoticed.
struct FilterFileHead {
  std::string image_header;  // core's; not decoded
  uint64_t body_bytes = 0;   // of the image
};
core::Result<FilterFileHead> ReadFilterFileHead(const Disk& disk, const std::string& path, const FileSeal& seal,
                                                ChunkBuffer& buffer);

}  // namespace bitsieve::server
