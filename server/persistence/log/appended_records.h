// appended_records.h: the records that were appended to the log and that its thread has not taken yet, in memory. A
// thread that changes something appends a record here; the log's thread takes all that has accumulated.
//
//   Reserve ---> the change is made ---> Append ---> Take
//
// Memory      room for a record is reserved before its change is made, so appending it cannot fail, and appending a
//             change allocates nothing. A reservation is one addition to a counter as long as the buffer has room; the
//             buffer grows by doubling, and never has less room than is reserved. It becomes smaller if the reader
//             brings a smaller one.
// Segments    BeginSegment marks the end of the records as the start of a segment: the log's thread takes these starts
//             together with the records.
// Files       the filter files that records of the log refer to, by position, until their records are obsolete.
//
// Thread-safe: any thread may append and reserve. One thread, the log's, calls Take, SetReaderIdle, and the functions
// of age() that are for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/spin_lock.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/log/unwritten_age.h"

namespace bitsieve::server {

class AppendedRecords {
 public:
  // The first record gets the position `start`. `filter_files`: those that records before it refer to. `wake_reader`:
  // see SetReaderIdle. The clock outlives the object.
  AppendedRecords(const core::Clock& clock, uint64_t start, std::function<void()> wake_reader,
                  const std::vector<log::FilterFile>& filter_files = {});

  static constexpr size_t kLeastBytes = 256 << 10;

  class Entry;
  // Appends one record. May throw std::bad_alloc.
  void Append(const log::Record& record);

  // Returns false if memory is refused. What is reserved is either appended or released.
  [[nodiscard]] bool Reserve(size_t bytes) noexcept;
  void Release(size_t bytes) noexcept;
  // Ends a reservation of `reserved` bytes, which are at least log::MaxChangeBytes of the change.
  void Append(const core::Change& change, size_t reserved) noexcept;

  // Returns the position after all that was appended. Sequentially consistent, for SetReaderIdle.
  uint64_t end() const { return end_.load(); }
  // Marks the end as the start of a segment, and returns it. May throw std::bad_alloc.
  uint64_t BeginSegment();

  // Moves all records to `records`, which is empty, and all starts of segments to the end of `segment_starts`. The
  // memory of `records` takes the place of the buffer's, unless it has to grow for that: if it is smaller than
  // kLeastBytes, or than what is reserved. May throw std::bad_alloc, and has moved nothing then.
  void Take(std::string& records, std::list<uint64_t>& segment_starts);
  // Sets whether the reader is about to sleep. The first Append after that calls `wake_reader`, unless end() has shown
  // the reader that record.
  void SetReaderIdle(bool is_idle) { reader_is_idle_.store(is_idle); }
  // Returns the bytes of memory that the buffer takes.
  size_t Capacity() noexcept;
  UnwrittenAge& age() { return age_; }
  const UnwrittenAge& age() const { return age_; }

  // Hands out the files whose records lie before `position`, to be removed. Those that could not be removed are put
  // back, before any others are taken.
  std::list<log::FilterFile> TakeFilterFilesBefore(uint64_t position) noexcept;
  void PutBackFilterFiles(std::list<log::FilterFile>& files) noexcept;

 private:
  template <class Encode>
  void AppendWith(size_t reserved, const Encode& encode) noexcept;
  bool MakeRoom(size_t bytes) noexcept;
  bool Swap(std::string& records, std::list<uint64_t>& segment_starts) noexcept;
  void WakeReaderIfIdle() noexcept;

  const std::function<void()> wake_reader_;
  UnwrittenAge age_;

  // Changed under lock_. Sequentially consistent together with reader_is_idle_: either the reader, about to sleep, sees
  // what was appended, or its appender sees that the reader is idle.
  std::atomic<uint64_t> end_;
  std::atomic<bool> reader_is_idle_{false};
  // Room in records_ beyond what is reserved, or less; below 0 for the moment in which a reservation finds that there
  // is none. Relaxed: lock_ is taken before the room is used, as it was when the room was made.
  std::atomic<int64_t> free_room_{0};

  core::SpinLock lock_;
  std::string records_ BITSIEVE_GUARDED_BY(lock_);
  // Lists, since they are passed on without allocating; ascending.
  std::list<uint64_t> segment_starts_ BITSIEVE_GUARDED_BY(lock_);
  std::list<log::FilterFile> filter_files_ BITSIEVE_GUARDED_BY(lock_);
};

// Records on their way to the log: they are encoded, and room is reserved, before their change is made, so appending
// them cannot fail. A record that is never appended gives its room back. The log outlives it. Thread-compatible.
class AppendedRecords::Entry {
 public:
  explicit Entry(AppendedRecords& log) : log_(log) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() { log_.Release(reserved_); }

  // May throw std::bad_alloc. The file of an Image stays for as long as the record.
  void Add(const log::Record& record);
  // Call at most once.
  void Append() noexcept;

 private:
  void ReserveAll();

  AppendedRecords& log_;
  std::string records_;
  std::list<log::FilterFile> filter_files_;  // at positions from the entry's beginning
  size_t reserved_ = 0;
};

}  // namespace bitsieve::server
