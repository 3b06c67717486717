#include "server/keyspace/registry.h"

#include <algorithm>
#include <new>
#include <random>
#include <utility>

#include "core/hash/key_hash.h"
#include "server/keyspace/registry_parts.h"

namespace bitsieve::server {
namespace {

// So many are taken out under one lock before others get their turn.
constexpr size_t kExpiredAtATime = 64;

bool Holds(uint32_t conditions, int64_t had_ms, int64_t asked_ms) {
  if ((conditions & kIfNoExpiry) && had_ms != 0) return false;
  if ((conditions & kIfExpiry) && had_ms == 0) return false;
  if ((conditions & kIfLater) && (had_ms == 0 || asked_ms <= had_ms)) return false;
  if ((conditions & kIfSooner) && had_ms != 0 && asked_ms >= had_ms) return false;
  return true;
}

}  // namespace

Registry::Registry(core::MemoryBudget& memory, const core::Clock& clock, const core::Clock& filter_clock)
    : memory_(memory),
      clock_(clock),
      filter_clock_(filter_clock),
      seed_(core::RandomSeed()),
      locks_(std::make_unique<Lock[]>(kLocks)),
      reaper_(std::make_unique<Reaper>([this] {
        RemoveExpired();
        return AnyExpiry();
      })) {}

Registry::~Registry() = default;

Registry::Name Registry::Hashed(std::string_view name) const {
  const core::KeyHash hash = core::HashItem(name, seed_);
  return {name, hash.low % kShards, hash.high};
}

Registry::Lock& Registry::LockOf(size_t shard) const { return locks_[shard % kLocks]; }

FilterPtr Registry::Find(std::string_view text) const {
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  const Shard& shard = lock.ShardOf(name.shard);
  const auto found = shard.map.find(name);
  return found == shard.map.end() || IsDue(found->second, clock_) ? nullptr : found->second.filter;
}

// `refused` if memory is. Each operation allocates before it changes anything.
template <class Operation, class Result>
Result Registry::UnlessMemoryIsRefused(const Operation& operation, Result refused) {
  try {
    return operation();
  } catch (const std::bad_alloc&) {
    return refused;
  }
}

FilterPtr Registry::InsertIfAbsent(std::string_view text, FilterPtr filter, int64_t expires_ms) {
  return UnlessMemoryIsRefused([&] { return DoInsertIfAbsent(text, filter, expires_ms); }, FilterPtr());
}

bool Registry::Put(std::string_view text, FilterPtr filter, int64_t expires_ms) {
  return UnlessMemoryIsRefused([&] { return DoPut(text, std::move(filter), expires_ms); }, false);
}

RenameOutcome Registry::Rename(std::string_view from, std::string_view to, bool only_if_absent) {
  return UnlessMemoryIsRefused([&] { return DoRename(from, to, only_if_absent); }, RenameOutcome::kOutOfMemory);
}

FilterPtr Registry::DoInsertIfAbsent(std::string_view text, const FilterPtr& filter, int64_t expires_ms) {
  const Name name = Hashed(text);
  core::MemoryReservation memory = core::MemoryReservation::TryTake(memory_, kNameOverheadBytes + text.size());
  {
    ExpiredName due(*this);
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, name.shard);
    due.node = view.TakeIfDue(name);
    const auto found = view.map().find(name);
    if (found != view.map().end()) return found->second.filter;
    if (!memory.held()) return nullptr;
    const AnnouncementPtr announcement = AnnounceNamed(lock.log, text, filter, expires_ms);
    view.Add(name, Entry{filter, std::move(memory), expires_ms, CountChange()});
    Commit(announcement);
  }
  SweepIfExpiring(expires_ms);
  return filter;
}

bool Registry::DoPut(std::string_view text, FilterPtr filter, int64_t expires_ms) {
  const Name name = Hashed(text);
  core::MemoryReservation memory = core::MemoryReservation::TryTake(memory_, kNameOverheadBytes + text.size());
  if (!memory.held()) return false;
  {
    ExpiredName due(*this);
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, name.shard);
    due.node = view.TakeIfDue(name);
    const auto found = view.map().find(name);
    if (found != view.map().end()) view.Keep(found);
    const AnnouncementPtr announcement = AnnounceNamed(lock.log, text, filter, expires_ms);
    if (found == view.map().end()) {
      view.Add(name, Entry{std::move(filter), std::move(memory), expires_ms, CountChange()});
    } else {
      view.SetExpiry(found, expires_ms);
      found->second.filter.swap(filter);  // what was there dies with the argument, after the lock is gone
      found->second.stamp = CountChange();
    }
    Commit(announcement);
  }
  SweepIfExpiring(expires_ms);
  return true;
}

