// command_registration.h: every row of a filter command, and the module's own commands, made known to the engine: name,
// flags, keys, documentation and ACL categories. Once, on the engine's main thread.
#pragma once

#include "module/engine_api.h"

namespace bitsieve::module {

// False, and the reason logged, if a command is taken by another module.
bool RegisterCommands(engine::Context* context);

}  // namespace bitsieve::module
