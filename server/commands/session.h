// session.h: what the server remembers of one connection between commands: protocol version, name, the state of
// MULTI. It knows no socket. Confined to its loop, but for the ClientRecord that other loops read for CLIENT LIST.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/commands/claims.h"
#include "server/commands/client_pause.h"
#include "server/commands/subscriptions.h"
#include "server/commands/watch_list.h"

namespace bitsieve::server {

// What CLIENT LIST tells of a connection. Thread-safe.
class ClientRecord {
 public:
  ClientRecord(uint64_t number, std::string peer, std::string local, int64_t now_unix_ms)
      : id(number),
        address(std::move(peer)),
        local_address(std::move(local)),
        connected_unix_ms(now_unix_ms),
        last_active_unix_ms(now_unix_ms) {}

  const uint64_t id;
  const std::string address;  // "127.0.0.1:53124"
  const std::string local_address;
  const int64_t connected_unix_ms;
  // Relaxed: each is told on its own, and nobody reads other memory on the strength of it.
  std::atomic<int64_t> last_active_unix_ms;
  std::atomic<const char*> last_command{"NULL"};  // a static string
  std::atomic<uint8_t> protocol_version{2};
  std::atomic<int32_t> queued_commands{-1};  // -1 outside of MULTI
  std::atomic<uint32_t> watched_names{0};
  std::atomic<uint32_t> channels{0};  // subscribed to
  std::atomic<uint32_t> patterns{0};

  std::string name() const { return Read(name_); }
  std::string library_name() const { return Read(library_name_); }
  std::string library_version() const { return Read(library_version_); }
  void set_name(std::string_view text) { Write(name_, text); }
  void set_library_name(std::string_view text) { Write(library_name_, text); }
  void set_library_version(std::string_view text) { Write(library_version_, text); }

 private:
  std::string Read(const std::string& field) const {
    const std::lock_guard lock(mutex_);
    return field;
  }
  void Write(std::string& field, std::string_view text) {
    const std::lock_guard lock(mutex_);
    field = text;
  }

  mutable std::mutex mutex_;
  // Protected by mutex_.
  std::string name_, library_name_, library_version_;
};

// The connections of the server. Thread-safe.
class ClientList {
 public:
  void Add(std::shared_ptr<ClientRecord> record);
  void Remove(uint64_t id);
  // By ascending id.
  std::vector<std::shared_ptr<ClientRecord>> All() const;
  size_t Size() const;

  ClientPause pause;  // thread-safe

 private:
  mutable std::mutex mutex_;
  // Protected by mutex_.
  std::vector<std::shared_ptr<ClientRecord>> records_;
};

// Who can keep the bytes of arguments alive. Confined to its loop.
class ArgumentBytes {
 public:
  virtual ~ArgumentBytes() = default;
  // The bytes stay where they are as long as the result lives, which may end on any thread. Null: they cannot be kept.
  // Throws std::bad_alloc.
  virtual std::shared_ptr<const void> Share() = 0;
};

// The commands of an EXEC.
struct Execution final : ArgumentBytes, std::enable_shared_from_this<Execution> {
  Execution(std::vector<std::vector<std::string>> commands, Claims::Held claimed)
      : queued(std::move(commands)), claim(std::move(claimed)) {}
  std::shared_ptr<const void> Share() override { return shared_from_this(); }

  std::vector<std::vector<std::string>> queued;
  size_t next = 0;     // the first that did not run yet
  Claims::Held claim;  // if names were watched: nobody else's transaction is about them meanwhile
};

struct Session {
  explicit Session(std::shared_ptr<ClientRecord> record) : client(std::move(record)) {}

  std::shared_ptr<ClientRecord> client;
  protocol::ProtocolVersion version = protocol::ProtocolVersion::kResp2;
  bool closing = false;  // close once the replies are written (QUIT, SHUTDOWN)

  // MULTI: commands are copied, since their bytes leave the read buffer.
  bool in_multi = false;
  bool multi_failed = false;  // a queued command was refused: EXEC aborts
  std::vector<std::vector<std::string>> queued;
  size_t queued_bytes = 0;
  bool queue_writes = false;  // a queued command may change something

  WatchList watches;

  std::unique_ptr<Subscriptions> subscriptions;  // null: none so far
  Wakeable* wakeable = nullptr;                  // the connection, to be woken when there are messages; null: nobody
  // RESP2 cannot tell messages from replies.
  bool MaySendLittle() const {
    return subscriptions != nullptr && version == protocol::ProtocolVersion::kResp2 && subscriptions->count() != 0;
  }
  // EXEC is under way: a command of it waits, or its next ones wait for their turn. Nothing else of this connection
  // runs before they are done. Shared with what runs aside.
  std::shared_ptr<Execution> executing;
};

}  // namespace bitsieve::server
