// log_removal.h: removes what the log no longer needs, segments and the filter files that records in them refer to, one
// removal at a time, concurrently with the writing.
// Confined to the log's thread, except for first_kept().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/log/appended_records.h"
#include "server/persistence/log/log_job.h"

namespace bitsieve::server {

class LogRemoval {
 public:
  // All before `first_kept` is removed. The references outlive it. A removal's thread calls `on_end` when it is over,
  // unless memory was refused to it: then it is to be begun again, but not at once.
  LogRemoval(DataDirectory& directory, AppendedRecords& appended, uint64_t first_kept, std::function<void()> on_end);

  // Returns the position before which all is removed. Any thread may call it.
  uint64_t first_kept() const { return first_kept_.load(std::memory_order_relaxed); }
  // Returns whether something may lie before `position`, and no removal is under way.
  bool CanBegin(uint64_t position) const;
  // Begins to remove segments and files before `position`. CanBegin() returns true for it, and a segment begins at or
  // after it that no power failure takes away. What cannot be removed is tried again the next time.
  void Begin(uint64_t position);
  // Returns once no removal is under way.
  void Wait();

 private:
  core::Status Remove(uint64_t position);
  void RemoveFilterFiles(uint64_t position);

  DataDirectory& directory_;
  AppendedRecords& appended_;
  const std::function<void()> on_end_;
  std::atomic<uint64_t> first_kept_;  // relaxed: reported on its own, and the job's end is seen after it
  LogJob job_;
};

}  // namespace bitsieve::server
