// ribbon_codec.h: the self-describing header of a ribbon filter's image, while it collects and when it is frozen;
// docs/formats/filter.md has the bytes. Everything decoded is hostile until Decode has checked it. Thread-safe: free
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

// The most items of any ribbon filter: among this many hashes of 64 bits, fewer than 1e-9 of all collide by chance.
inline constexpr uint64_t kMaxRibbonItems = uint64_t{1} << 32;
inline constexpr uint64_t kRibbonShardItems = 65536;

// The shape of a frozen filter.
struct RibbonShape {
  uint32_t columns = 0;  // of the items before a shard's split; after it, one more
  uint64_t shards = 0;
  uint64_t words = 0;  // of 64 bits, in all; whole lines

  uint64_t SizeBytes() const { return words * sizeof(uint64_t); }
};

struct RibbonHeader {
  FilterParams params;
  bool frozen = false;
  uint64_t items = 0;
  RibbonShape shape = {};  // if frozen

  ImageSummary Summary() const { return {.capacity = params.capacity, .items = items}; }
  uint64_t body_bytes() const { return frozen ? shape.SizeBytes() : items * sizeof(uint64_t); }
};

std::string EncodeRibbonHeader(const RibbonHeader& header);
// Decodes a header's fields. kCorrupt names the field.
Result<RibbonHeader> DecodeRibbonHeader(std::string_view fields);

// Opens a decoder from the fields of a header.
Result<std::unique_ptr<FilterDecoder>> OpenRibbon(std::string_view fields, MemoryBudget& budget);
// Makes a filter that reads the body in place, as FilterTypeRow::map does. kUnsupported if it is not frozen.
Result<std::unique_ptr<Filter>> MapRibbon(std::string_view fields, std::span<const std::byte> body,
                                          MemoryBudget& budget);

}  // namespace bitsieve::core
