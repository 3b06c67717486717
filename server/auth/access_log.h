// access_log.h: what was refused, for ACL LOG and for the server's log: wrong passwords, and commands, keys and
// channels that a user may not use. Equal refusals within a minute share one entry that counts them, so that 10^5 wrong
// passwords push nothing else out.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"

namespace bitsieve::server {

struct AccessRefusal {
  enum class Reason : uint8_t { kPassword, kCommand, kKey, kChannel };

  static constexpr size_t kMaxShown = 128;  // bytes of a name

  Reason reason;
  bool in_transaction;
  std::string object;    // command, key or channel; of a wrong password the command
  std::string username;  // that was to be used
  std::string client;    // as CLIENT LIST shows it
};

struct AccessLogEntry {
  AccessRefusal refusal;
  uint64_t id = 0;
  uint64_t count = 1;
  int64_t created_ms = 0;  // since 1970
  int64_t updated_ms = 0;
};

class AccessLog {
 public:
  static constexpr int64_t kGroupingMs = 60'000;

  explicit AccessLog(size_t most_entries) : most_entries_(most_entries) {}

  void Add(AccessRefusal refusal, int64_t now_ms);
  // The latest first.
  std::vector<AccessLogEntry> Entries(size_t most) const;
  void Clear();
  void set_most_entries(size_t most);

  // The refusals since the last call, for one line of the server's log; all zero if there were none.
  struct Summary {
    uint64_t passwords = 0;
    uint64_t commands = 0;  // keys and channels included
    AccessRefusal latest{};
  };
  Summary TakeSummary();

  // Since the start.
  uint64_t refused(AccessRefusal::Reason reason) const {
    return refused_[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kSearched = 10;  // entries that a refusal is compared with

  mutable core::Mutex mutex_;
  size_t most_entries_ BITSIEVE_GUARDED_BY(mutex_);
  std::deque<AccessLogEntry> entries_ BITSIEVE_GUARDED_BY(mutex_);  // the latest first
  uint64_t next_id_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  Summary summary_ BITSIEVE_GUARDED_BY(mutex_);
  // Relaxed: counters.
  std::atomic<uint64_t> refused_[4]{};
};

}  // namespace bitsieve::server