bool Registry::Replace(std::string_view text, const FilterPtr& expected, FilterPtr replacement) {
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  View view(*this, lock, name.shard);
  const auto found = view.map().find(name);
  if (found == view.map().end()) return false;
  // The caller's argument dies after the lock is gone, and what was replaced with it.
  return view.Replace(found, expected, replacement);
}

bool Registry::ReplaceAnywhere(const FilterPtr& expected, FilterPtr replacement, std::string* name_found) {
  const core::LockGuard one(seeking_);
  (void)SetSought(expected.get(), AllLocked(*this));
  bool replaced = false;
  for (size_t i = 0; i < kShards && !replaced; ++i) {
    Lock& lock = LockOf(i);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, i);
    for (auto entry = view.map().begin(); entry != view.map().end() && !replaced; ++entry) {
      replaced = view.Replace(entry, expected, replacement);
      if (replaced && name_found != nullptr) *name_found = entry->first.text;
    }
  }
  const AllLocked all(*this);
  const std::optional<std::string> renamed = SetSought(nullptr, all);
  if (replaced || !renamed) return replaced;
  const Name name = Hashed(*renamed);
  Lock& lock = LockOf(name.shard);
  lock.mutex.AssertHeld();  // as all are
  View view(*this, lock, name.shard);
  const auto found = view.map().find(name);
  replaced = found != view.map().end() && view.Replace(found, expected, replacement);
  if (replaced && name_found != nullptr) *name_found = *renamed;
  return replaced;
}

// Returns the name that the previous filter was given in between.
std::optional<std::string> Registry::SetSought(const core::Filter* filter, const AllLocked& all) {
  for (Lock& lock : all) {
    lock.mutex.AssertHeld();
    lock.sought = filter;
  }
  const core::LockGuard handover(handover_);
  return std::exchange(sought_name_, std::nullopt);
}

bool Registry::Remove(std::string_view text) {
  const Name name = Hashed(text);
  ExpiredName due(*this);
  Shard::Node removed;  // dies after the lock is gone
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  View view(*this, lock, name.shard);
  due.node = view.TakeIfDue(name);
  const auto found = view.map().find(name);
  if (found == view.map().end()) return false;
  view.Keep(found);
  const AnnouncementPtr announcement = AnnounceUnnamed(lock.log, text);
  removed = view.Take(found);
  Commit(announcement);
  CountChange();
  return true;
}

RenameOutcome Registry::DoRename(std::string_view from_text, std::string_view to_text, bool only_if_absent) {
  const Name from = Hashed(from_text);
  const Name to = Hashed(to_text);
  // All made, and so all dead, outside of the locks.
  StoredName new_name{std::string(to_text), to.hash};
  core::MemoryReservation memory = core::MemoryReservation::TryTake(memory_, kNameOverheadBytes + to_text.size());
  ExpiredName due(*this), due_target(*this);
  Shard::Node replaced;

  Lock& from_lock = LockOf(from.shard);
  Lock& to_lock = LockOf(to.shard);
  const TwoLocked guard(from_lock, to_lock);
  View source(*this, from_lock, from.shard), target(*this, to_lock, to.shard);
  due.node = source.TakeIfDue(from);
  due_target.node = target.TakeIfDue(to);
  target.MakeRoom();
  const auto moving = source.map().find(from);
  if (moving == source.map().end()) return RenameOutcome::kNoSource;
  const auto there = target.map().find(to);
  const bool taken = there != target.map().end();
  if (taken && only_if_absent) return RenameOutcome::kTargetExists;
  if (from_text == to_text) return RenameOutcome::kRenamed;
  if (!memory.held()) return RenameOutcome::kOutOfMemory;

  source.Keep(moving);
  if (taken) target.Keep(there);
  KeyspaceLog* const log = from_lock.log;
  const AnnouncementPtr announcement = log == nullptr ? nullptr : log->Renamed(from_text, to_text);
  if (moving->second.filter.get() == from_lock.sought) {
    const core::LockGuard handover(handover_);
    sought_name_ = to_text;
  }
  target.IndexAhead(source, moving);
  // From here on nothing fails.
  if (taken) replaced = target.Take(there);
  Shard::Node node = source.MoveOut(target, moving);
  std::swap(node.mapped().memory, memory);
  node.key() = std::move(new_name);
  node.mapped().stamp = CountChange();
  target.MoveIn(std::move(node));
  Commit(announcement);
  return RenameOutcome::kRenamed;
}

