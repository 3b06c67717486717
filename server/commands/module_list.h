// module_list.h: the modules that clients look for before they use BF.*: one, named like RedisBloom. Thread-safe.
#pragma once

#include "protocol/reply_writer.h"
#include "server/commands/server_identity.h"

namespace bitsieve::server {

inline void WriteModuleList(protocol::ReplyWriter& reply) {
  reply.ArrayHeader(1);
  reply.MapHeader(4);
  reply.BulkString("name");
  reply.BulkString(kModuleName);
  reply.BulkString("ver");
  reply.Integer(kModuleVersion);
  reply.BulkString("path");
  reply.BulkString("");
  reply.BulkString("args");
  reply.ArrayHeader(0);
}

}  // namespace bitsieve::server
