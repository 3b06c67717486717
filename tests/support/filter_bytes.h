// filter_bytes.h: all bytes of a filter, to compare it with another to the last bit. Thread-safe: free functions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "core/filter/filter.h"

namespace bitsieve::test {

struct FilterBytes {
  std::string header;
  std::string body;
  bool operator==(const FilterBytes&) const = default;
};

// Reads the body in pieces of that many bytes.
inline FilterBytes BytesOf(core::FilterImage& image, uint64_t piece = UINT64_MAX) {
  FilterBytes bytes{image.header(), std::string(image.body_bytes(), '\0')};
  const auto body = std::as_writable_bytes(std::span(bytes.body));
  for (uint64_t at = 0; at < body.size(); at += std::min<uint64_t>(piece, body.size() - at)) {
    EXPECT_TRUE(image.Read(at, body.subspan(at, std::min<uint64_t>(piece, body.size() - at))));
  }
  return bytes;
}

inline FilterBytes BytesOf(const core::Filter& filter) { return BytesOf(*filter.Capture()); }

}  // namespace bitsieve::test
