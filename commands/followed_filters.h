// followed_filters.h: the filters that copies elsewhere follow: each has a history of its latest changes
// (core/filter/change_history.h), from the first BF.FOLLOW until no client has read it for ten minutes. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/mutex.h"
#include "core/filter/change_history.h"
#include "core/filter/filter.h"

namespace bitsieve::commands {

// How many changes one request returns at most: by default, and if it sets a limit.
inline constexpr int64_t kDefaultChanges = 4096;
inline constexpr int64_t kMaxChanges = 65536;

class FollowedFilters {
 public:
  // All histories together take at most this much memory. The clock outlives them.
  explicit FollowedFilters(uint64_t limit_bytes, const core::Clock& clock = core::SystemClock())
      : clock_(clock), memory_(std::make_shared<core::MemoryBudget>(limit_bytes)) {}

  // A lower limit takes effect as the histories grow.
  void set_limit_bytes(uint64_t bytes) { memory_->set_limit_bytes(bytes); }
  uint64_t limit_bytes() const { return memory_->limit_bytes(); }
  // Returns the memory of all histories.
  uint64_t used_bytes() const { return memory_->used_bytes(); }

  // Begins a history of the filter, unless it has one. Ends those that are no longer read. Throws std::bad_alloc.
  void Follow(core::Filter& filter);

 private:
  void EndIdle() BITSIEVE_REQUIRES(mutex_);

  const core::Clock& clock_;
  const std::shared_ptr<core::MemoryBudget> memory_;  // of histories that may outlive this
  core::Mutex mutex_;
  std::vector<std::weak_ptr<core::ChangeHistory>> histories_ BITSIEVE_GUARDED_BY(mutex_);
};

// A position as text: the number of the history in 16 hexadecimal digits, a hyphen, and the number of changes.
std::string PositionText(const core::ChangePosition& position);
std::optional<core::ChangePosition> ParsePosition(std::string_view text);

}  // namespace bitsieve::commands
