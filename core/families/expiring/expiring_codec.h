// expiring_codec.h: the self-describing header of the image of a filter whose items expire; docs/formats/filter.md has
// the bytes. Everything decoded is hostile until Decode has checked it. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/families/cuckoo/cuckoo_codec.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

struct ExpiringHeader {
  FilterParams params;
  uint64_t newest_ms = 0;            // the time of the latest change
  std::vector<CuckooRecord> tables;  // oldest first, at least one; their items are those alive at that time

  ImageSummary Summary() const { return SummaryOfParts(tables); }
};

std::string EncodeExpiringHeader(const ExpiringHeader& header);
// Decodes a header's fields. kCorrupt names the field.
Result<ExpiringHeader> DecodeExpiringHeader(std::string_view fields);

// Opens a decoder as FilterDecoder::Open does, from the fields of a header of type expiring.
Result<std::unique_ptr<FilterDecoder>> OpenExpiring(std::string_view fields, MemoryBudget& budget, const Clock& clock);

}  // namespace bitsieve::core
