// replication.h: what replicas and the log get of a command that changed something, read off its row. Filters here and
// there are then equal in every byte, regardless of the other side's defaults, limits and clock.
//
// | what happened                       | what is sent                                                        |
// |---|---|
// | nothing changed                     | nothing                                                             |
// | an empty filter was created         | BF.MADE with all parameters and the seed, then the command, unless  |
// |                                     | creating was all it did                                             |
// | the filter changed                  | the command                                                         |
// | a window of time changed            | BF.AT with the time, and the command                                |
// | the last chunk of a filter arrived  | the whole filter (filter_content.h); of earlier chunks nothing      |
//
// Several commands go out as one transaction. With for-redisbloom, BF.RESERVE or CF.RESERVE takes the place of BF.MADE,
// for the types that RedisBloom has. On the engine's main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "commands/command.h"
#include "core/filter/filter_params.h"
#include "module/engine_api.h"

namespace bitsieve::module {

// The caller of a command's handler.
enum class Origin : uint8_t {
  kEngine,  // the engine, for a client, a master or the log
  kAside,   // a thread of the module, for a client that is blocked: the engine does not have the command any more
};

// A command that changed the filter of its first key.
struct Executed {
  engine::Context* context;
  engine::String** argv;
  int argc;
  const commands::CommandRow& row;
  engine::String* key;
  const core::Filter& filter;  // as it is now
  bool created;                // an empty filter, before the rest was done
  Origin origin;
  uint64_t at_ms;  // of a window of time: when it was changed; else 0
};
void Replicate(const Executed& executed);

}  // namespace bitsieve::module
