// client_kill.h: CLIENT KILL, in its old form (an address) and its new one (filters). Confined to the context's loop.
#pragma once

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

void ClientKill(ServerContext& context);

// TYPE of CLIENT LIST and CLIENT KILL. There are no replicas and no primary.
enum class ClientType : uint8_t { kAny, kNormal, kPubSub, kNone };

// A syntax error or an unknown type goes to the reader.
ClientType ReadClientType(commands::ArgumentReader& reader);
bool IsOfType(const ClientRecord& client, ClientType type);

}  // namespace bitsieve::server
