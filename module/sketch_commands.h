// sketch_commands.h: the commands of RedisBloom that change a Count-Min Sketch, a Top-K or a t-digest. The module does
// not carry these types, and knows the names so that no change is lost in silence: a stream of replication goes on past
// commands that an engine does not know, with the link up and the offset right.
//
// - From a client: an error.
// - From a master: the command is counted and logged, and this node is without that key from then on. With
//   bf.for-redisbloom the engine stops instead, before it would acknowledge the command: such a node must not be waited
//   for by WAIT, and not be what FAILOVER promotes.
// - From the append-only file: the engine stops, as it does at each command that it does not know.
//
// On the engine's main thread.
#pragma once

#include <cstdint>

#include "module/engine_api.h"

namespace bitsieve::module {

// False, and the reason logged, if a name is taken.
bool RegisterSketchCommands(engine::Context* context);

// Number of commands of a master that were not carried out.
uint64_t DroppedSketchCommands();

}  // namespace bitsieve::module
