// transaction.h: the state of MULTI in a session. Confined to the session's loop.
#pragma once

#include "server/dispatch/server_context.h"
#include "server/session/session.h"

namespace bitsieve::server {

// Commands are queued from now on.
void BeginTransaction(Session& session);
// Keeps the command that runs now in the queue, with its arguments; false if that would exceed max_queued_bytes.
bool QueueCommand(ServerContext& context);
// EXEC will refuse; what was queued is let go at once.
void FailTransaction(Session& session);
// Runs what is left of session.executing, up to a command whose reply comes later, that must wait, or as many as may
// run at once: then context.outcome.wait says so, and it is to be called again.
void ContinueExecution(ServerContext& context);
// Ends MULTI as if there had been none: drops the queue and the watched names.
void EndTransaction(Session& session);

}  // namespace bitsieve::server
