#include "server/keyspace/registry.h"

#include <algorithm>
#include <new>
#include <random>
#include <span>
#include <type_traits>
#include <utility>

#include "core/hash/key_hash.h"
#include "server/keyspace/registry_parts.h"

namespace bitsieve::server {

using namespace commands;

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

Registry::Registry(Quotas& quotas, const core::Clock& clock, const core::Clock& filter_clock)
    : quotas_(quotas),
      clock_(clock),
      filter_clock_(filter_clock),
      seed_(core::RandomSeed()),
      locks_(std::make_unique<Lock[]>(kLocks)),
      reaper_(std::make_unique<Reaper>([this] {
        RemoveExpired();
        return AnyExpiry();
      })) {
  for (Lock& lock : std::span(locks_.get(), kLocks)) {
    const core::LockGuard guard(lock.mutex);
    for (Shard& shard : lock.shards) shard.names.Init(quotas_, seed_);
  }
}

Registry::~Registry() = default;

Registry::Name Registry::Hashed(std::string_view name) const {
  // No name is longer: one that is sought nevertheless is not there, and is not to take long.
  const core::KeyHash hash = core::HashItem(name.substr(0, kMaxNameBytes), seed_);
  return {name, hash.low % kShards, hash.high};  // as NameTable::HashOf
}

Registry::Lock& Registry::LockOf(size_t shard) const { return locks_[shard % kLocks]; }

FilterPtr Registry::Find(std::string_view text) const {
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  const Shard& shard = lock.ShardOf(name.shard);
  const Entry* const found = shard.names.Find(name.text, name.hash);
  return found == nullptr || IsDue(*found, clock_) ? nullptr : found->filter;
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
  return UnlessMemoryIsRefused([&] { return DoPut(text, filter, expires_ms); }, false);
}

RenameOutcome Registry::Rename(std::string_view from, std::string_view to, bool only_if_absent) {
  return UnlessMemoryIsRefused([&] { return DoRename(from, to, only_if_absent); }, RenameOutcome::kOutOfMemory);
}

// Null if the budget refuses.
EntryPtr Registry::MakeEntry(std::string_view name, const FilterPtr& filter, int64_t expires_ms) {
  EntryPtr entry = NameTable::Make(name, quotas_);
  if (entry == nullptr) return nullptr;
  entry->filter = filter;
  entry->expires_ms = expires_ms;
  return entry;
}

FilterPtr Registry::DoInsertIfAbsent(std::string_view text, const FilterPtr& filter, int64_t expires_ms) {
  const Name name = Hashed(text);
  EntryPtr entry = MakeEntry(text, filter, expires_ms);
  {
    ExpiredName due(*this);
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, name.shard);
    due.entry = view.TakeIfDue(name);
    if (const Entry* const found = view.Find(name)) return found->filter;
    if (entry == nullptr) return nullptr;
    const AnnouncementPtr announcement = AnnounceNamed(lock.log, text, filter, expires_ms);
    entry->SetStamp(CountChange());
    if (!view.Add(name, std::move(entry))) return nullptr;
    Commit(announcement);
  }
  SweepIfExpiring(expires_ms);
  return filter;
}

bool Registry::DoPut(std::string_view text, const FilterPtr& filter, int64_t expires_ms) {
  const Name name = Hashed(text);
  EntryPtr entry = MakeEntry(text, filter, expires_ms);
  if (entry == nullptr) return false;
  {
    ExpiredName due(*this);
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, name.shard);
    due.entry = view.TakeIfDue(name);
    Entry* const found = view.Find(name);
    if (found != nullptr) view.Keep(*found);
    const AnnouncementPtr announcement = AnnounceNamed(lock.log, text, filter, expires_ms);
    if (found == nullptr) {
      entry->SetStamp(CountChange());
      if (!view.Add(name, std::move(entry))) return false;
    } else {
      view.SetExpiry(*found, expires_ms);
      found->filter.swap(entry->filter);  // what was there dies with the new entry, after the lock is gone
      found->SetStamp(CountChange());
    }
    Commit(announcement);
  }
  SweepIfExpiring(expires_ms);
  return true;
}

bool Registry::Remove(std::string_view text) {
  const Name name = Hashed(text);
  ExpiredName due(*this);
  EntryPtr removed;  // dies after the lock is gone
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  View view(*this, lock, name.shard);
  due.entry = view.TakeIfDue(name);
  Entry* const found = view.Find(name);
  if (found == nullptr) return false;
  view.Keep(*found);
  const AnnouncementPtr announcement = AnnounceUnnamed(lock.log, text);
  removed = view.Take(*found, name.hash);
  Commit(announcement);
  CountChange();
  return true;
}

