// cuckoo_codec.h: the self-describing header of a cuckoo filter's image; docs/formats/filter.md has the bytes.
// Everything decoded is hostile until Decode has checked it. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/families/cuckoo/cuckoo_table.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

struct CuckooRecord {
  CuckooShape shape;
  uint64_t items;  // fingerprints in the table, exactly
};

struct CuckooHeader {
  FilterParams params;
  std::vector<CuckooRecord> tables;  // oldest first, at least one

  ImageSummary Summary() const;
};

// The records of the tables of a chain, oldest first, to bytes and back. Get reads to the end of the fields; kCorrupt
// names what is impossible. It does not check the numbers of items.
void PutCuckooTables(ByteWriter& out, std::span<const CuckooRecord> tables);
Result<std::vector<CuckooRecord>> GetCuckooTables(ByteReader& in, uint32_t bucket_size);

std::string EncodeCuckooHeader(const CuckooHeader& header);
// Decodes a header's fields. kCorrupt names the field.
Result<CuckooHeader> DecodeCuckooHeader(std::string_view fields);

// Opens a decoder as FilterDecoder::Open does, from the fields of a header of type cuckoo.
Result<std::unique_ptr<FilterDecoder>> OpenCuckoo(std::string_view fields, MemoryBudget& budget);
// Makes a filter that reads the body in place, as FilterTypeRow::map does.
Result<std::unique_ptr<Filter>> MapCuckoo(std::string_view fields, std::span<const std::byte> body,
                                          MemoryBudget& budget);

}  // namespace bitsieve::core
