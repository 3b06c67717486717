#include "core/filter/dump_check.h"

#include <algorithm>
#include <cstring>

#include "core/filter/filter_dump.h"

namespace bitsieve::core {
namespace {

// docs/formats/dump.md: magic, version, zeros, the lengths of header and body.
constexpr size_t kHeadBytes = 20;
constexpr size_t kHeaderBytesAt = 8, kBodyBytesAt = 12;
constexpr uint64_t kMaxBytes = uint64_t{1} << 60;

template <class T>
T NumberAt(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

// Returns the bytes after the head.
std::string_view DumpCheck::TakeHead(std::string_view bytes) {
  if (position_ >= kHeadBytes) return bytes;
  const std::string_view taken = bytes.substr(0, kHeadBytes - position_);
  head_ += taken;
  position_ += taken.size();
  if (position_ == kHeadBytes && IsFilterDump(head_)) {
    const uint64_t body = NumberAt<uint64_t>(head_, kBodyBytesAt);
    if (body < kMaxBytes) {
      total_bytes_ = kHeadBytes + NumberAt<uint32_t>(head_, kHeaderBytesAt) + body + kChecksumBytes;
      checksum_.Add(head_);
    }
  }
  return bytes.substr(taken.size());
}

void DumpCheck::Add(std::string_view bytes) {
  bytes = TakeHead(bytes);
  if (total_bytes_ == 0 || bytes.empty()) return;
  const uint64_t tail_at = total_bytes_ - kChecksumBytes;
  const std::string_view checked = bytes.substr(0, tail_at - std::min(tail_at, position_));
  checksum_.Add(checked);
  position_ += checked.size();
  bytes.remove_prefix(checked.size());
  const std::string_view tail = bytes.substr(0, kChecksumBytes - tail_.size());
  tail_ += tail;
  position_ += tail.size();
  bytes.remove_prefix(tail.size());
  extra_bytes_ += bytes.size();
  if (!bytes.empty()) last_ = bytes.back();
}

std::string DumpCheck::Problem() const {
  if (total_bytes_ == 0) return "is not a dump of a filter, which begins with BSFD and the lengths of its parts";
  if (position_ < total_bytes_) {
    return "ends after " + std::to_string(position_) + " of " + std::to_string(total_bytes_) + " bytes";
  }
  if (NumberAt<uint64_t>(tail_, 0) != checksum_.Value()) return "is damaged: it fails its checksum";
  if (extra_bytes_ == 0 || has_newline()) return "";
  return "has " + std::to_string(extra_bytes_) + " bytes after the end of the dump";
}

}  // namespace bitsieve::core
