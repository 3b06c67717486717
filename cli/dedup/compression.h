// compression.h: compressed output, by libarchive. Each text becomes a stream of its own (a member of gzip, a frame of
// zstd); streams written one after the other are one file to every reader, so that threads can compress at the same
// time. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bitsieve::cli {

enum class Compression : uint8_t { kNone, kGzip, kZstd };

// Returns what the name of a file says: .gz, .zst or .zstd.
Compression CompressionOf(std::string_view path);

// Returns the text as one stream, the same whenever it is called. The error: libarchive cannot.
core::Outcome<std::string> Compressed(std::string_view text, Compression compression);

}  // namespace bitsieve::cli
