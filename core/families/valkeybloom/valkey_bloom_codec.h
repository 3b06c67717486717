// valkey_bloom_codec.h: filters of valkey-bloom from the fields of its values and back, and what its BF.LOAD takes.
// Everything in them is hostile: no memory is taken before the bytes are known to be there. The layouts are on
// docs/filters/valkeybloom.md. Free functions are thread-safe; a builder is confined to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/families/bloom/chain_codec.h"
#include "core/families/bloom/sub_filter.h"
#include "core/filter/filter.h"

namespace bitsieve::core {

// The fields that precede the sub-filters.
struct ValkeyBloomFields {
  uint64_t sub_filters = 0;
  uint64_t expansion = 0;  // 0: it does not grow
  double error_rate = 0;   // of the first sub-filter
  double tightening_ratio = 0;
  bool is_seed_random = false;
};

// Builds a filter of type valkeybloom from its sub-filters, the oldest first.
class ValkeyBloomBuilder {
 public:
  explicit ValkeyBloomBuilder(MemoryBudget& budget) : budget_(budget) {}

  // Begins with the fields. kInvalidArgument if the rate or the ratio is not in (0, 1); else kCorrupt.
  Status Begin(const ValkeyBloomFields& fields);
  // Adds a sub-filter. The slice is its bits with what valkey-bloom puts before them. A sub-filter that does not state
  // its items is full: each item has set a bit at least. kCorrupt or kOutOfMemory.
  Status Add(uint64_t capacity, std::optional<uint64_t> stated_items, std::string_view slice);
  // Returns the filter; kCorrupt if sub-filters are missing.
  Result<std::unique_ptr<Filter>> Finish();

 private:
  MemoryBudget& budget_;
  ValkeyBloomFields fields_;
  FilterParams params_;
  uint64_t hash_functions_ = 0;  // of all sub-filters
  std::vector<std::unique_ptr<SubFilter>> sub_filters_;
};

// Returns the slice of a sub-filter of a filter with these parameters.
std::string ValkeySliceOf(const SubFilter& sub_filter, const FilterParams& params);
// Returns the fields of a filter of the type valkeybloom.
ValkeyBloomFields ValkeyFieldsOf(const Filter& filter);
// Returns its sub-filters, the oldest first.
std::vector<const SubFilter*> ValkeySubFiltersOf(const Filter& filter);

// Returns the filter of a payload of BF.LOAD. kUnsupported for another version; else as the builder.
Result<std::unique_ptr<Filter>> DecodeValkeyLoad(std::string_view payload, MemoryBudget& budget);

// Decodes the header of an image of the type, as DecodeChainHeader.
Result<ChainHeader> DecodeValkeyChainHeader(std::string_view fields);

}  // namespace bitsieve::core
