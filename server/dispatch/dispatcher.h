// dispatcher.h: runs batches of commands against the keyspace. Knows arguments and replies, no socket.
//
// A batch is the unit of work. For each window of up to kWindow commands the dispatcher first looks up rows and
// filters, hashes items and prefetches the cache lines they will touch; then it runs the commands in order. Answers are
// exactly those of one-by-one execution; only memory latency overlaps.
//
// Thread-safe where const; each loop owns one Dispatcher, and only that loop calls it (confined to its loop).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "core/base/clock.h"
#include "protocol/reply_writer.h"
#include "server/auth/access_log.h"
#include "server/dispatch/durability.h"
#include "server/dispatch/server_control.h"
#include "server/dispatch/session.h"
#include "server/dispatch/stats.h"
#include "server/keyspace/keyspace.h"
#include "server/namespace.h"

namespace bitsieve::server {

// The commands found in a read buffer: their arguments end to end, and where each ends. Reused, so that the steady
// state allocates nothing.
struct CommandBatch {
  mutable std::vector<std::string_view> arguments;  // may be taken over: see Own()
  std::vector<size_t> ends;                         // ends[i]: one past the last argument of command i
  ArgumentBytes* bytes = nullptr;                   // can keep the arguments alive; null: nothing can

  size_t size() const { return ends.size(); }
  Arguments operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return Arguments(arguments).subspan(begin, ends[i] - begin);
  }
  // Returns the arguments of command i, if nothing else is in `arguments`; null otherwise. A caller that takes them
  // over leaves the vector empty.
  std::vector<std::string_view>* Own(size_t i) const { return i == 0 && ends.size() == 1 ? &arguments : nullptr; }
  void Clear() {
    arguments.clear();
    ends.clear();
  }
};

// A reply that comes later (SAVE, and what runs on a worker): the connection runs nothing further until it is there.
// `start` is called once, on the loop; it must see to it that `finish` is called once, from any thread, with a function
// that writes the reply; that function is then run on the connection's loop.
using WriteReply = std::function<void(protocol::ReplyWriter&)>;
using Finish = std::function<void(WriteReply)>;
using DeferredReply = std::function<void(Finish finish)>;

class CommandTable;
class Claims;
class PubSub;
class KeyspaceEvents;
class Monitoring;

class Dispatcher {
 public:
  static constexpr size_t kWindow = kMaxRun;

  struct Environment {
    const CommandTable* table;
    Keyspace* keyspace;
    const core::Clock* clock;
    ServerControl* control;
    ClientList* clients;
    ServerStats* stats;     // all loops' counters, for INFO
    LoopStats* loop_stats;  // this loop's
    const CommandSettings* settings;
    FreezeQueue* freezing = nullptr;
    Transfers* transfers = nullptr;    // dumps and loads in progress
    Durability* durability = nullptr;  // null: nothing is logged, and no reply waits
    Claims* claims = nullptr;          // null: transactions of other loops are not kept apart
    PubSub* pub_sub = nullptr;
    KeyspaceEvents* events = nullptr;  // null: none are published
    Workers* workers = nullptr;        // null: every command runs on its loop
    Users* users = nullptr;            // null: every client may do everything
    AccessLog* access_log = nullptr;   // of what users may not do; null: it is not kept
    Monitoring* monitoring = nullptr;  // null: no command is watched
  };

  explicit Dispatcher(const Environment& environment);
  ~Dispatcher();

  struct Outcome {
    // Commands of the batch that are done; fewer than all if deferred, postponed or session.closing.
    size_t executed;
    DeferredReply deferred;  // set if the last executed command's reply comes later
    bool wrote;              // replies must wait for Durability::AwaitedPosition()
    bool deferred_wrote;     // and so must the deferred one, for the position read once it is there
    // The command after those, or the next one of an EXEC, could not run yet (see MustWait()) and nothing of it was
    // done: Execute() is to be called again, with that command first, after a moment in which other connections work.
    bool postponed = false;
    // Other connections get their turn, and the replies so far are sent, before Execute() is called again for the rest.
    bool yielded = false;
    // Bytes that the deferred command keeps until it has run.
    size_t deferred_bytes = 0;
  };
  // Runs commands [first, batch.size()) and appends their replies. Continues the session's EXEC first, if one is under
  // way.
  Outcome Execute(Session& session, const CommandBatch& batch, size_t first, protocol::ReplyWriter& reply);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bitsieve::server
