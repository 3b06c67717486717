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

// Maximum bytes of image header and body together that Write puts into the record. In a file, so few bytes would take
// more of the disk's time for syncs than they do in the log; and they take no more of the log writer's time than some
// thousand additions.
inline constexpr uint64_t kMaxInlineBytes = 256 << 10;

class ContentWriter {
 public:
  // Both outlive it.
  ContentWriter(DataDirectory& directory, FileIds& file_ids) : directory_(directory), file_ids_(file_ids) {}

  // Returns a Content or an Image with the image's sequence, and the filter's id left 0. For a large filter it takes as
  // long as the disk needs to make the file durable, and needs the memory of one chunk.
  core::Result<log::Record> Write(core::FilterImage& image);
  // Returns a Content, regardless of its size: for contents that must not wait for the disk.
  core::Result<log::Record> WriteInline(core::FilterImage& image);
  // Removes the file of a record that will not be appended, if it has one. A file that cannot be removed stays until
  // the next start.
  void Discard(const log::Record& record);

 private:
  core::Result<log::Record> WriteFile(core::FilterImage& image);

  DataDirectory& directory_;
  FileIds& file_ids_;
};

// Returns the filter of the record. kCorrupt, kUnsupported, or kOutOfMemory if the budget refuses. The clock is for
// filter types that age, and outlives the filter.
core::Result<std::unique_ptr<core::Filter>> ReadContent(const log::Content& content, core::MemoryBudget& budget,
                                                        const core::Clock& clock);

}  // namespace bitsieve::server
