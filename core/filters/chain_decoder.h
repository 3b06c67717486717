// chain_decoder.h: reads a chain of links back from its image, once its header is decoded. Thread-safe: a free
// function.
#pragma once

#include <memory>

#include "core/filters/filter_factory.h"
#include "core/filters/filter_header.h"

namespace bitsieve::core {

// As FilterDecoder::Open, from a header that was checked.
Result<std::unique_ptr<FilterDecoder>> OpenChain(FilterHeader header, MemoryBudget& budget);

}  // namespace bitsieve::core
