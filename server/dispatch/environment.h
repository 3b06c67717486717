// environment.h: the parts of the server that commands work with. They live longer than the loops; each is thread-safe,
// except for the counters of one loop.
#pragma once

#include "commands/command.h"
#include "core/base/clock.h"

namespace bitsieve::server {

class AccessLog;
class Claims;
class ClientList;
class CommandTable;
class Durability;
class Keyspace;
class KeyspaceEvents;
class Monitoring;
class PubSub;
class ServerControl;
class Users;
struct LoopStats;
struct ServerStats;

struct Environment {
  commands::FilterEnvironment filters;  // what filter commands need besides the keyspace and the events
  const CommandTable* table;
  Keyspace* keyspace;
  const core::Clock* clock;
  ServerControl* control;
  ClientList* clients;
  ServerStats* stats;                // all loops' counters, for INFO
  LoopStats* loop_stats;             // this loop's
  Durability* durability = nullptr;  // null: nothing is logged, and no reply waits
  Claims* claims = nullptr;          // null: transactions of other loops are not kept apart
  PubSub* pub_sub = nullptr;
  KeyspaceEvents* events = nullptr;  // null: none are published
  Users* users = nullptr;            // null: every client may do everything
  AccessLog* access_log = nullptr;   // of what users may not do; null: it is not kept
  Monitoring* monitoring = nullptr;  // null: no command is watched
};

}  // namespace bitsieve::server
