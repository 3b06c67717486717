// chain_codec.h: the image of a chain of Bloom filters: its header, which has the parameters and the shape of each
// sub-filter, as bytes and back, and a decoder of the whole image. What is read is checked field by field; nothing is
// allocated on its word. docs/formats/filter.md has the byte tables. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/families/bloom/sub_filter.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {

inline constexpr uint32_t kMaxSubFilters = 4096;

struct ChainHeader {
  const ChainType& type;
  FilterParams params;
  std::vector<SubFilterRecord> sub_filters = {};  // oldest first
  std::vector<KeyHash> hashes = {};               // of its items, if it has no sub-filters

  ImageSummary Summary() const;
};

std::string EncodeChainHeader(const FilterParams& params, const std::vector<SubFilterRecord>& sub_filters);
// Encodes the header of a filter without sub-filters.
std::string EncodeListHeader(const FilterParams& params, std::span<const KeyHash> hashes);
// Decodes a header's fields. kCorrupt names the field.
Result<ChainHeader> DecodeChainHeader(std::string_view fields, const ChainType& type);

// Opens a decoder as FilterDecoder::Open does, from a header that was checked.
Result<std::unique_ptr<FilterDecoder>> OpenChain(ChainHeader header, MemoryBudget& budget);
// Makes a filter that reads the body in place, as FilterTypeRow::map does.
Result<std::unique_ptr<Filter>> MapChain(const ChainHeader& header, std::span<const std::byte> body,
                                         MemoryBudget& budget);

}  // namespace bitsieve::core
