// redisbloom_stream.h: commands from a master or the log that RedisBloom may have accepted. Whatever a master has done
// is done here, too: a refused command would be a lost item. So they are read as leniently as RedisBloom reads them:
//
// - BF.RESERVE, and BF.ADD, BF.MADD and BF.INSERT to a free name, make a filter of type redisbloom, whatever
//   default-type is here: a Bitsieve master sends BF.MADE ahead of them.
// - Options that are not known are ignored, in BF.RESERVE and CF.RESERVE; those of BF.INSERT and CF.INSERT may be
//   abbreviated, as RedisBloom has it; and the ranges are as wide as a filter can have.
// - BF.LOADCHUNK and CF.LOADCHUNK make a filter of the header, empty, and write each chunk into the filter that is
//   there. Those of a client do the same, with RedisBloom's errors.
//
// On the engine's main thread.
#pragma once

#include <string_view>
#include <vector>

#include "commands/command.h"
#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"
#include "module/engine_api.h"

namespace bitsieve::module {

// Whether the command of this row is one of those.
bool MayBeRedisBlooms(const commands::CommandRow& row);

// True if the command, which comes from a master or the log, was run: the reply is written. False if its row's handler
// is to run, which may be another one now, with other arguments in `storage`.
bool RunAsRedisBloom(commands::CommandContext& context, std::vector<std::string_view>& storage);

// BF.LOADCHUNK and CF.LOADCHUNK, if the chunk has RedisBloom's form: true, and the reply is written. `counts` is what
// is required of the item counts of a header. False if the row's handler is to run: the chunk is one of Bitsieve's own
// dump, or of no filter.
bool WriteRedisBloomChunk(commands::CommandContext& context, core::ItemCounts counts);

// Sends replicas the command by which RedisBloom makes an empty filter with these parameters. False, and nothing sent,
// if RedisBloom has no filters of this type.
bool ReplicateReserve(engine::Context* context, engine::String* key, const core::FilterParams& params);

}  // namespace bitsieve::module