RenameOutcome Registry::DoRename(std::string_view from_text, std::string_view to_text, bool only_if_absent) {
  const Name from = Hashed(from_text);
  const Name to = Hashed(to_text);
  // All made, and so all dead, outside of the locks.
  EntryPtr moved = NameTable::Make(to_text, quotas_);
  ExpiredName due(*this), due_target(*this);
  EntryPtr left, replaced;

  Lock& from_lock = LockOf(from.shard);
  Lock& to_lock = LockOf(to.shard);
  const TwoLocked guard(from_lock, to_lock);
  View source(*this, from_lock, from.shard), target(*this, to_lock, to.shard);
  due.entry = source.TakeIfDue(from);
  due_target.entry = target.TakeIfDue(to);
  Entry* const moving = source.Find(from);
  if (moving == nullptr) return RenameOutcome::kNoSource;
  Entry* const there = target.Find(to);
  if (there != nullptr && only_if_absent) return RenameOutcome::kTargetExists;
  if (from_text == to_text) return RenameOutcome::kRenamed;
  if (moved == nullptr) return RenameOutcome::kOutOfMemory;
  // The filter keeps the budget that it was made with.
  if (moved->quota() != moving->quota()) return RenameOutcome::kOtherQuota;

  source.Keep(*moving);
  if (there != nullptr) target.Keep(*there);
  KeyspaceLog* const log = from_lock.log;
  const AnnouncementPtr announcement = log == nullptr ? nullptr : log->Renamed(from_text, to_text);
  if (moving->filter.get() == from_lock.sought) {
    const core::LockGuard handover(handover_);
    sought_name_ = to_text;
  }
  target.IndexAhead(*moved, moving->expires_ms);
  // From here on nothing fails.
  if (there != nullptr) replaced = target.Take(*there, to.hash);
  left = source.MoveOut(*moving, from.hash);
  moved->filter.swap(left->filter);
  moved->SetStamp(CountChange());
  target.MoveIn(to, std::move(moved));
  Commit(announcement);
  return RenameOutcome::kRenamed;
}

void Registry::Flush(bool background) {
  auto remains = std::make_shared<Remains>();
  remains->shards.resize(kShards);
  remains->expiries.resize(kLocks);
  {
    const AllLocked all(*this);
    Lock& lock = *all.begin();
    lock.mutex.AssertHeld();
    const AnnouncementPtr announcement = lock.log == nullptr ? nullptr : lock.log->Flushed();
    for (size_t i = 0; i < kShards; ++i) {
      Shard& shard = all.ShardOf(i);
      remains->shards[i].names.swap(shard.names);
      shard.names.Init(quotas_, seed_);
      remains->shards[i].visited = std::exchange(shard.visited, lock.epoch);
    }
    auto expiries = remains->expiries.begin();
    for (Lock& each : all) {
      each.mutex.AssertHeld();
      each.expiries.TakeAll(*expiries++);
    }
    size_.store(0, std::memory_order_relaxed);
    quotas_.RemoveAllNames();
    // A later flush finds nothing that is older than the collection.
    if (remains->shards.back().visited != lock.epoch) {
      const core::LockGuard handover(handover_);
      flushed_ = remains;
    }
    Commit(announcement);
    CountChange();
  }
  // Moved, not copied: the holder of the last reference frees it all.
  if (background) reaper_->Take(std::move(remains));
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
    shard.names.ForEach([&](const Entry& entry) {
      if (!IsDue(entry, clock_)) visitor(entry.name(), entry.filter);
    });
    visited += shard.names.size();
    ++cursor;
  }
  return cursor < kShards ? cursor : 0;
}

std::optional<std::string> Registry::RandomName() const {
  constexpr int kTries = 64;
  thread_local std::mt19937_64 random(core::RandomSeed());
  static_assert(std::is_trivially_destructible_v<std::mt19937_64>);
  for (int i = 0; i < kTries; ++i) {
    const AllLocked all(*this);
    const uint64_t names = size_.load(std::memory_order_relaxed);
    if (names == 0) return std::nullopt;
    uint64_t skipped = random() % names;
    size_t shard = 0;
    while (skipped >= all.ShardOf(shard).names.size()) skipped -= all.ShardOf(shard++).names.size();
    const Entry* const at = all.ShardOf(shard).names.FindIf([&](const Entry&) { return skipped-- == 0; });
    if (!IsDue(*at, clock_)) return std::string(at->name());
  }
  return LookForName();
}

