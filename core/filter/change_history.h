// change_history.h: the latest changes of one filter, in memory, for copies of it that are kept up to date elsewhere.
// A program that has an image of the filter reads the changes since the image, and again those since the last read:
// however many copies there are, the history keeps no state for any of them.
//
// Idea        Changes are hashes, in order. The history numbers them; a position is the number of hashes before it. The
//             hashes lie in rooms that grow from 1 to 64 kB, and are only appended to, so that a reader needs the lock
//             for as long as it takes to list the rooms, and the filter's writers never wait for bytes to be copied.
//             Within a room, hashes of the same kind and times are one run.
// Memory      Rooms are taken from a budget that all histories share. A history takes another room only while it has no
//             more than what the budget has left, and gives up its oldest one first otherwise: a busy one gets at most
//             half of the budget, and there is always room for a new one (Choudhury and Hahne, "Dynamic Queue Length
//             Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998).
// End         A history that has not been read for ten minutes ends at the next change, or when End is called.
// Threads     thread-safe. Add, Restart and position are called with the lock of the filter's writers held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/mutex.h"
#include "core/base/spin_lock.h"
#include "core/filter/change.h"
#include "core/filter/change_position.h"

namespace bitsieve::core {

class Filter;

class ChangeHistory {
  struct Room;

 public:
  // The time after which a history that is not read ends.
  static constexpr int64_t kPatienceMs = 600'000;
  static constexpr size_t kMaxRoomHashes = 4096;

  // The clock outlives it.
  explicit ChangeHistory(std::shared_ptr<MemoryBudget> memory, const Clock& clock = SystemClock());
  ChangeHistory(const ChangeHistory&) = delete;
  ChangeHistory& operator=(const ChangeHistory&) = delete;
  ~ChangeHistory();

  // Appends a change. Returns false, and appends nothing, once the history has ended.
  bool Add(const Change& change) noexcept;
  // Begins a new history, under another number: the content was changed in a way that no hashes describe. Returns false
  // once the history has ended.
  bool Restart() noexcept;
  ChangePosition position() const;

  // The changes between two positions. The memory of the history stays as long as this.
  class Page {
   public:
    const ChangePosition& end() const { return end_; }
    // Returns whether the history has no later changes.
    bool is_last() const { return is_last_; }
    // Returns the size of what AppendTo appends.
    size_t bytes() const { return bytes_; }
    // Appends the changes as runs (change_runs.h).
    void AppendTo(std::string& out) const;

   private:
    friend class ChangeHistory;
    struct Part {
      std::shared_ptr<const Room> room;
      size_t runs;          // that the room had
      uint64_t begin, end;  // positions
    };
    template <class Use>
    void ForEachRun(const Use& use) const;

    std::vector<Part> parts_;
    ChangePosition end_;
    bool is_last_ = true;
    size_t bytes_ = 0;
  };
  // Returns up to `most` changes after the position; nothing if it is not, or no longer, in the history. Counts as a
  // read.
  std::optional<Page> Since(const ChangePosition& position, size_t most);

  // Counts as a read. Returns false once the history has ended.
  bool KeepAlive();
  // Ends the history, and frees its memory.
  void End() noexcept;
  bool has_ended() const { return has_ended_.load(std::memory_order_relaxed); }
  // Returns whether it has not been read for kPatienceMs.
  bool is_idle() const;
  uint64_t used_bytes() const;

 private:
  void Clear() noexcept BITSIEVE_REQUIRES(lock_);
  // Returns whether the newest room takes a hash of a run of this kind and these times, having made room if needed.
  bool MakeRoomFor(const Change& change) noexcept BITSIEVE_REQUIRES(lock_);
  bool AddRoom() noexcept BITSIEVE_REQUIRES(lock_);
  void DropOldest() noexcept BITSIEVE_REQUIRES(lock_);

  const std::shared_ptr<MemoryBudget> memory_;
  const Clock& clock_;
  std::atomic<bool> has_ended_{false};  // relaxed: only a hint outside of the lock
  std::atomic<int64_t> read_ms_;        // relaxed: only a hint
  mutable SpinLock lock_;               // for some dozen instructions, or a room's allocation
  std::deque<std::shared_ptr<Room>> rooms_ BITSIEVE_GUARDED_BY(lock_);
  uint64_t used_bytes_ BITSIEVE_GUARDED_BY(lock_) = 0;  // of the budget
  ChangePosition end_ BITSIEVE_GUARDED_BY(lock_);
};

// The histories of filters, by filter: few at any time, so that no filter needs a place for a pointer. Thread-safe, and
// for Filter only.
std::shared_ptr<ChangeHistory> HistoryOf(const Filter& filter);
void SetHistoryOf(const Filter& filter, std::shared_ptr<ChangeHistory> history);
void ForgetHistoryOf(const Filter& filter) noexcept;

}  // namespace bitsieve::core
