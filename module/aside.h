// aside.h: commands on large filters, beside the engine's main thread: BF.MERGE, BF.FOLD, BF.ESTIMATE and CF.COMPACT of
// many megabytes. The client is blocked, others go on, also with the same filters.
//
// What reads takes no lock, and runs on the filters. What writes runs on copies, as of the moment when it came, so that
// no filter is locked when the engine forks a child; the copy then takes the filter's place in one step, unless the
// filters have changed meanwhile: then the command runs once more, where the engine waits for it.
//
// Called on the engine's main thread.
#pragma once

#include "module/command_adapter.h"
#include "module/engine_api.h"
#include "module/engine_keyspace.h"

namespace bitsieve::module {

// Whether commands of this row may take long.
bool MayRunAside(const commands::CommandRow& row);

// True if the command was begun, and the client is blocked: nothing more is to be done. False if its filters, which are
// opened in `keyspace`, are small or of a type that it refuses, or if its client can't be blocked: in MULTI, in a
// script, a master, the log.
bool RunAside(engine::Context* context, engine::String** argv, int argc, const ModuleCommand& command,
              const EngineKeyspace& keyspace);

}  // namespace bitsieve::module
