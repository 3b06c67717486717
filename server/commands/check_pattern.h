// check_pattern.h: the limit of glob patterns that clients send (option max-pattern-bytes). Confined to the context's
// loop, or to the worker that runs the command.
#pragma once

#include <string_view>

#include "server/commands/wire_errors.h"
#include "server/dispatch/server_context.h"

namespace bitsieve::server {

// False, and an error replied, if the pattern is too long.
inline bool CheckPattern(ServerContext& context, std::string_view pattern) {
  const size_t most = context.settings().max_pattern_bytes.load(std::memory_order_relaxed);
  if (pattern.size() > most) context.Error(wire::PatternTooLong(pattern.size(), most));
  return pattern.size() <= most;
}

}  // namespace bitsieve::server
