// dispatcher.h: runs batches of commands against the keyspace. Knows arguments and replies, no socket.
//
// A batch is the unit of work. For each window of up to kWindow commands the dispatcher first looks up rows and
// filters, hashes items and prefetches the cache lines they will touch; then it runs the commands in order. Answers are
// exactly those of one-by-one execution; only memory latency overlaps.
//
// Thread-safe where const; each loop owns one Dispatcher, and only that loop calls it (confined to its loop).
#pragma once

#include <cstddef>
#include <memory>

#include "commands/command.h"
#include "protocol/reply_writer.h"
#include "server/dispatch/command_batch.h"
#include "server/dispatch/environment.h"
#include "server/session/session.h"

namespace bitsieve::server {

class Dispatcher {
 public:
  static constexpr size_t kWindow = commands::kMaxRun;

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
