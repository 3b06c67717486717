// The side of LogWriter that appends: what other threads than its own call.
#include <algorithm>
#include <cassert>
#include <new>
#include <utility>
#include <variant>

#include "server/persistence/log/log_writer.h"

namespace bitsieve::server {
namespace {

// The buffer that is appended to never grows by less than this beyond what is needed.
constexpr size_t kLeastRoom = 64 << 10;

}  // namespace

bool LogWriter::Reserve(size_t bytes) noexcept {
  const auto wanted = static_cast<int64_t>(bytes);
  if (free_room_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) [[likely]]
    return true;
  free_room_.fetch_add(wanted, std::memory_order_relaxed);
  return MakeRoom(bytes);
}

void LogWriter::Release(size_t bytes) noexcept {
  if (bytes != 0) free_room_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

// Other threads reserve free room at the same time, so the buffer grows by all that is wanted, and then some.
bool LogWriter::MakeRoom(size_t bytes) noexcept {
  const core::LockGuard lock(append_lock_);
  const size_t before = appended_.capacity();
  try {
    appended_.reserve(std::max(2 * before, before + bytes + kLeastRoom));
  } catch (const std::bad_alloc&) {
    return false;
  }
  free_room_.fetch_add(static_cast<int64_t>(appended_.capacity() - before - bytes), std::memory_order_relaxed);
  return true;
}

template <class Encode>
void LogWriter::AppendWith(size_t reserved, const Encode& encode) noexcept {
  size_t used = 0;
  {
    const core::LockGuard lock(append_lock_);
    const size_t before = appended_.size();
    if (before == 0) appended_since_ms_.store(clock_.MonotonicMs(), std::memory_order_relaxed);
    encode(appended_);
    used = appended_.size() - before;
    end_.store(end_.load(std::memory_order_relaxed) + used);
  }
  assert(used <= reserved);
  Release(reserved - used);
  WakeIfIdle();
}

void LogWriter::Append(const core::Change& change, size_t reserved) noexcept {
  AppendWith(reserved, [&](std::string& out) { log::Encode(change, out); });
}

void LogWriter::Append(const log::Record& record) {
  Entry entry(*this);
  entry.Add(record);
  entry.Append();
}

void LogWriter::Entry::Add(const log::Record& record) {
  if (const auto* image = std::get_if<log::Image>(&record)) image_files_.push_back({records_.size(), image->file_id});
  log::Encode(record, records_);
  ReserveAll();
}

void LogWriter::Entry::ReserveAll() {
  if (!log_.Reserve(records_.size() - reserved_)) throw std::bad_alloc();
  reserved_ = records_.size();
}

void LogWriter::Entry::Append() noexcept {
  log_.AppendWith(std::exchange(reserved_, 0), [this](std::string& out) {
    log_.append_lock_.AssertHeld();
    const uint64_t end = log_.end_.load(std::memory_order_relaxed);
    for (LogImageFile& file : image_files_) file.position += end;
    log_.image_files_.splice(log_.image_files_.end(), image_files_);
    out.append(records_);
  });
}

uint64_t LogWriter::BeginSegment() {
  std::list<uint64_t> cut{0};
  const core::LockGuard lock(append_lock_);
  cut.front() = end_.load(std::memory_order_relaxed);
  cuts_.splice(cuts_.end(), cut);
  return cuts_.back();
}

}  // namespace bitsieve::server