void Registry::Flush(bool background) {
  const auto remains = std::make_shared<Remains>();
  remains->shards.resize(kShards);
  remains->expiries.resize(kLocks);
  {
    const AllLocked all(*this);
    Lock& lock = *all.begin();
    lock.mutex.AssertHeld();
    const AnnouncementPtr announcement = lock.log == nullptr ? nullptr : lock.log->Flushed();
    for (size_t i = 0; i < kShards; ++i) {
      Shard& shard = all.ShardOf(i);
      remains->shards[i].map.swap(shard.map);
      remains->shards[i].visited = std::exchange(shard.visited, lock.epoch);
    }
    auto expiries = remains->expiries.begin();
    for (Lock& each : all) {
      each.mutex.AssertHeld();
      each.expiries.TakeAll(*expiries++);
    }
    size_.store(0, std::memory_order_relaxed);
    // A later flush finds nothing that is older than the collection.
    if (remains->shards.back().visited != lock.epoch) {
      const core::LockGuard handover(handover_);
      flushed_ = remains;
    }
    Commit(announcement);
    CountChange();
  }
  if (background) reaper_->Take(remains);
}

uint64_t Registry::Size() const {
  if (!AnyDue()) return size_.load(std::memory_order_relaxed);
  const AllLocked all(*this);
  const int64_t now = clock_.WallMs();
  uint64_t due = 0;
  for (Lock& lock : all) {
    lock.mutex.AssertHeld();
    due += lock.expiries.CountDue(now);
  }
  return size_.load(std::memory_order_relaxed) - due;
}

uint64_t Registry::Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const {
  uint64_t visited = 0;
  while (cursor < kShards && visited < count) {
    Lock& lock = LockOf(cursor);
    const core::LockGuard guard(lock.mutex);
    const Shard& shard = lock.ShardOf(cursor);
    for (const auto& [name, entry] : shard.map) {
      if (!IsDue(entry, clock_)) visitor(name.text, entry.filter);
    }
    visited += shard.map.size();
    ++cursor;
  }
  return cursor < kShards ? cursor : 0;
}

std::optional<std::string> Registry::RandomName() const {
  constexpr int kTries = 64;
  thread_local std::mt19937_64 random(core::RandomSeed());
  for (int i = 0; i < kTries; ++i) {
    const AllLocked all(*this);
    const uint64_t names = size_.load(std::memory_order_relaxed);
    if (names == 0) return std::nullopt;
    uint64_t skipped = random() % names;
    size_t shard = 0;
    while (skipped >= all.ShardOf(shard).map.size()) skipped -= all.ShardOf(shard++).map.size();
    const auto at = std::next(all.ShardOf(shard).map.begin(), static_cast<ptrdiff_t>(skipped));
    if (!IsDue(at->second, clock_)) return at->first.text;
  }
  return LookForName();
}

// When nearly all names have ended, and are not removed yet: the first that has not.
std::optional<std::string> Registry::LookForName() const {
  for (size_t i = 0; i < kShards; ++i) {
    Lock& lock = LockOf(i);
    const core::LockGuard guard(lock.mutex);
    for (const auto& [name, entry] : lock.ShardOf(i).map) {
      if (!IsDue(entry, clock_)) return name.text;
    }
  }
  return std::nullopt;
}

bool Registry::SetExpiry(std::string_view text, int64_t expires_ms, uint32_t conditions) {
  const Name name = Hashed(text);
  {
    ExpiredName due(*this);
    Shard::Node removed;  // dies after the lock is gone
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, name.shard);
    due.node = view.TakeIfDue(name);
    const auto found = view.map().find(name);
    if (found == view.map().end() || !Holds(conditions, found->second.expires_ms, expires_ms)) return false;
    view.Keep(found);
    const bool changes = found->second.expires_ms != expires_ms;
    const bool ends = expires_ms != 0 && expires_ms <= clock_.WallMs();
    const AnnouncementPtr change = changes && lock.log != nullptr ? lock.log->ExpirySet(text, expires_ms) : nullptr;
    const AnnouncementPtr end = ends ? AnnounceUnnamed(lock.log, text) : nullptr;
    view.SetExpiry(found, expires_ms);
    Commit(change);
    if (changes) found->second.stamp = CountChange();
    if (ends) removed = view.Take(found);
    Commit(end);
  }
  SweepIfExpiring(expires_ms);
  return true;
}

std::optional<int64_t> Registry::ExpiryOf(std::string_view text) const {
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  const Shard& shard = lock.ShardOf(name.shard);
  const auto found = shard.map.find(name);
  if (found == shard.map.end() || IsDue(found->second, clock_)) return std::nullopt;
  return found->second.expires_ms;
}

