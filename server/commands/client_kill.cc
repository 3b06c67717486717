#include "server/commands/client_kill.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "server/commands/wire_errors.h"
#include "server/session/client_list.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// All that are given must fit.
struct Filter {
  std::vector<uint64_t> ids;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  std::optional<std::string_view> user;
  std::optional<int64_t> max_age_s;
  ClientType type = ClientType::kAny;
  bool skip_me = true;

  bool Fits(const ClientRecord& client, int64_t now_ms) const {
    if (!ids.empty() && std::ranges::find(ids, client.id) == ids.end()) return false;
    if (address && *address != client.address) return false;
    if (local_address && *local_address != client.local_address) return false;
    if (user && *user != client.user()) return false;
    if (max_age_s && (now_ms - client.connected_ms) / 1000 < *max_age_s) return false;
    return IsOfType(client, type);
  }
};

bool IsWord(std::string_view text) { return text.find_first_not_of("0123456789") != std::string_view::npos; }

void ReadIds(ArgumentReader& reader, Filter& filter) {
  do {
    const uint64_t id = reader.Unsigned(wire::kSyntax, wire::kClientIdRange);
    if (id == 0) reader.Fail(wire::kClientIdRange);
    filter.ids.push_back(id);
  } while (reader.More() && !IsWord(reader.Peek()));
}

void ReadSkipMe(ArgumentReader& reader, Filter& filter) {
  filter.skip_me = reader.Skip("YES");
  if (!filter.skip_me && !reader.Skip("NO")) reader.Fail(wire::kSyntax);
}

void ReadUser(ArgumentReader& reader, const Users* users, Filter& filter) {
  filter.user = reader.Next(wire::kSyntax);
  const bool exists = users == nullptr ? *filter.user == kDefaultUser : users->Find(*filter.user) != nullptr;
  if (!exists) reader.Fail(wire::NoSuchUser(*filter.user));
}

void ReadMaxAge(ArgumentReader& reader, Filter& filter) {
  filter.max_age_s = reader.Integer(wire::kSyntax, wire::kMaxAge);
  if (*filter.max_age_s <= 0) reader.Fail(wire::kMaxAge);
}

Filter ReadFilter(ArgumentReader& reader, const Users* users) {
  Filter filter;
  while (reader.More()) {
    if (reader.Skip("ID")) {
      ReadIds(reader, filter);
    } else if (reader.Skip("ADDR")) {
      filter.address = reader.Next(wire::kSyntax);
    } else if (reader.Skip("LADDR")) {
      filter.local_address = reader.Next(wire::kSyntax);
    } else if (reader.Skip("TYPE")) {
      filter.type = ReadClientType(reader);
    } else if (reader.Skip("USER")) {
      ReadUser(reader, users, filter);
    } else if (reader.Skip("SKIPME")) {
      ReadSkipMe(reader, filter);
    } else if (reader.Skip("MAXAGE")) {
      ReadMaxAge(reader, filter);
    } else {
      reader.Fail(wire::kSyntax);
    }
  }
  return filter;
}

// Returns how many were closed. The client itself still gets its reply.
int64_t Kill(ServerContext& context, const Filter& filter) {
  const int64_t now_ms = context.server.clock->MonotonicMs();
  int64_t killed = 0;
  for (const auto& client : context.server.clients->All()) {
    const bool is_me = client == context.session.client;
    if ((is_me && filter.skip_me) || client->doomed || !filter.Fits(*client, now_ms)) continue;
    ++killed;
    if (is_me) {
      context.session.closing = true;
    } else {
      client->Close("CLIENT KILL");
    }
  }
  return killed;
}

}  // namespace

ClientType ReadClientType(ArgumentReader& reader) {
  const std::string_view type = reader.Next(wire::kSyntax);
  if (EqualsIgnoringCase(type, "normal")) return ClientType::kNormal;
  if (EqualsIgnoringCase(type, "pubsub")) return ClientType::kPubSub;
  const bool known =
      EqualsIgnoringCase(type, "master") || EqualsIgnoringCase(type, "replica") || EqualsIgnoringCase(type, "slave");
  if (!known) reader.Fail(wire::UnknownClientType(type));
  return ClientType::kNone;
}

bool IsOfType(const ClientRecord& client, ClientType type) {
  if (type == ClientType::kAny) return true;
  return type == (client.is_subscribed() ? ClientType::kPubSub : ClientType::kNormal);
}

void ClientKill(ServerContext& context) {
  if (context.arguments.size() == 3) {
    Filter filter;
    filter.address = context.arguments[2];
    filter.skip_me = false;
    return Kill(context, filter) == 0 ? context.Error(wire::kNoSuchClient) : context.reply.Ok();
  }
  ArgumentReader reader(context.arguments, 2);
  const Filter filter = ReadFilter(reader, context.server.users);
  if (!reader.ok()) return context.Error(reader.error());
  context.reply.Integer(Kill(context, filter));
}

}  // namespace bitsieve::server
