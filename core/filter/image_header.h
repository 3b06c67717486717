// image_header.h: what the header of every filter's image begins and ends with. What is read is hostile until it is
// checked. docs/formats/filter.md has the byte tables. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

// Version 1 knows no lists of hashes. Each image says the oldest version that has what it needs.
inline constexpr uint16_t kFilterFormatVersion = 1;
inline constexpr uint16_t kListFormatVersion = 2;

struct HeaderFrame {
  const FilterTypeRow& type;
  std::string_view fields;  // between the type and the checksum
};
// kCorrupt for damage; kUnsupported for a newer version or an unknown type.
Result<HeaderFrame> OpenHeader(std::string_view bytes);
// Begins a header. SealHeader ends it.
void BeginHeader(std::string& bytes, FilterType type, uint16_t version);
void SealHeader(std::string& bytes);

// Of sub-filters, each with a shape that has a capacity, and with its items.
template <class Parts>
ImageSummary SummaryOfParts(const Parts& parts) {
  ImageSummary summary;
  for (const auto& part : parts) {
    summary.capacity += part.shape.capacity;
    summary.items += part.items;
  }
  return summary;
}

// Of the header of any image; errors as OpenHeader.
Result<ImageSummary> SummarizeImage(std::string_view header);
// kCorrupt: what is wrong with some bytes, such as "dump".
tl::unexpected<Error> Corrupt(std::string_view bytes, std::string_view what);
// Of a "filter header" and of a "filter body".
tl::unexpected<Error> CorruptHeader(std::string_view what);
tl::unexpected<Error> CorruptBody(std::string_view what);

}  // namespace bitsieve::core
