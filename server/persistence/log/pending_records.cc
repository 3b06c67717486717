#include "server/persistence/log/pending_records.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "server/persistence/log/log_segment.h"

namespace bitsieve::server {
namespace {

constexpr size_t kKeptBytes = 1 << 20;  // of memory

// Returns how many of these bytes, which begin with a record and end with one, are whole records of about kFrameBytes.
size_t FrameOf(std::string_view records) {
  if (records.size() <= kFrameBytes) return records.size();
  size_t bytes = 0;
  while (bytes < kFrameBytes) {
    uint32_t length;
    std::memcpy(&length, records.data() + bytes, sizeof length);
    bytes += sizeof length + length;
  }
  return bytes;
}

}  // namespace

// Swaps the buffer of what is appended with taken_, which stay small, and copies to records_, which is large and is not
// swapped: otherwise each of the three would grow large in turn, and touching fresh memory costs more than the copy.
void PendingRecords::Take(AppendedRecords& appended) {
  SettleTaken();  // what there was no memory for the last time
  appended.Take(taken_.bytes, segment_starts_);
  SettleTaken();
}

void PendingRecords::SettleTaken() {
  taken_.most = std::max(taken_.most, taken_.bytes.size());
  records_.bytes.append(taken_.bytes);
  records_.most = std::max(records_.most, records_.bytes.size());
  taken_.bytes.clear();
}

std::string_view PendingRecords::FrameAt(uint64_t position, uint64_t end) const {
  const auto start =
      std::find_if(segment_starts_.begin(), segment_starts_.end(), [&](uint64_t each) { return each > position; });
  const uint64_t limit = start == segment_starts_.end() ? end : std::min(end, *start);
  const uint64_t begin = begin_.load(std::memory_order_relaxed);
  const std::string_view rest = std::string_view(records_.bytes).substr(position - begin, limit - position);
  return rest.substr(0, FrameOf(rest));
}

void PendingRecords::DropBefore(uint64_t position) {
  const uint64_t begin = begin_.load(std::memory_order_relaxed);
  if (position <= begin) return;
  records_.bytes.erase(0, position - begin);
  begin_.store(position, std::memory_order_release);
}

std::optional<uint64_t> PendingRecords::next_start() const {
  return segment_starts_.empty() ? std::nullopt : std::optional(segment_starts_.front());
}

void PendingRecords::DropStartsUpTo(uint64_t position) {
  while (!segment_starts_.empty() && segment_starts_.front() <= position) segment_starts_.pop_front();
}

uint64_t PendingRecords::UpToNextStart(uint64_t position) const {
  return segment_starts_.empty() ? position : std::min(position, segment_starts_.front());
}

bool PendingRecords::HasSpareMemory(AppendedRecords& appended) const {
  return std::max({records_.bytes.capacity(), taken_.bytes.capacity(), appended.Capacity()}) > kKeptBytes;
}

void PendingRecords::Buffer::Fit() {
  const size_t needed = std::exchange(most, bytes.size());
  if (bytes.capacity() <= kKeptBytes || needed > bytes.capacity() / 4) return;
  std::string smaller;
  smaller.reserve(std::max(2 * needed, AppendedRecords::kLeastBytes));
  smaller.append(bytes);
  bytes.swap(smaller);
}

void PendingRecords::GiveBackMemory() noexcept {
  try {
    taken_.Fit();
    records_.Fit();
  } catch (const std::bad_alloc&) {
    return;  // a later call tries again
  }
}

}  // namespace bitsieve::server
