// bloom_info.h: BF.INFO. Thread-safe: a free function.
#pragma once

#include "server/commands/command.h"

namespace bitsieve::server {

// All fields that the filter's kind has: RedisBloom's five first and in their order, then our own. One field, chosen by
// its word: a one-element array under RESP2, a map of one under RESP3.
void BloomInfo(CommandContext& context);

}  // namespace bitsieve::server
