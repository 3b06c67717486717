#include "core/filter/change_history.h"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "core/filter/change_runs.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

namespace {

constexpr size_t kMinRoomHashes = 64;
constexpr size_t kHashesPerRun = 4;  // a room has a place for a run for each so many hashes

struct Histories {
  Mutex mutex;
  std::unordered_map<const Filter*, std::shared_ptr<ChangeHistory>> all BITSIEVE_GUARDED_BY(mutex);
};

Histories& AllHistories() {
  static Histories& histories = *new Histories;
  return histories;
}

// Never 0.
uint64_t RandomNumber() {
  const uint64_t number = RandomSeed();
  return number == 0 ? 1 : number;
}

}  // namespace

// Both lists are only appended to, within their capacity: what was there stays where it is.
struct ChangeHistory::Room {
  struct Run {
    uint64_t begin;  // position of its first hash
    uint64_t time_ms;
    uint64_t until_ms;
    ChangeKind kind;
  };

  Room(size_t capacity, uint64_t its_begin)
      : begin(its_begin),
        max_hashes(capacity),
        max_runs(capacity / kHashesPerRun),
        hashes(std::make_unique_for_overwrite<KeyHash[]>(max_hashes)),
        runs(std::make_unique_for_overwrite<Run[]>(max_runs)) {}
  static uint64_t BytesFor(size_t capacity) {
    return sizeof(Room) + capacity * sizeof(KeyHash) + capacity / kHashesPerRun * sizeof(Run);
  }
  uint64_t bytes() const { return BytesFor(max_hashes); }

  bool HasRunFor(const Change& change) const {
    if (run_count == 0) return false;
    const Run& newest = runs[run_count - 1];
    return newest.kind == change.kind && newest.time_ms == change.time_ms && newest.until_ms == change.until_ms;
  }
  // Returns whether there is room for a hash of this change.
  bool Fits(const Change& change) const { return size < max_hashes && (run_count < max_runs || HasRunFor(change)); }
  // Appends as many of the hashes as there is room for. Returns their number.
  size_t Append(const Change& change, std::span<const KeyHash> rest) {
    if (!HasRunFor(change)) runs[run_count++] = {begin + size, change.time_ms, change.until_ms, change.kind};
    const size_t count = std::min(rest.size(), max_hashes - size);
    std::ranges::copy(rest.first(count), hashes.get() + size);
    size += count;
    return count;
  }

  const uint64_t begin;  // position of the first hash
  const size_t max_hashes;
  const size_t max_runs;
  const std::unique_ptr<KeyHash[]> hashes;
  const std::unique_ptr<Run[]> runs;
  // Protected by the history's lock.
  size_t size = 0;
  size_t run_count = 0;
};

ChangeHistory::ChangeHistory(std::shared_ptr<MemoryBudget> memory, const Clock& clock)
    : memory_(std::move(memory)), clock_(clock), read_ms_(clock.MonotonicMs()) {
  end_.history = RandomNumber();
}

ChangeHistory::~ChangeHistory() { memory_->GiveBack(used_bytes_); }

void ChangeHistory::Clear() noexcept {
  rooms_.clear();
  memory_->GiveBack(std::exchange(used_bytes_, 0));
  end_ = {RandomNumber(), 0};
}

void ChangeHistory::DropOldest() noexcept {
  const uint64_t bytes = rooms_.front()->bytes();
  rooms_.pop_front();
  used_bytes_ -= bytes;
  memory_->GiveBack(bytes);
}

bool ChangeHistory::AddRoom() noexcept {
  const size_t capacity = rooms_.empty() ? kMinRoomHashes : std::min(rooms_.back()->max_hashes * 2, kMaxRoomHashes);
  const uint64_t bytes = Room::BytesFor(capacity);
  while (!rooms_.empty() && used_bytes_ + bytes > memory_->free_bytes()) DropOldest();
  if (!memory_->TryTake(bytes)) return false;
  try {
    rooms_.push_back(std::make_shared<Room>(capacity, end_.changes));
  } catch (const std::bad_alloc&) {
    memory_->GiveBack(bytes);
    return false;
  }
  used_bytes_ += bytes;
  return true;
}

bool ChangeHistory::MakeRoomFor(const Change& change) noexcept {
  return (!rooms_.empty() && rooms_.back()->Fits(change)) || AddRoom();
}

