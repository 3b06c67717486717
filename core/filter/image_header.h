// image_header.h: the beginning and the end that the headers of all filter images share. Input is hostile until it is
// checked. docs/formats/filter.md has the byte tables. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/filter_type.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline constexpr uint8_t kImageVersion = 1;

// The record of a filter that denies false positives: their hashes follow the body that the filter has without them.
struct FalsePositivesRecord {
  uint64_t added = 0;   // FalsePositiveList::added
  uint32_t hashes = 0;  // at most FalsePositiveList::kMaxHashes

  uint64_t body_bytes() const { return hashes * sizeof(KeyHash); }
};

struct HeaderFrame {
  const FilterTypeRow& type;
  std::string_view fields;  // between the type and the checksum, or what is in front of that
  std::optional<FalsePositivesRecord> false_positives = {};  // of a filter that has a list of them
};
// kCorrupt for damage; kUnsupported for a newer version or an unknown type.
Result<HeaderFrame> OpenHeader(std::string_view bytes);
// Begins a header. SealHeader ends it.
void BeginHeader(std::string& bytes, FilterType type);
void SealHeader(std::string& bytes);
// Returns the header of the same filter with its false positives.
std::string HeaderWith(const FalsePositivesRecord& false_positives, std::string_view header);

// Summarizes sub-filters, each with a shape that has a capacity, and with its items.
template <class Parts>
ImageSummary SummaryOfParts(const Parts& parts) {
  ImageSummary summary;
  for (const auto& part : parts) {
    summary.capacity += part.shape.capacity;
    summary.items += part.items;
  }
  return summary;
}

// Summarizes an image of any type from its header; errors as OpenHeader.
Result<ImageSummary> SummarizeImage(std::string_view header);
// Returns kCorrupt, which states what is wrong with some bytes, such as "dump".
tl::unexpected<Error> Corrupt(std::string_view bytes, std::string_view what);
// Return the same for the "filter header" and for the "filter body".
tl::unexpected<Error> CorruptHeader(std::string_view what);
tl::unexpected<Error> CorruptBody(std::string_view what);

}  // namespace bitsieve::core
