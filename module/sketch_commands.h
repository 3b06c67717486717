// sketch_commands.h: runs the handlers of the commands on sketches for the engine. Replicas and the log get a command
// that changed something as it came; no event of it is published, as in RedisBloom. Confined to the engine's main
// thread.
#pragma once

#include "commands/command.h"
#include "module/engine_api.h"

namespace bitsieve::module {

int RunSketchCommand(engine::Context* context, engine::String** argv, int argc, const commands::CommandRow& row);

}  // namespace bitsieve::module
