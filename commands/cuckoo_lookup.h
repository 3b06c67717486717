// cuckoo_lookup.h: the filters that CF.* works on, of type rediscuckoo only. Confined to the context's loop.
#pragma once

#include <memory>
#include <string_view>

#include "commands/command.h"
#include "core/families/redisbloom/redis_cuckoo.h"

namespace bitsieve::commands {

// Returns null if `filter` is null or of another type.
core::RedisCuckoo* AsCuckoo(core::Filter* filter);

// Returns the filter named by argument 1; null, after replying the error, if there is none or it is of another type.
core::RedisCuckoo* FindCuckoo(CommandContext& context, std::string_view missing, std::string_view of_other_kind);

// Null, and an error replied, if there is no memory for it.
FilterPtr MakeCuckoo(CommandContext& context, const core::FilterParams& params);

// Publishes the filter under argument 1. Returns the filter under the name then, which another client may have created
// first. Null, and an error replied, if there is no memory for the name, or no space on the disk for the filter.
FilterPtr PublishCuckoo(CommandContext& context, FilterPtr cuckoo);

// To be called after a removal from `filter`, named by argument 1. If a compaction is due that takes long, a worker
// does it; where there are no workers it is done here, by the same command as in RedisBloom.
void CompactIfDue(CommandContext& context, core::Filter& filter);

// Opens a header of CF.LOADCHUNK for the name of argument 1. Null, and an error replied, if it is refused, or if there
// is no memory for the filter.
std::unique_ptr<core::FilterDecoder> OpenCuckooHeader(CommandContext& context, std::string_view header);

// Returns the error for a name that is taken, by a cuckoo filter or by another.
std::string_view TakenBy(const FilterPtr& there);

}  // namespace bitsieve::commands
