#include "server/dispatch/access.h"

#include <utility>

#include "server/auth/access_log.h"
#include "server/dispatch/wire_errors.h"
#include "server/session/client_description.h"

namespace bitsieve::server {

using namespace commands;

namespace {

AccessRefusal::Reason ReasonOf(const Verdict& verdict) {
  using Reason = AccessRefusal::Reason;
  switch (verdict.reason) {
    case Verdict::Reason::kKey:
      return Reason::kKey;
    case Verdict::Reason::kChannel:
      return Reason::kChannel;
    default:
      return Reason::kCommand;
  }
}

std::string_view ObjectOf(const Verdict& verdict, const CommandRow& row, Arguments arguments) {
  return verdict.reason == Verdict::Reason::kCommand ? row.name : arguments[verdict.argument];
}

}  // namespace

void BeginAccess(Session& session, const Users* users) {
  if (users == nullptr) return;
  const uint64_t generation = users->generation();  // first, so that a change in between is seen later
  session.access = {users->Default(), generation, users->default_is_open()};
}

void RenewAccess(Session& session, const Users* users) {
  if (users == nullptr || session.access.generation == users->generation()) return;
  if (session.access.user == nullptr) return BeginAccess(session, users);
  session.access.generation = users->generation();
  UserPtr now = users->Find(session.access.user->name());
  if (now == nullptr) {
    session.abort = Session::Abort::kUser;
  } else {
    session.access.user = std::move(now);
  }
}

void SetUser(ServerContext& context, UserPtr user) {
  Session& session = context.session;
  session.client->set_user(user->name());
  session.access.user = std::move(user);
  session.access.authenticated = true;
  context.restricted = session.access.restricted();
}

bool MayRun(const ServerContext& context, std::string& error) {
  const Session::Access& access = context.session.access;
  if (context.row->flags & kNoAuth) return true;
  if (!access.authenticated) {
    error = wire::kNoAuth;
    return false;
  }
  const Verdict verdict = access.user->Check(*context.row, context.arguments);
  if (verdict.allowed()) return true;
  error = "NOPERM " + ReasonText(*access.user, verdict, *context.row, context.arguments);
  RecordRefusal(context, ReasonOf(verdict), ObjectOf(verdict, *context.row, context.arguments), access.user->name());
  return false;
}

size_t CountAllowed(const ServerContext& context, const CommandBatch& batch, size_t first, size_t count) {
  const Arguments command = batch[first];
  if (!context.session.access.user->Check(*context.row, command).allowed()) return 0;
  size_t same = 1;
  while (same < count && batch[first + same][1] == command[1]) ++same;
  return same;
}

std::string ReasonText(const User& user, const Verdict& verdict, const CommandRow& row, Arguments arguments) {
  if (verdict.reason == Verdict::Reason::kCommand) return wire::MayNotRun(user.name(), row.name);
  const std::string_view what = verdict.reason == Verdict::Reason::kKey ? "key" : "channel";
  return wire::MayNotAccess(user.name(), what, arguments[verdict.argument]);
}

void RecordRefusal(const ServerContext& context, AccessRefusal::Reason reason, std::string_view object,
                   std::string_view username) {
  if (context.server.access_log == nullptr) return;
  const core::Clock& clock = *context.server.clock;
  context.server.access_log->Add({.reason = reason,
                                  .in_transaction = context.session.executing != nullptr,
                                  .object = std::string(object.substr(0, AccessRefusal::kMaxShown)),
                                  .username = std::string(username.substr(0, AccessRefusal::kMaxShown)),
                                  .client = DescribeClient(*context.session.client, clock.MonotonicMs())},
                                 clock.WallMs());
}

}  // namespace bitsieve::server
