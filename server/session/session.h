// session.h: what the server remembers of one connection between commands: protocol version, name, the state of
// MULTI. It has no socket. Confined to its loop, except for the ClientRecord that other loops read for CLIENT LIST.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/auth/users.h"
#include "server/pubsub/subscriptions.h"
#include "server/session/claims.h"
#include "server/session/client_record.h"
#include "server/session/kept_arguments.h"
#include "server/session/watch_list.h"

namespace bitsieve::server {

// The commands of an EXEC.
struct Execution {
  Execution(std::vector<KeptArguments> commands, Claims::Held claimed)
      : queued(std::move(commands)), claim(std::move(claimed)) {}

  std::vector<KeptArguments> queued;
  size_t next = 0;     // the first that did not run yet
  size_t bytes = 0;    // as Session::queued_bytes was
  Claims::Held claim;  // if names were watched: keeps other transactions off them
};

struct Session {
  explicit Session(std::shared_ptr<ClientRecord> record) : client(std::move(record)) {}

  std::shared_ptr<ClientRecord> client;
  protocol::ProtocolVersion version = protocol::ProtocolVersion::kResp2;
  bool closing = false;  // close once the replies are written (QUIT, SHUTDOWN)

  // Why the connection is to be closed at once, without its replies.
  enum class Abort : uint8_t {
    kNone,
    kReplies,  // they are longer than they may be
    kUnread,   // it left more of them unread than it may
    kHttp,     // a browser was made to talk to the port
    kUser,     // its user was removed
  };
  Abort abort = Abort::kNone;

  // The client's user and what it may do. A snapshot, renewed when the users' generation has changed.
  struct Access {
    UserPtr user;  // null: every client may do everything
    uint64_t generation = 0;
    bool authenticated = true;

    bool restricted() const { return user != nullptr && (!authenticated || !user->unlimited()); }
  };
  Access access;

  // CLIENT REPLY: whether commands are replied to.
  enum class Replies : uint8_t { kOn, kOff, kSkipNext, kSkip };
  Replies replies = Replies::kOn;

  // MULTI
  bool in_multi = false;
  bool multi_failed = false;  // a queued command was refused: EXEC aborts
  std::vector<KeptArguments> queued;
  size_t queued_bytes = 0;
  bool queue_writes = false;     // a queued command may change something
  bool queue_publishes = false;  // a queued command sends a message

  WatchList watches;

  bool has_written = false;  // a command that may have changed something has run
  // WAITAOF, while it waits.
  struct SyncWait {
    uint64_t position;
    int64_t until_ms;  // of the monotonic clock
  };
  std::optional<SyncWait> sync_wait;

  std::unique_ptr<Subscriptions> subscriptions;  // null: none so far
  Wakeable* wakeable = nullptr;                  // the connection, to be woken when there are messages; null: none
  // RESP2 cannot distinguish messages from replies.
  bool MaySendLittle() const {
    if (stands_for_subscriber) return true;
    return subscriptions != nullptr && version == protocol::ProtocolVersion::kResp2 && subscriptions->count() != 0;
  }
  // A command runs aside with this session in place of its connection's, which may send little.
  bool stands_for_subscriber = false;
  // EXEC is under way: a command of it waits, or its next ones wait for their turn. Nothing else of this connection
  // runs before they are done. Shared with what runs aside.
  std::shared_ptr<Execution> executing;
};

}  // namespace bitsieve::server
