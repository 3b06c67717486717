// ribbon_decoder.h: a ribbon filter being read back from its image, in either state. See FilterDecoder.
#pragma once

#include "core/filters/filter_factory.h"

namespace bitsieve::core {

// From the fields of a header.
Result<std::unique_ptr<FilterDecoder>> OpenRibbon(std::string_view fields, MemoryBudget& budget);

}  // namespace bitsieve::core
