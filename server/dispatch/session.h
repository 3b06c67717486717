// session.h: what the server remembers of one connection between commands: protocol version, name, the state of
// MULTI. It has no socket. Confined to its loop, except for the ClientRecord that other loops read for CLIENT LIST.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "protocol/reply_writer.h"
#include "server/auth/users.h"
#include "server/dispatch/claims.h"
#include "server/dispatch/client_pause.h"
#include "server/dispatch/subscriptions.h"
#include "server/dispatch/watch_list.h"

namespace bitsieve::server {

// The fields of a connection that CLIENT LIST shows. Thread-safe.
class ClientRecord {
 public:
  ClientRecord(uint64_t number, std::string peer, std::string local, int64_t now_ms, bool peer_is_local = true)
      : id(number),
        address(std::move(peer)),
        local_address(std::move(local)),
        is_local(peer_is_local),
        connected_ms(now_ms),
        last_active_ms(now_ms) {}

  const uint64_t id;
  const std::string address;  // "127.0.0.1:53124", or of a Unix socket "/run/bitsieve.sock:0"
  const std::string local_address;
  const bool is_local;  // the client is on this machine: it came through loopback or the Unix socket
  // Times are those of the monotonic clock: setting the system's clock closes no connection.
  const int64_t connected_ms;
  // Relaxed: each is reported on its own, and no other memory is read on the strength of it.
  std::atomic<int64_t> last_active_ms;
  std::atomic<const char*> last_command{"NULL"};  // a static string
  std::atomic<uint8_t> protocol_version{2};
  std::atomic<int32_t> queued_commands{-1};  // -1 outside of MULTI
  std::atomic<uint32_t> watched_names{0};
  std::atomic<uint32_t> channels{0};  // subscribed to
  std::atomic<uint32_t> patterns{0};
  std::atomic<uint32_t> shard_channels{0};
  bool is_subscribed() const {
    return channels.load(std::memory_order_relaxed) + patterns.load(std::memory_order_relaxed) +
               shard_channels.load(std::memory_order_relaxed) !=
           0;
  }
  std::atomic<bool> monitors{false};  // MONITOR
  std::atomic<bool> no_evict{false};  // CLIENT NO-EVICT
  std::atomic<bool> no_touch{false};  // CLIENT NO-TOUCH
  std::atomic<bool> doomed{false};    // Close() was called: it is as good as gone

  // Bytes that the connection takes, by what for. Written by its loop, which publishes the total in the ClientList.
  struct Memory {
    std::atomic<uint64_t> received{0};       // not yet run
    std::atomic<uint64_t> received_free{0};  // room for more in the same buffer
    std::atomic<uint64_t> waiting{0};        // commands that wait, or run on a worker
    std::atomic<uint64_t> queued{0};         // between MULTI and EXEC
    std::atomic<uint64_t> held{0};           // replies that wait for the log
    std::atomic<uint64_t> unsent{0};         // replies and published messages that wait for the client
    std::atomic<uint64_t> unsent_blocks{0};
    std::atomic<uint64_t> total{0};  // and what it is subscribed to, and watches
  };
  Memory memory;

  // Closes the connection at once, from any thread; `reason`, a literal, goes to the log.
  void Close(const char* reason) {
    doomed.store(true, std::memory_order_relaxed);
    if (close) close(reason);
  }
  std::function<void(const char* reason)> close;  // set before others see the record; null in tests

  std::string name() const { return Read(&Names::client); }
  std::string library_name() const { return Read(&Names::library); }
  std::string library_version() const { return Read(&Names::library_version); }
  std::string user() const { return Read(&Names::user); }
  void set_name(std::string_view text) { Write(&Names::client, text); }
  void set_library_name(std::string_view text) { Write(&Names::library, text); }
  void set_library_version(std::string_view text) { Write(&Names::library_version, text); }
  void set_user(std::string_view name) { Write(&Names::user, name); }

 private:
  struct Names {
    std::string client, library, library_version;
    std::string user{kDefaultUser};
  };

  std::string Read(std::string Names::*name) const {
    const core::LockGuard lock(mutex_);
    return names_.*name;
  }
  void Write(std::string Names::*name, std::string_view text) {
    const core::LockGuard lock(mutex_);
    names_.*name = text;
  }

  mutable core::Mutex mutex_;
  Names names_ BITSIEVE_GUARDED_BY(mutex_);
};

// The connections of the server, and the memory that they take together. Thread-safe.
class ClientList {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  // A connection that takes less is not worth closing.
  static constexpr uint64_t kLeastEvicted = 8 * 1024;

  void Add(std::shared_ptr<ClientRecord> record);
  void Remove(uint64_t id);
  // By ascending id.
  std::vector<std::shared_ptr<ClientRecord>> All() const;
  size_t Size() const;

  // The connections' memory. A loop reports what it allocated or freed; over the limit the largest connections are
  // closed, until the others are within it.
  void set_memory_limit(uint64_t bytes) { memory_limit_.store(bytes, std::memory_order_relaxed); }
  uint64_t memory_limit() const { return memory_limit_.load(std::memory_order_relaxed); }
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }
  bool OverMemoryLimit() const { return memory_bytes() > memory_limit(); }
  // Returns how many bytes may be allocated until the limit.
  uint64_t MemoryLeft() const {
    const uint64_t limit = memory_limit(), bytes = memory_bytes();
    return limit > bytes ? limit - bytes : 0;
  }
  void NoteMemory(uint64_t before, uint64_t now) { memory_bytes_.fetch_add(now - before, std::memory_order_relaxed); }
  // O(connections), and only called over the limit.
  void Evict();
  uint64_t evicted() const { return evicted_.load(std::memory_order_relaxed); }

  ClientPause pause;  // thread-safe
  // The server stops: no command waits for anything any more.
  std::atomic<bool> draining{false};

 private:
  mutable core::Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<ClientRecord>> records_ BITSIEVE_GUARDED_BY(mutex_);  // by id

  // Relaxed: sums that steer, and nothing is read on the strength of them.
  std::atomic<uint64_t> memory_bytes_{0};
  std::atomic<uint64_t> memory_limit_{kNoLimit};
  std::atomic<uint64_t> evicted_{0};
};

// Owners that can keep the bytes of arguments alive. Confined to its loop.
class ArgumentBytes {
 public:
  virtual ~ArgumentBytes() = default;
  // The bytes stay where they are as long as the result lives, which may end on any thread. Null: they cannot be kept.
  // Throws std::bad_alloc.
  virtual std::shared_ptr<const void> Share() = 0;
  // How many bytes the last result of Share() keeps.
  virtual size_t shared_bytes() const = 0;
};

class KeptArguments;

// The commands of an EXEC.
struct Execution {
  Execution(std::vector<KeptArguments> commands, Claims::Held claimed);
  ~Execution();

  std::vector<KeptArguments> queued;
  size_t next = 0;     // the first that did not run yet
  size_t bytes = 0;    // as Session::queued_bytes was
  Claims::Held claim;  // if names were watched: keeps other transactions off them
};

struct Session {
  explicit Session(std::shared_ptr<ClientRecord> record);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  std::shared_ptr<ClientRecord> client;
  protocol::ProtocolVersion version = protocol::ProtocolVersion::kResp2;
  bool closing = false;  // close once the replies are written (QUIT, SHUTDOWN)

  // Why the connection is to be closed at once, without its replies.
  enum class Abort : uint8_t {
    kNone,
    kReplies,  // they are longer than they may be
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
