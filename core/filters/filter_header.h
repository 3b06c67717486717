// filter_header.h: the header of a filter's image: its parameters and the shape of each link, as bytes and back. What
// is read is checked field by field; nothing is allocated on its word. docs/formats/filter.md has the byte tables.
// Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/filters/filter_params.h"
#include "core/filters/link.h"

namespace bitsieve::core {

inline constexpr uint16_t kFilterFormatVersion = 1;
inline constexpr uint32_t kMaxLinks = 4096;

// What the header of every kind begins and ends with.
struct HeaderFrame {
  FilterKind kind;          // a known one
  std::string_view fields;  // between the kind and the checksum
};
// kCorrupt for damage; kUnsupported for a newer version or an unknown kind.
Result<HeaderFrame> OpenHeader(std::string_view bytes);
// Begins a header. SealHeader ends it.
void BeginHeader(std::string& bytes, FilterKind kind);
void SealHeader(std::string& bytes);

// The parameters that every kind which may grow has, to bytes and back; Validate then says whether they are possible.
void PutParams(std::string& bytes, const FilterParams& params);
FilterParams GetParams(ByteReader& in, FilterKind kind);

struct LinkRecord {
  LinkShape shape;
  uint64_t items;
};

struct FilterHeader {
  FilterParams params;
  std::vector<LinkRecord> links;  // oldest first, at least one
};

std::string EncodeFilterHeader(const FilterParams& params, const std::vector<LinkRecord>& links);
// kCorrupt names the field; kUnsupported for a newer version or an unknown kind.
Result<FilterHeader> DecodeFilterHeader(std::string_view bytes);

}  // namespace bitsieve::core
