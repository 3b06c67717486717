// byte_range.h: the part of a body that a Range header asks for. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bitsieve::server {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // excluded

  uint64_t bytes() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

// Returns the range of a header such as "bytes=0-99", "bytes=100-" or "bytes=-100" in a body of `total` bytes; one of
// no bytes if the body has none of these. Returns nothing for any other text, which a server may ignore.
std::optional<ByteRange> ParseByteRange(std::string_view text, uint64_t total);

}  // namespace bitsieve::server
