// redis_cuckoo_decoder.h: reads a RedisCuckoo back, from an image of ours or from RedisBloom's chunks. Thread-safe:
// free functions.
#pragma once

#include "core/filters/filter_factory.h"
#include "core/filters/redis_cuckoo_header.h"

namespace bitsieve::core {

// As FilterDecoder::Open, from the fields of a header of the kind `rediscuckoo`. The body must hold as many items as
// the header says.
Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckoo(std::string_view fields, MemoryBudget& budget);

// From a header of CF.SCANDUMP; the chunks that follow are the body. They may have been read one by one while items
// came and went, so that items are those of the body, whatever the header says. kOutOfMemory if the budget refuses.
Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckooDump(const RedisCuckooHeader& header, MemoryBudget& budget);

}  // namespace bitsieve::core
