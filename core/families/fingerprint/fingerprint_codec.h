// fingerprint_codec.h: the self-describing header of a fingerprint filter's image; docs/formats/filter.md has the
// bytes. Everything decoded is hostile until Decode has checked it. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/families/fingerprint/fingerprint_table.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

// Each table has at least a quarter of the capacity of all those before it, so a table becomes too large before a chain
// has this many.
inline constexpr uint32_t kMaxFingerprintTables = 256;

struct FingerprintRecord {
  FingerprintShape shape;
  uint64_t items;  // that were added
  uint64_t taken;  // slots, exactly
};

struct FingerprintHeader {
  FilterParams params;
  std::vector<FingerprintRecord> tables;  // oldest first, at least one

  ImageSummary Summary() const;
};

std::string EncodeFingerprintHeader(const FingerprintHeader& header);
// Decodes a header's fields. kCorrupt names the field.
Result<FingerprintHeader> DecodeFingerprintHeader(std::string_view fields);

// Opens a decoder as FilterDecoder::Open does, from the fields of a header of type fingerprint.
Result<std::unique_ptr<FilterDecoder>> OpenFingerprint(std::string_view fields, MemoryBudget& budget);
// Makes a filter that reads the body in place, as FilterTypeRow::map does.
Result<std::unique_ptr<Filter>> MapFingerprint(std::string_view fields, std::span<const std::byte> body,
                                               MemoryBudget& budget);

}  // namespace bitsieve::core