NameState Registry::StateOf(std::string_view text) const {
  const Name name = Hashed(text);
  FilterPtr filter;
  uint64_t stamp = 0;
  {
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    const Shard& shard = lock.ShardOf(name.shard);
    const auto found = shard.map.find(name);
    if (found == shard.map.end() || IsDue(found->second, clock_)) {
      return {.stamp = 0, .changes = lock.created.noted()};
    }
    filter = found->second.filter;
    stamp = found->second.stamp;
  }
  return {.stamp = stamp, .changes = filter->ChangeCount()};
}

bool Registry::IsUnchanged(std::string_view text, const NameState& state) const {
  const NameState now = StateOf(text);
  if (now.stamp != state.stamp) return false;
  if (now.stamp != 0) return now.changes == state.changes;
  // It is missing as it was; but it may have come and gone.
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  return !lock.created.MayHaveNoted(name.hash, state.changes);
}

ExpiryStats Registry::Expiries() const {
  ExpiryStats stats{.expired = expired_.load(std::memory_order_relaxed)};
  __int128 sum_ms = 0;
  for (size_t i = 0; i < kLocks; ++i) {
    Lock& lock = locks_[i];
    const core::LockGuard guard(lock.mutex);
    stats.names += lock.expiries.items().size();
    sum_ms += lock.expiries.sum_ms();
  }
  if (stats.names == 0) return stats;
  const auto average_ms = static_cast<int64_t>(sum_ms / static_cast<__int128>(stats.names));
  stats.average_ms_left = std::max<int64_t>(0, average_ms - clock_.WallMs());
  return stats;
}

core::MemoryBudget& Registry::memory() { return memory_; }

void Registry::SetLog(KeyspaceLog* log) {
  const AllLocked all(*this);
  for (Lock& lock : all) {
    lock.mutex.AssertHeld();
    lock.log = log;
  }
  for (size_t i = 0; i < kShards; ++i) {
    for (const auto& [name, entry] : all.ShardOf(i).map) {
      core::Filter& filter = *entry.filter;
      filter.Attach(log == nullptr ? nullptr : &log->listener(), filter.id(), filter.sequence());
    }
  }
}

KeyspaceLog* Registry::Log() const {
  Lock& lock = LockOf(0);
  const core::LockGuard guard(lock.mutex);
  return lock.log;
}

core::Result<std::unique_ptr<PreparedContent>> Registry::Prepare(const FilterPtr& filter) {
  KeyspaceLog* const log = Log();
  return log == nullptr ? nullptr : log->Prepare(filter);
}

core::Status Registry::NoteRewritten(const FilterPtr& filter) {
  KeyspaceLog* const log = Log();
  return log == nullptr ? core::Status() : log->Rewritten(filter);
}

// Some lock, so that the log is still there.
void Registry::NoteFreezing(const FilterPtr& filter) {
  Lock& lock = LockOf(0);
  const core::LockGuard guard(lock.mutex);
  if (lock.log != nullptr) Commit(lock.log->Freezing(*filter));
}

uint64_t Registry::ChangeCount() const { return changes_.load(std::memory_order_relaxed); }

void Registry::RemoveExpired() {
  for (size_t i = 0; i < kLocks; ++i) {
    Lock& lock = locks_[i];
    while (lock.NextExpiryHint() <= clock_.WallMs()) {
      std::vector<Shard::Node> removed;
      removed.reserve(kExpiredAtATime);
      {
        const core::LockGuard guard(lock.mutex);
        const int64_t now = clock_.WallMs();
        while (removed.size() < kExpiredAtATime && lock.expiries.next_ms() <= now) {
          removed.push_back(View::TakeFirstExpired(*this, lock));
        }
      }
      if (!on_expired_) continue;
      for (const Shard::Node& node : removed) on_expired_(node.key().text);
    }
  }
}

bool Registry::AnyDue() const {
  const int64_t now = clock_.WallMs();
  return std::any_of(locks_.get(), locks_.get() + kLocks,
                     [now](const Lock& lock) { return lock.NextExpiryHint() <= now; });
}

bool Registry::AnyExpiry() const {
  return std::any_of(locks_.get(), locks_.get() + kLocks,
                     [](const Lock& lock) { return lock.NextExpiryHint() != ExpiryIndex::kNever; });
}

void Registry::SweepIfExpiring(int64_t expires_ms) {
  if (expires_ms != 0) reaper_->Sweep();
}

}  // namespace bitsieve::server
