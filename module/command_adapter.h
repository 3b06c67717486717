// command_adapter.h: runs the handlers of filter commands for the engine: arguments, keys and replies from and to what
// handlers know; and what a change means for replicas and the log (replication.h), for clients that watch the key, and
// for listeners. Confined to the engine's main thread.
#pragma once

#include <cstdint>

#include "commands/command.h"
#include "module/engine_api.h"
#include "module/replication.h"

namespace bitsieve::module {

// A row as the module runs it.
struct ModuleCommand {
  const commands::CommandRow* row = nullptr;
  bool writes = false;
  bool is_prepared = false;         // its handler is given the filter, and writes RESP2 and RESP3 alike
  bool may_be_redisblooms = false;  // redisbloom_stream.h
  bool reads_options = false;       // ... also if the filter is there
  bool may_run_aside = false;       // aside.h
  bool passes_over_others = false;  // a key that holds no filter is to it as one that does not exist
  bool has_short_way = false;       // single_add.h
};
ModuleCommand MakeModuleCommand(const commands::CommandRow& row);

int RunCommand(engine::Context* context, engine::String** argv, int argc, const ModuleCommand& command, Origin origin);

// Commands of the replication stream and the log alone.
// BF.MADE key params: an empty filter (replication.h).
int RunMade(engine::Context* context, engine::String** argv, int argc);
// BF.AT key unix_ms command [argument ...]: a command on a window of time, as of this moment.
int RunAt(engine::Context* context, engine::String** argv, int argc);
// BF.CONTENT key number bytes: a piece of a dump (filter_content.h). With the last one the filter is there.
int RunContent(engine::Context* context, engine::String** argv, int argc);

// Since the module was loaded.
const commands::Tally& Totals();

}  // namespace bitsieve::module
