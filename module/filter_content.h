// filter_content.h: a whole filter as pieces of bounded size: for values, for the log and for replicas. What another
// process reads is made here. On the engine's main thread and in its forked children.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/filter/filter.h"

namespace bitsieve::module {

// Calls write(piece) for each piece of the filter's dump, in order. Stops early without memory.
void ForEachPiece(const core::Filter& filter, const std::function<void(std::string_view piece)>& write);

// Calls emit(command, cursor, bytes) for each command, in order, that together make this filter under a free name:
// RedisBloom's own BF.LOADCHUNK and CF.LOADCHUNK for its types, so that RedisBloom can follow; else BF.CONTENT, which
// RedisBloom lacks: it stops at it, instead of going on without the filter.
using EmitContent = std::function<void(const char* command, int64_t cursor, std::string_view bytes)>;
void ForEachContentCommand(const core::Filter& filter, const EmitContent& emit);

}  // namespace bitsieve::module
