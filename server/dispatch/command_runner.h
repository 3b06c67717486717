// command_runner.h: one command, from arguments to reply: admission, then its handler. Confined to the context's loop.
#pragma once

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

// Whether the command in context.arguments and context.row must not run yet: clients are paused, it would change a
// filter of which too much waits for the disk, or too many events wait for subscribers. Called only if
// context.may_wait, before RunCommand(); if true, the dispatcher postpones the command.
bool MustWait(const ServerContext& context);

// Runs the command in context.arguments and context.row (null: unknown), or replies why it may not run. Between MULTI
// and EXEC it is queued instead.
void RunCommand(ServerContext& context);

}  // namespace bitsieve::server
