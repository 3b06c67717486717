#include "server/persistence/log/appended_records.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>
#include <variant>

namespace bitsieve::server {
namespace {

// The buffer never grows by less than this beyond what is needed.
constexpr size_t kLeastRoom = 64 << 10;

}  // namespace

AppendedRecords::AppendedRecords(const core::Clock& clock, uint64_t start, std::function<void()> wake_reader,
                                 const std::vector<log::FilterFile>& filter_files)
    : wake_reader_(std::move(wake_reader)),
      age_(clock),
      end_(start),
      filter_files_(filter_files.begin(), filter_files.end()) {}

// ---- room

bool AppendedRecords::Reserve(size_t bytes) noexcept {
  const auto wanted = static_cast<int64_t>(bytes);
  if (free_room_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) [[likely]]
    return true;
  free_room_.fetch_add(wanted, std::memory_order_relaxed);
  return MakeRoom(bytes);
}

void AppendedRecords::Release(size_t bytes) noexcept {
  if (bytes != 0) free_room_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

// Other threads reserve free room at the same time, so the buffer grows by all that is wanted, and then some.
bool AppendedRecords::MakeRoom(size_t bytes) noexcept {
  const core::LockGuard lock(lock_);
  const size_t before = records_.capacity();
  try {
    records_.reserve(std::max(2 * before, before + bytes + kLeastRoom));
  } catch (const std::bad_alloc&) {
    return false;
  }
  free_room_.fetch_add(static_cast<int64_t>(records_.capacity() - before - bytes), std::memory_order_relaxed);
  return true;
}

// ---- appending

template <class Encode>
void AppendedRecords::AppendWith(size_t reserved, const Encode& encode) noexcept {
  size_t used = 0;
  {
    const core::LockGuard lock(lock_);
    const size_t before = records_.size();
    if (before == 0) age_.BeginAppended();
    encode(records_);
    used = records_.size() - before;
    end_.store(end_.load(std::memory_order_relaxed) + used);
  }
  assert(used <= reserved);
  Release(reserved - used);
  WakeReaderIfIdle();
}

void AppendedRecords::WakeReaderIfIdle() noexcept {
  if (reader_is_idle_.load() && reader_is_idle_.exchange(false)) wake_reader_();
}

void AppendedRecords::Append(const core::Change& change, size_t reserved) noexcept {
  AppendWith(reserved, [&](std::string& out) { log::Encode(change, out); });
}

void AppendedRecords::Append(const log::Record& record) {
  Entry entry(*this);
  entry.Add(record);
  entry.Append();
}

void AppendedRecords::Entry::Add(const log::Record& record) {
  if (const auto* image = std::get_if<log::Image>(&record)) filter_files_.push_back({records_.size(), image->file_id});
  log::Encode(record, records_);
  ReserveAll();
}

void AppendedRecords::Entry::ReserveAll() {
  if (!log_.Reserve(records_.size() - reserved_)) throw std::bad_alloc();
  reserved_ = records_.size();
}

void AppendedRecords::Entry::Append() noexcept {
  log_.AppendWith(std::exchange(reserved_, 0), [this](std::string& out) {
    log_.lock_.AssertHeld();
    const uint64_t end = log_.end_.load(std::memory_order_relaxed);
    for (log::FilterFile& file : filter_files_) file.position += end;
    log_.filter_files_.splice(log_.filter_files_.end(), filter_files_);
    out.append(records_);
  });
}

uint64_t AppendedRecords::BeginSegment() {
  std::list<uint64_t> start{0};
  const core::LockGuard lock(lock_);
  start.front() = end_.load(std::memory_order_relaxed);
  segment_starts_.splice(segment_starts_.end(), start);
  return segment_starts_.back();
}

// ---- taking

void AppendedRecords::Take(std::string& records, std::list<uint64_t>& segment_starts) {
  assert(records.empty());
  while (!Swap(records, segment_starts)) records.reserve(Capacity());
}

size_t AppendedRecords::Capacity() noexcept {
  const core::LockGuard lock(lock_);
  return records_.capacity();
}

// Returns false if what is reserved might find no room in the other buffer. Threads that reserve at this moment see the
// room of the smaller one.
bool AppendedRecords::Swap(std::string& records, std::list<uint64_t>& segment_starts) noexcept {
  const core::LockGuard lock(lock_);
  const bool is_smaller = records.capacity() < records_.capacity();
  if (is_smaller && records.capacity() < kLeastBytes) return false;
  const auto more = static_cast<int64_t>(records.capacity() + records_.size() - records_.capacity());
  const int64_t before = free_room_.fetch_add(more, std::memory_order_relaxed);
  if (is_smaller && before + more < 0) {
    free_room_.fetch_sub(more, std::memory_order_relaxed);
    return false;
  }
  records.swap(records_);
  age_.Take();
  segment_starts.splice(segment_starts.end(), segment_starts_);
  return true;
}

// ---- files

std::list<log::FilterFile> AppendedRecords::TakeFilterFilesBefore(uint64_t position) noexcept {
  std::list<log::FilterFile> obsolete;
  const core::LockGuard lock(lock_);
  const auto kept = std::find_if(filter_files_.begin(), filter_files_.end(),
                                 [&](const log::FilterFile& file) { return file.position >= position; });
  obsolete.splice(obsolete.end(), filter_files_, filter_files_.begin(), kept);
  return obsolete;
}

void AppendedRecords::PutBackFilterFiles(std::list<log::FilterFile>& files) noexcept {
  const core::LockGuard lock(lock_);
  filter_files_.splice(filter_files_.begin(), files);
}

}  // namespace bitsieve::server
