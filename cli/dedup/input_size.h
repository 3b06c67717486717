// input_size.h: how many items files have, estimated from their sizes and their first records, so that a set of the
// right size can be made without reading them twice. Thread-safe: free functions. Errors are for people and name the
// file.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/dedup/block_reader.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// Returns the number of items in all inputs, repeated ones among them; `ngram` as SeenParams has it. Nothing if an
// input is no file, whose size could be known.
core::Outcome<std::optional<uint64_t>> EstimateItems(const InputSettings& settings, uint32_t ngram);

}  // namespace bitsieve::cli
