// bloom_info.h: BF.INFO. Thread-safe: a free function.
#pragma once

#include "commands/command.h"

namespace bitsieve::commands {

// RedisBloom's five fields, whatever the filter type: clients of RedisBloom expect these and no more. With FULL, our
// own follow. One field, chosen by its word: a one-element array under RESP2, a map of one under RESP3.
void BloomInfo(CommandContext& context);

}  // namespace bitsieve::commands
