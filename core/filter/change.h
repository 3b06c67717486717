// change.h: one batch of changes of a filter's content, and who receives it. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

enum class ChangeKind : uint8_t {
  kAdded,
  kRemoved,
  kFalsePositives,  // the items became known false positives
  kRenewed,         // items that were there expire later
  kRewritten,       // the content was changed by other means, and an image of it was captured at this moment
};

// Returns whether a change of this kind may have a time, and a time at which its items expire. Additions, removals and
// renewals may have a time; items that are renewed expire.
constexpr bool MayHaveTimes(ChangeKind kind, bool timed, bool expires) {
  switch (kind) {
    case ChangeKind::kAdded:
      return timed || !expires;
    case ChangeKind::kRemoved:
      return !expires;
    case ChangeKind::kRenewed:
      return timed && expires;
    case ChangeKind::kFalsePositives:
    case ChangeKind::kRewritten:
      break;
  }
  return !timed && !expires;
}

// One batch that changed a filter.
struct Change {
  ChangeKind kind;
  uint64_t filter_id;
  uint64_t sequence;                // 1 for the first, then one more each
  uint64_t time_ms;                 // when, by the clock of a type that ages; 0 for all others
  std::span<const KeyHash> hashes;  // those that changed something, in order: replaying them has the same effect
                                    // again. None if the content was rewritten
  uint64_t until_ms = 0;            // of items that were added or renewed, and expire: when; 0 for all others
};

// Receives every change of a filter's content, in order, on the thread that makes it, before any other change can be
// made. So it must be quick, and must not call the filter. It cannot fail: what it needs is reserved before the change
// is made.
class ChangeListener {
 public:
  static constexpr size_t kMaxHashes = 64;  // of one change

  virtual ~ChangeListener() = default;
  // Makes sure that a change of up to `hashes` hashes can be reported. Returns false if memory is refused: the change
  // must then not be made.
  [[nodiscard]] virtual bool Reserve(size_t hashes) noexcept = 0;
  // Ends a reservation of `hashes` hashes without a report, since nothing changed.
  virtual void Release(size_t hashes) noexcept = 0;
  // Reports the change and ends the reservation, which was made for `reserved` hashes. The report of a rewrite takes no
  // more room than that of one hash.
  virtual void OnChange(const Change& change, size_t reserved) noexcept = 0;
};

}  // namespace bitsieve::core
