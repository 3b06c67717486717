// server_identity.h: what the server calls itself on the wire. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "commands/module_identity.h"
#include "protocol/reply_writer.h"

namespace bitsieve::server {

inline constexpr std::string_view kServerName = "bitsieve";
inline constexpr std::string_view kServerVersion = BITSIEVE_VERSION;
// The Redis whose commands and replies are followed; clients choose features by it.
inline constexpr std::string_view kRedisVersion = "7.4.0";

// The modules that clients look for before they use BF.*: one, named like RedisBloom.
inline void WriteModuleList(protocol::ReplyWriter& reply) {
  reply.ArrayHeader(1);
  reply.MapHeader(4);
  reply.BulkString("name");
  reply.BulkString(commands::kModuleName);
  reply.BulkString("ver");
  reply.Integer(commands::kModuleVersion);
  reply.BulkString("path");
  reply.BulkString("");
  reply.BulkString("args");
  reply.ArrayHeader(0);
}

}  // namespace bitsieve::server
