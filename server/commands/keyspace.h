// keyspace.h: what command handlers need from the place where filters live by name. The implementation is
// server/keyspace/registry; tests may use another. Thread-safe. Names are binary safe. A filter that somebody holds
// stays alive after it left the keyspace.
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

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::server {

using FilterPtr = std::shared_ptr<core::Filter>;

// What will be told of a change: announced before it is made, so that telling of it cannot fail; committed once it was
// made, and dropped if it was not. Thread-compatible.
class Announcement {
 public:
  virtual ~Announcement() = default;
  // Once.
  virtual void Commit() noexcept = 0;
};
// Null: it is reported to nothing.
using AnnouncementPtr = std::unique_ptr<Announcement>;

inline void Commit(const AnnouncementPtr& announcement) noexcept {
  if (announcement != nullptr) announcement->Commit();
}

// The content of a filter that has no name yet, where the log can refer to it. Of use for as long as it is held.
class PreparedContent {
 public:
  virtual ~PreparedContent() = default;
};

enum class RenameOutcome { kRenamed, kNoSource, kTargetExists, kOutOfMemory };

// When an expiry may be set; those that are given must all hold. A name without an expiry is one that ends after any
// other.
enum ExpiryCondition : uint32_t {
  kIfNoExpiry = 1 << 0,
  kIfExpiry = 1 << 1,
  kIfLater = 1 << 2,
  kIfSooner = 1 << 3,
};

// What a name means at one moment, for WATCH: see Keyspace::StateOf.
struct NameState {
  uint64_t stamp = 0;    // of the last change of the name's meaning, never used twice; 0: it means nothing
  uint64_t changes = 0;  // ChangeCount of its filter; of a missing name how many names its shards had seen come to be
};

struct ExpiryStats {
  uint64_t names = 0;           // that have an expiry
  int64_t average_ms_left = 0;  // of them
  uint64_t expired = 0;         // names removed because their time had come
};

// Longer names are refused, so that a change of one always has room in a frame of the log.
inline constexpr size_t kMaxNameBytes = 1 << 20;

// What a name takes beside its bytes: map node, bucket, expiry, reservation, and the filter's own objects, rounded up.
inline constexpr uint64_t kNameOverheadBytes = 256;

// What throws std::bad_alloc has changed nothing.
class Keyspace {
 public:
  virtual ~Keyspace() = default;

  // To be called for a filter that is not as it was made, before it gets its first name, and held until it has it; from
  // now on it is not changed. Without it a name would wait for the disk. Takes as long as the disk to make a large
  // filter durable; null if there is nothing to do. An error: the disk or the memory refuses it.
  virtual core::Result<std::unique_ptr<PreparedContent>> Prepare(const FilterPtr& filter) = 0;
  // A filter has one name. Null if there is none of this name.
  virtual FilterPtr Find(std::string_view name) const = 0;
  // Publishes `filter` if the name is free. Returns what the name holds afterwards: `filter`, or the one that was
  // there first; null, and nothing published, if the memory budget or the system refuses memory for the name.
  virtual FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t expires_ms = 0) = 0;
  // Publishes `filter` in place of whatever is there. False, and nothing done, if memory for the name is refused.
  virtual bool Put(std::string_view name, FilterPtr filter, int64_t expires_ms) = 0;
  // Puts `replacement` where `expected` still is; false, and nothing done, if something else is there by now. The name
  // keeps its expiry.
  virtual bool Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) = 0;
  virtual bool Remove(std::string_view name) = 0;
  // Atomic: at no moment does anybody, a snapshot included, see both names or neither. A filter under the target name
  // is replaced, unless `only_if_absent`. Renaming to itself is kRenamed if it exists (kTargetExists if
  // `only_if_absent`). kOutOfMemory, and nothing renamed, if memory for the new name is refused. The expiry goes along.
  virtual RenameOutcome Rename(std::string_view from, std::string_view to, bool only_if_absent) = 0;
  // To be told of a filter whose content was changed by other means than Add and Remove, once it was, and before that
  // is acknowledged. Takes as long as the disk to make a large filter durable. An error: the disk or the memory refuses
  // it, and the change lasts from the next snapshot on.
  virtual core::Status NoteRewritten(const FilterPtr& filter) = 0;
  // Removes everything. Memory of what was removed is freed in the background if `background`.
  virtual void Flush(bool background) = 0;

  virtual uint64_t Size() const = 0;
  using Visitor = std::function<void(std::string_view name, const FilterPtr& filter)>;
  // Visits about `count` or more filters from `cursor` on (0: from the start) and returns the next cursor, 0 at the
  // end. What is there during a whole iteration is visited at least once. The visitor must not call the keyspace.
  virtual uint64_t Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const = 0;

  // Some name, each with about the same chance; nothing if there is none.
  virtual std::optional<std::string> RandomName() const = 0;

  // False, and nothing done, if there is no such name or a condition (ExpiryCondition, ORed) does not hold. An expiry
  // that is past removes the name at once; 0 takes the expiry away.
  virtual bool SetExpiry(std::string_view name, int64_t expires_ms, uint32_t conditions) = 0;
  // 0 if it has none; nothing if there is no such name.
  virtual std::optional<int64_t> ExpiryOf(std::string_view name) const = 0;
  virtual ExpiryStats Expiries() const = 0;
  // The time that expiries are compared with.
  virtual int64_t NowMs() const = 0;

  // What the name means now, to be compared later: whether anything happened to it since.
  virtual NameState StateOf(std::string_view name) const = 0;
  // False if the name's meaning, its expiry or the content of its filter changed since it had this state, even if it is
  // the same again by now. Rarely also false for a name that was missing all the time: if very many others were
  // created.
  virtual bool IsUnchanged(std::string_view name, const NameState& state) const = 0;

  // The account that every filter of this keyspace takes its memory from.
  virtual core::MemoryBudget& memory() = 0;
};

}  // namespace bitsieve::server
