// dump_checksums.h: writes correct checksums into the bytes of a dump, as an attacker would: fuzzing does not find them
// by itself. Thread-safe: a free function.
#pragma once

#include <cstring>
#include <string>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace bitsieve::test {

// Sets the checksums of the image's header and of the whole dump, as far as the lengths in the head make sense.
inline void PutDumpChecksums(std::string& dump) {
  constexpr size_t kHeadBytes = 20;
  constexpr size_t kChecksumBytes = sizeof(uint64_t);
  constexpr size_t kHeaderLengthAt = 8;
  if (dump.size() < kHeadBytes + kChecksumBytes) return;
  const auto put = [&](size_t from, size_t at) {
    const uint64_t checksum = core::Checksum(std::string_view(dump).substr(from, at - from));
    std::memcpy(dump.data() + at, &checksum, sizeof checksum);
  };
  const auto header_bytes = core::ByteReader(std::string_view(dump).substr(kHeaderLengthAt)).Get<uint32_t>();
  if (header_bytes >= kChecksumBytes && header_bytes <= dump.size() - kHeadBytes - kChecksumBytes) {
    put(kHeadBytes, kHeadBytes + header_bytes - kChecksumBytes);
  }
  put(0, dump.size() - kChecksumBytes);
}

}  // namespace bitsieve::test
