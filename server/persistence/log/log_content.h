// log_content.h: the whole content of a filter as a record of the log. A small filter is in the record itself, a large
// one in a filter file, which is durable before there is a record. So no log write waits for a large filter, and no
// record names a file that a crash may have left unfinished.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/file_ids.h"
#include "server/persistence/log/log_record.h"

namespace bitsieve::server {

// Of image header and body together. As a file, so little would take more of the disk's time for syncs than it does in
// the log; and of the log's writer it takes no more time than some thousand additions.
inline constexpr uint64_t kMaxInlineBytes = 256 << 10;

class ContentWriter {
 public:
  // Both outlive it.
  ContentWriter(DataDirectory& directory, FileIds& file_ids) : directory_(directory), file_ids_(file_ids) {}

  // A Content or an Image with the image's sequence, and the filter's id left 0. Of a large one it takes as long as the
  // disk to make the file durable, and needs the memory of one chunk.
  core::Result<log::Record> Write(core::FilterImage& image);
  // The same in the record itself, whatever it takes: of what must not wait for the disk.
  core::Result<log::Record> WriteInline(core::FilterImage& image);
  // The record will not be appended: its file, if it has one, goes. One that cannot be removed stays until the next
  // start.
  void Discard(const log::Record& record);

 private:
  core::Result<log::Record> WriteFile(core::FilterImage& image);

  DataDirectory& directory_;
  FileIds& file_ids_;
};

// The filter of the record. kCorrupt, kUnsupported, or kOutOfMemory if the budget refuses. The clock is for types that
// age, and outlives it.
core::Result<std::unique_ptr<core::Filter>> ReadContent(const log::Content& content, core::MemoryBudget& budget,
                                                        const core::Clock& clock);

}  // namespace bitsieve::server
