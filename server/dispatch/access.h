// access.h: whether a client may run a command: its user's permissions, as they are now. Confined to the context's
// loop.
#pragma once

#include "server/auth/access_log.h"
#include "server/dispatch/server_context.h"

namespace bitsieve::server {

// The access of a new connection.
void BeginAccess(Session& session, const Users* users);
// Takes note of changes of the users; the session is aborted if its user was removed.
void RenewAccess(Session& session, const Users* users);
// From now on the client is this user.
void SetUser(ServerContext& context, UserPtr user);

// Checks the command in context.arguments and context.row, which fits its arity. Returns true if it may run; otherwise
// writes an error to `error` and notes the refusal. Called only if context.restricted.
bool MayRun(const ServerContext& context, std::string& error);
// How many of the next `count` commands of a batch, prepared alike, name the same filter and may run; the first of them
// is command `first`. Called only if context.restricted.
size_t CountAllowed(const ServerContext& context, const CommandBatch& batch, size_t first, size_t count);

// "User bob has no permissions to run the 'save' command".
std::string ReasonText(const User& user, const Verdict& verdict, const commands::CommandRow& row,
                       commands::Arguments arguments);
// Notes a refusal of the client, for ACL LOG.
void RecordRefusal(const ServerContext& context, AccessRefusal::Reason reason, std::string_view object,
                   std::string_view username);

}  // namespace bitsieve::server