bool ChangeHistory::Add(const Change& change) noexcept {
  const LockGuard lock(lock_);
  if (has_ended()) return false;
  if (is_idle()) {
    has_ended_.store(true, std::memory_order_relaxed);
    Clear();
    return false;
  }
  for (std::span<const KeyHash> rest = change.hashes; !rest.empty();) {
    if (!MakeRoomFor(change)) {
      Clear();
      return true;
    }
    const size_t count = rooms_.back()->Append(change, rest);
    rest = rest.subspan(count);
    end_.changes += count;
  }
  return true;
}

bool ChangeHistory::Restart() noexcept {
  const LockGuard lock(lock_);
  if (has_ended()) return false;
  Clear();
  return true;
}

ChangePosition ChangeHistory::position() const {
  const LockGuard lock(lock_);
  return end_;
}

bool ChangeHistory::KeepAlive() {
  const LockGuard lock(lock_);
  if (!has_ended()) read_ms_.store(clock_.MonotonicMs(), std::memory_order_relaxed);
  return !has_ended();
}

void ChangeHistory::End() noexcept {
  const LockGuard lock(lock_);
  has_ended_.store(true, std::memory_order_relaxed);
  Clear();
}

bool ChangeHistory::is_idle() const {
  return clock_.MonotonicMs() - read_ms_.load(std::memory_order_relaxed) > kPatienceMs;
}

uint64_t ChangeHistory::used_bytes() const {
  const LockGuard lock(lock_);
  return used_bytes_;
}

std::optional<ChangeHistory::Page> ChangeHistory::Since(const ChangePosition& position, size_t most) {
  Page page;
  {
    const LockGuard lock(lock_);
    if (has_ended() || position.history != end_.history || position.changes > end_.changes) return std::nullopt;
    read_ms_.store(clock_.MonotonicMs(), std::memory_order_relaxed);
    const uint64_t begin = rooms_.empty() ? end_.changes : rooms_.front()->begin;
    if (position.changes < begin) return std::nullopt;
    page.end_ = {end_.history, std::min(end_.changes, position.changes + most)};
    page.is_last_ = page.end_ == end_;
    const auto after = std::ranges::upper_bound(rooms_, position.changes, {}, [](const auto& r) { return r->begin; });
    for (auto room = after == rooms_.begin() ? after : after - 1; room != rooms_.end(); ++room) {
      const uint64_t from = std::max(position.changes, (*room)->begin);
      const uint64_t to = std::min(page.end_.changes, (*room)->begin + (*room)->size);
      if ((*room)->begin >= page.end_.changes) break;
      if (from < to) page.parts_.push_back({*room, (*room)->run_count, from, to});
    }
  }
  page.ForEachRun([&page](const auto& run, std::span<const KeyHash> hashes) {
    page.bytes_ += ChangeRunBytes(run.time_ms, run.until_ms, hashes.size());
  });
  return page;
}

// Calls use(run, its hashes on this page).
template <class Use>
void ChangeHistory::Page::ForEachRun(const Use& use) const {
  for (const Part& part : parts_) {
    const Room& room = *part.room;
    for (size_t i = 0; i < part.runs; ++i) {
      const uint64_t run_end = i + 1 < part.runs ? room.runs[i + 1].begin : part.end;
      const uint64_t begin = std::max(part.begin, room.runs[i].begin), end = std::min(part.end, run_end);
      if (begin < end) use(room.runs[i], std::span(room.hashes.get() + (begin - room.begin), end - begin));
    }
  }
}

void ChangeHistory::Page::AppendTo(std::string& out) const {
  ForEachRun([&out](const auto& run, std::span<const KeyHash> hashes) {
    AppendChangeRun({run.kind, 0, 0, run.time_ms, hashes, run.until_ms}, out);
  });
}

std::shared_ptr<ChangeHistory> HistoryOf(const Filter& filter) {
  Histories& histories = AllHistories();
  const LockGuard lock(histories.mutex);
  return histories.all.at(&filter);
}

void SetHistoryOf(const Filter& filter, std::shared_ptr<ChangeHistory> history) {
  Histories& histories = AllHistories();
  const LockGuard lock(histories.mutex);
  histories.all[&filter].swap(history);
}

void ForgetHistoryOf(const Filter& filter) noexcept {
  std::shared_ptr<ChangeHistory> forgotten;  // dies after the lock is gone
  Histories& histories = AllHistories();
  const LockGuard lock(histories.mutex);
  const auto found = histories.all.find(&filter);
  if (found == histories.all.end()) return;
  forgotten = std::move(found->second);
  histories.all.erase(found);
}

}  // namespace bitsieve::core
