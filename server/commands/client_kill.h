// client_kill.h: CLIENT KILL, in its old form (an address) and its new one (filters). Confined to the context's loop.
#pragma once

#include "server/commands/command.h"

namespace bitsieve::server {

void ClientKill(CommandContext& context);

// Whether `type` names a type of client; a syntax error or an unknown type goes to the reader.
bool ReadClientTypeIsNormal(ArgumentReader& reader);

}  // namespace bitsieve::server
