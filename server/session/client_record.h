// client_record.h: the fields of a connection that CLIENT LIST shows. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/mutex.h"
#include "server/auth/users.h"

namespace bitsieve::server {

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
  bool is_subscribed() const {
    return channels.load(std::memory_order_relaxed) + patterns.load(std::memory_order_relaxed) != 0;
  }
  std::atomic<bool> monitors{false};  // MONITOR
  std::atomic<bool> no_evict{false};  // CLIENT NO-EVICT
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

}  // namespace bitsieve::server