// When nearly all names have ended, and are not removed yet: the first that has not.
std::optional<std::string> Registry::LookForName() const {
  for (size_t i = 0; i < kShards; ++i) {
    Lock& lock = LockOf(i);
    const core::LockGuard guard(lock.mutex);
    const Entry* const found =
        lock.ShardOf(i).names.FindIf([this](const Entry& entry) { return !IsDue(entry, clock_); });
    if (found != nullptr) return std::string(found->name());
  }
  return std::nullopt;
}

ExpiryChange Registry::SetExpiry(std::string_view text, int64_t expires_ms, uint32_t conditions) {
  const Name name = Hashed(text);
  bool ends = false;
  {
    ExpiredName due(*this);
    EntryPtr removed;  // dies after the lock is gone
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, name.shard);
    due.entry = view.TakeIfDue(name);
    Entry* const found = view.Find(name);
    if (found == nullptr || !Holds(conditions, found->expires_ms, expires_ms)) return {};
    const bool changes = found->expires_ms != expires_ms;
    ends = expires_ms != 0 && expires_ms <= clock_.WallMs();
    if (changes || ends) view.Keep(*found);
    const AnnouncementPtr change = changes && lock.log != nullptr ? lock.log->ExpirySet(text, expires_ms) : nullptr;
    const AnnouncementPtr end = ends ? AnnounceUnnamed(lock.log, text) : nullptr;
    view.SetExpiry(*found, expires_ms);
    Commit(change);
    if (changes) found->SetStamp(CountChange());
    if (ends) removed = view.Take(*found, name.hash);
    Commit(end);
  }
  SweepIfExpiring(expires_ms);
  return {.made = true, .removed = ends};
}

std::optional<int64_t> Registry::ExpiryOf(std::string_view text) const {
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  const Entry* const found = lock.ShardOf(name.shard).names.Find(name.text, name.hash);
  if (found == nullptr || IsDue(*found, clock_)) return std::nullopt;
  return found->expires_ms;
}

NameState Registry::StateOf(std::string_view text) const {
  const Name name = Hashed(text);
  FilterPtr filter;
  uint64_t stamp = 0;
  {
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    const Entry* const found = lock.ShardOf(name.shard).names.Find(name.text, name.hash);
    if (found == nullptr || IsDue(*found, clock_)) return {.stamp = 0, .changes = lock.created.noted()};
    filter = found->filter;
    stamp = found->stamp();
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

std::optional<QuotaRefusal> Registry::QuotaRefusalOf(std::string_view name) const {
  const Quotas::Number number = quotas_.NumberOf(name);
  return number == Quotas::kNone ? std::nullopt : quotas_.RefusalOf(number, Find(name) == nullptr);
}

void Registry::SetLog(KeyspaceLog* log, Listening listening) {
  const AllLocked all(*this);
  for (Lock& lock : all) {
    lock.mutex.AssertHeld();
    lock.log = log;
  }
  if (listening == Listening::kHasBegun) return;
  for (size_t i = 0; i < kShards; ++i) {
    all.ShardOf(i).names.ForEach([log](Entry& entry) {
      core::Filter& filter = *entry.filter;
      filter.Attach(log == nullptr ? nullptr : &log->listener(), filter.id(), filter.sequence());
    });
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

core::Status Registry::LogRewrite(const FilterPtr& filter) {
  KeyspaceLog* const log = Log();
  return log == nullptr ? core::Status() : log->Rewritten(filter);
}

// Any lock will do to keep the log there: SetLog takes them all.
void Registry::LogFreezing(const FilterPtr& filter) {
  Lock& lock = LockOf(0);
  const core::LockGuard guard(lock.mutex);
  if (lock.log != nullptr) Commit(lock.log->Freezing(*filter));
}

uint64_t Registry::ChangeCount() const { return changes_.load(std::memory_order_relaxed); }

void Registry::RemoveExpired() {
  for (size_t i = 0; i < kLocks; ++i) {
    Lock& lock = locks_[i];
    while (lock.NextExpiryHint() <= clock_.WallMs()) {
      std::vector<EntryPtr> removed;
      removed.reserve(kExpiredAtATime);
      {
        const core::LockGuard guard(lock.mutex);
        const int64_t now = clock_.WallMs();
        while (removed.size() < kExpiredAtATime && lock.expiries.next_ms() <= now) {
          removed.push_back(View::TakeFirstExpired(*this, lock));
        }
      }
      if (!on_expired_) continue;
      for (const EntryPtr& entry : removed) on_expired_(entry->name());
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
