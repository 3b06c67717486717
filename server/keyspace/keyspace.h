// keyspace.h: what the server needs of the place where filters live by name, beyond what filter commands need. The
// implementation is registry.h. Thread-safe.
//
// A name may have an end, its expiry: from then on it is missing to every function here, whether its memory is freed
// already or not. Expiries are milliseconds since 1970, UTC, by the keyspace's own clock; 0 is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/keyspace.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::server {

// A change that will be reported: announced before it is made, so that reporting it cannot fail; committed once it has
// been made, and dropped if it was not. Thread-compatible.
class Announcement {
 public:
  virtual ~Announcement() = default;
  // Once.
  virtual void Commit() noexcept = 0;
};
// Null: nothing is reported.
using AnnouncementPtr = std::unique_ptr<Announcement>;

inline void Commit(const AnnouncementPtr& announcement) noexcept {
  if (announcement != nullptr) announcement->Commit();
}

enum class RenameOutcome { kRenamed, kNoSource, kTargetExists, kOutOfMemory, kOtherQuota };

// When an expiry may be set; those that are given must all hold. A name without an expiry is one that ends after any
// other.
enum ExpiryCondition : uint32_t {
  kIfNoExpiry = 1 << 0,
  kIfExpiry = 1 << 1,
  kIfLater = 1 << 2,
  kIfSooner = 1 << 3,
};

// The outcome of Keyspace::SetExpiry(). `removed`: the expiry was past, so the name is gone.
struct ExpiryChange {
  bool made = false;
  bool removed = false;
  explicit operator bool() const { return made; }
};

// The meaning of a name at one moment, for WATCH: see Keyspace::StateOf.
struct NameState {
  uint64_t stamp = 0;    // of the last change of the name's meaning, never used twice; 0: it means nothing
  uint64_t changes = 0;  // ChangeCount of its filter; of a missing name how many names its shards had seen come to be
};

struct ExpiryStats {
  uint64_t names = 0;           // that have an expiry
  int64_t average_ms_left = 0;  // of them
  uint64_t expired = 0;         // names removed because their time had come
};

using commands::QuotaRefusal;

// The filters and bytes that count for a quota, and its limits; 0: no limit.
struct QuotaUse {
  std::string pattern;
  uint64_t filters = 0;
  uint64_t most_filters = 0;
  uint64_t bytes = 0;
  uint64_t most_bytes = 0;
  uint64_t refusals = 0;  // of names and of memory

  // Whether there is more than allowed, which is possible after the limits were lowered.
  bool IsExceeded() const {
    return (most_filters != 0 && filters > most_filters) || (most_bytes != 0 && bytes > most_bytes);
  }
};

// A function that throws std::bad_alloc has changed nothing.
class Keyspace : public commands::FilterKeyspace {
 public:
  virtual bool Remove(std::string_view name) = 0;
  // Atomic: no reader, a snapshot included, ever sees both names or neither. A filter under the target name is
  // replaced, unless `only_if_absent`. Renaming to itself is kRenamed if it exists (kTargetExists if `only_if_absent`).
  // Otherwise nothing is renamed: kOutOfMemory if memory for the new name is refused, kOtherQuota if the names count
  // for different quotas, or only one for any. The expiry goes along.
  virtual RenameOutcome Rename(std::string_view from, std::string_view to, bool only_if_absent) = 0;
  // Removes everything. Memory of what was removed is freed in the background if `background`.
  virtual void Flush(bool background) = 0;

  virtual uint64_t Size() const = 0;
  // In the order of the configuration.
  virtual std::vector<QuotaUse> QuotasInUse() const { return {}; }
  using Visitor = std::function<void(std::string_view name, const commands::FilterPtr& filter)>;
  // Visits about `count` or more filters from `cursor` on (0: from the start) and returns the next cursor, 0 at the
  // end. What is there during a whole iteration is visited at least once. The visitor must not call the keyspace.
  virtual uint64_t Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const = 0;

  // Returns a random name, each with about the same chance; nothing if there is none.
  virtual std::optional<std::string> RandomName() const = 0;

  // Does nothing if there is no such name or a condition (ExpiryCondition, ORed) does not hold. An expiry that is past
  // removes the name at once; 0 takes the expiry away.
  virtual ExpiryChange SetExpiry(std::string_view name, int64_t expires_ms, uint32_t conditions) = 0;
  // 0 if it has none; nothing if there is no such name.
  virtual std::optional<int64_t> ExpiryOf(std::string_view name) const = 0;
  virtual ExpiryStats Expiries() const = 0;
  // The time that expiries are compared with.
  virtual int64_t WallMs() const = 0;

  // Returns what the name means now, to be compared later: whether anything happened to it since.
  virtual NameState StateOf(std::string_view name) const = 0;
  // False if the name's meaning, its expiry or the content of its filter changed since it had this state, even if it is
  // the same again by now. Rarely also false for a name that was missing all the time: if very many others were
  // created.
  virtual bool IsUnchanged(std::string_view name, const NameState& state) const = 0;
};

}  // namespace bitsieve::server
