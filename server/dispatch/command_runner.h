// command_runner.h: one command, from arguments to reply: admission, then its handler. Confined to the context's loop.
#pragma once

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

// When there are so many bytes of replies, they leave before further commands run.
inline constexpr size_t kTurnBytes = 256 * 1024;

// Whether the command that context.arguments and context.row tell of must not run yet: clients are paused, or it would
// change a filter of which too much waits for the disk. It is asked only if context.may_wait, before RunCommand(); the
// dispatcher then postpones the command.
bool MustWait(const ServerContext& context);

// Runs the command that context.arguments and context.row (null: unknown) tell of, or replies why it may not run.
// Between MULTI and EXEC it is queued instead.
void RunCommand(ServerContext& context);

}  // namespace bitsieve::server
