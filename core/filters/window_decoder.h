// window_decoder.h: reads a window back from its image. Thread-safe: a free function.
#pragma once

#include "core/filters/filter_factory.h"

namespace bitsieve::core {

// As FilterDecoder::Open, from the fields of a header of the kind `window`.
Result<std::unique_ptr<FilterDecoder>> OpenWindow(std::string_view fields, MemoryBudget& budget, const Clock& clock);

}  // namespace bitsieve::core
