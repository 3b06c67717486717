// pending_records.h: the records of the log that its thread has taken and that are not durable yet. They stay in memory
// until they are, so that they can be written again, to another segment, if the disk fails. With them are the positions
// at which segments are to begin.
// Confined to the log's thread, except for begin().
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "server/persistence/log/appended_records.h"

namespace bitsieve::server {

class PendingRecords {
 public:
  // The log is durable up to `start`.
  explicit PendingRecords(uint64_t start) : begin_(start) {}

  // Takes all that is appended. May throw std::bad_alloc; nothing is lost then, and the next call continues.
  void Take(AppendedRecords& appended);

  // Returns the position of the first record: up to there the log is durable or, if nothing is to be synced, written.
  // Any thread may call it.
  uint64_t begin() const { return begin_.load(std::memory_order_acquire); }
  uint64_t end() const { return begin_.load(std::memory_order_relaxed) + records_.bytes.size(); }
  size_t bytes() const { return records_.bytes.size(); }
  // Returns the next frame of what lies between two positions that are not equal: whole records, about kFrameBytes of
  // them. A frame ends where a segment is to begin.
  std::string_view FrameAt(uint64_t position, uint64_t end) const;
  // Drops the records before `position`, which are no longer needed.
  void DropBefore(uint64_t position);

  // Returns where the next segment is to begin, if one is.
  std::optional<uint64_t> next_start() const;
  // Drops the starts of segments up to `position`, since a segment begins there.
  void DropStartsUpTo(uint64_t position);
  // Returns `position`, or the start of the next segment if that is lower: records past it will be written again.
  uint64_t UpToNextStart(uint64_t position) const;

  // Returns whether there is more memory than is worth keeping, here or for the appended records.
  bool HasSpareMemory(AppendedRecords& appended) const;
  // Gives back the memory of a burst: of a buffer that was at most a quarter full since the last call. What is appended
  // has two buffers, of which Take brings one here. Called at intervals, it also gives it back while the log is in use.
  void GiveBackMemory() noexcept;

 private:
  // Memory with the most bytes that were in it since it was last looked at.
  struct Buffer {
    std::string bytes;
    size_t most = 0;

    void Fit();
  };

  void SettleTaken();

  // Changed by the log's thread. Its release comes after that of ActiveSegment::written(), so that nobody sees more of
  // the log durable than written.
  std::atomic<uint64_t> begin_;
  Buffer taken_;    // from the appended records; its memory is reused
  Buffer records_;  // from begin_ on
  std::list<uint64_t> segment_starts_;
};

}  // namespace bitsieve::server
