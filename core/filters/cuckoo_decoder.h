// cuckoo_decoder.h: reads a cuckoo filter back from its image. Thread-safe: a free function.
#pragma once

#include "core/filters/filter_factory.h"

namespace bitsieve::core {

// As FilterDecoder::Open, from the fields of a header of the kind `cuckoo`.
Result<std::unique_ptr<FilterDecoder>> OpenCuckoo(std::string_view fields, MemoryBudget& budget);

}  // namespace bitsieve::core
