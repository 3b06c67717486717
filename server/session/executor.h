// executor.h: what runs the commands of a client, as its exchange sees it. The dispatcher implements it.
// Confined to the loop.
#pragma once

#include <array>
#include <cstddef>

#include "commands/command.h"
#include "core/filter/filter.h"
#include "protocol/reply_writer.h"
#include "server/session/command_batch.h"
#include "server/session/session.h"
#include "server/session/wait.h"

namespace bitsieve::server {

// The rows, filters and hashes of the first commands of a batch, found before they run.
struct PreparedCommands {
  struct Slot {
    const commands::CommandRow* row;
    core::Filter* filter;  // null: not looked up; kept alive by the executor
    bool operator==(const Slot&) const = default;
  };

  size_t count = 0;  // commands that are prepared
  std::array<Slot, commands::kMaxRun> slots;
  std::array<core::KeyHash, commands::kMaxRun> hashes;  // of those with a filter
};

class Executor {
 public:
  static constexpr size_t kWindow = commands::kMaxRun;  // commands that are prepared together

  virtual ~Executor() = default;

  // The result of running a batch.
  struct Outcome {
    // Commands of the batch that are done. The rest could not run yet, and nothing of it was done: Execute() is to be
    // called again for it when the wait is over.
    size_t executed = 0;
    // kReply: the last executed command's reply comes later. kMoment: the command after those, or the next one of an
    // EXEC, must wait. kTurn: other connections get their turn, and the replies so far are sent. Otherwise kNothing.
    Wait wait = Wait::kNothing;
    bool wrote = false;           // replies must wait for Durability::AwaitedPosition()
    DeferredReply deferred;       // of kReply: to be started
    bool deferred_wrote = false;  // that reply, too, must wait, for the position read once it is there
    size_t deferred_bytes = 0;    // that its command keeps until it has run
  };

  // Looks up filters, hashes items and starts to load what commands of `batch` will touch, up to the first whose effect
  // others of the batch may depend on. Several clients' commands may be prepared before any of them runs. Commands that
  // wait at the same time have no order among them, so another client's may run in between. `prepared` holds until
  // Forget().
  virtual void Prepare(const Session& session, const CommandBatch& batch, PreparedCommands& prepared) = 0;
  // Forgets all that was prepared.
  virtual void Forget() = 0;
  // Runs commands [first, batch.size()) and appends their replies. Continues the session's EXEC first, if one is under
  // way. `prepared`, if given, is that of the batch.
  virtual Outcome Execute(Session& session, const CommandBatch& batch, size_t first, protocol::ReplyWriter& reply,
                          const PreparedCommands* prepared = nullptr) = 0;
};

}  // namespace bitsieve::server
