// log_checksums.h: puts right checksums into the bytes of a log segment, as an attacker would: fuzzing finds none by
// itself. Thread-safe: a free function.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "server/persistence/log/log_segment.h"

namespace bitsieve::test {

// Those of the head, and of each frame as far as the lengths make sense.
inline void PutLogChecksums(std::string& segment) {
  constexpr size_t kChecksumBytes = sizeof(uint64_t);
  constexpr size_t kFields = server::kLogFrameHeadBytes - kChecksumBytes;  // of a frame's head
  if (segment.size() < server::kLogHeadBytes) return;
  const auto put = [&](size_t at, std::string_view bytes) {
    const uint64_t checksum = core::Checksum(bytes);
    std::memcpy(segment.data() + at, &checksum, sizeof checksum);
  };
  const size_t head_fields = server::kLogHeadBytes - kChecksumBytes;
  put(head_fields, std::string_view(segment).substr(0, head_fields));
  const std::string salt = segment.substr(head_fields - sizeof(uint64_t), sizeof(uint64_t));
  for (size_t at = server::kLogHeadBytes; segment.size() - at >= server::kLogFrameHeadBytes;) {
    const auto bytes = core::ByteReader(std::string_view(segment).substr(at)).Get<uint32_t>();
    const size_t records = at + server::kLogFrameHeadBytes;
    put(at + kFields - kChecksumBytes, std::string_view(segment).substr(records, bytes));
    put(at + kFields, segment.substr(at, kFields) + salt);
    at = records + std::min<size_t>(bytes, segment.size() - records);
  }
}

}  // namespace bitsieve::test
