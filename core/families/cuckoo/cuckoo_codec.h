// cuckoo_codec.h: the self-describing header of a cuckoo filter's image; docs/formats/filter.md has the bytes.
// Everything decoded is hostile until Decode has checked it. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/families/cuckoo/cuckoo_table.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

// Each table has at least a quarter of the capacity of all those before it, so a table becomes too large before a chain
// has this many.
inline constexpr uint32_t kMaxCuckooTables = 256;

struct CuckooRecord {
  CuckooShape shape;
  uint64_t items;  // fingerprints in the table, exactly
};

struct CuckooHeader {
  FilterParams params;
  std::vector<CuckooRecord> tables;  // oldest first, at least one

  ImageSummary Summary() const;
};

std::string EncodeCuckooHeader(const CuckooHeader& header);
// Decodes a header's fields. kCorrupt names the field.
Result<CuckooHeader> DecodeCuckooHeader(std::string_view fields);

// Opens a decoder as FilterDecoder::Open does, from the fields of a header of type cuckoo.
Result<std::unique_ptr<FilterDecoder>> OpenCuckoo(std::string_view fields, MemoryBudget& budget);
// Makes a filter that reads the body in place, as FilterTypeRow::map does.
Result<std::unique_ptr<Filter>> MapCuckoo(std::string_view fields, std::span<const std::byte> body,
                                          MemoryBudget& budget);

}  // namespace bitsieve::core
