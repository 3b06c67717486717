// transaction.h: the state of MULTI in a session. Confined to the session's loop.
#pragma once

#include "server/commands/command.h"
#include "server/commands/command_settings.h"
#include "server/commands/session.h"

namespace bitsieve::server {

// Copies a command into the queue; false if that would exceed settings.max_queued_bytes.
bool QueueCommand(Session& session, Arguments arguments, const CommandSettings& settings);
// EXEC will refuse; what was queued is let go at once.
void FailTransaction(Session& session);
// Runs what is left of session.executing, up to a command whose reply comes later, or up to as many as may run at once:
// then context.deferred is set, and it is to be called again.
void ContinueExecution(CommandContext& context);
// As if there had been no MULTI.
void EndTransaction(Session& session);

}  // namespace bitsieve::server
