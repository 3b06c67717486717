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

Registry::Registry(core::MemoryBudget& memory, Clock clock)
    : memory_(memory),
      clock_(std::move(clock)),
      seed_(core::RandomSeed()),
      locks_(std::make_unique<Lock[]>(kLocks)),
      shards_(std::make_unique<Shard[]>(kShards)),
      reaper_(std::make_unique<Reaper>([this] {
        RemoveExpired();
        return AnyExpiry();
      })) {}

Registry::~Registry() = default;

Registry::Name Registry::Hashed(std::string_view name) const {
  const core::KeyHash hash = core::HashItem(name, seed_);
  return {name, hash.low % kShards, hash.high};
}

std::mutex& Registry::MutexOf(size_t shard) const { return locks_[shard % kLocks].mutex; }

std::array<std::unique_lock<std::mutex>, Registry::kLocks> Registry::LockAll() const {
  std::array<std::unique_lock<std::mutex>, kLocks> locks;
  for (size_t i = 0; i < kLocks; ++i) locks[i] = std::unique_lock(locks_[i].mutex);
  return locks;
}

FilterPtr Registry::Find(std::string_view text) const {
  const Name name = Hashed(text);
  const Shard& shard = shards_[name.shard];
  const std::lock_guard lock(MutexOf(name.shard));
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
    const std::lock_guard lock(MutexOf(name.shard));
    View view(*this, name.shard);
    due.node = view.TakeIfDue(name);
    const auto found = view.map().find(name);
    if (found != view.map().end()) return found->second.filter;
    if (!memory.held()) return nullptr;
    const AnnouncementPtr announcement = AnnounceNamed(text, filter, expires_ms);
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
    const std::lock_guard lock(MutexOf(name.shard));
    View view(*this, name.shard);
    due.node = view.TakeIfDue(name);
    const auto found = view.map().find(name);
    if (found != view.map().end()) view.Keep(found);
    const AnnouncementPtr announcement = AnnounceNamed(text, filter, expires_ms);
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
  const std::lock_guard lock(MutexOf(name.shard));
  View view(*this, name.shard);
  const auto found = view.map().find(name);
  if (found == view.map().end()) return false;
  // The caller's argument dies after the lock is gone, and what was replaced with it.
  return view.Replace(found, expected, replacement);
}

bool Registry::ReplaceAnywhere(const FilterPtr& expected, FilterPtr replacement, std::string* name_found) {
  const std::lock_guard one(seeking_);
  {
    const auto locks = LockAll();
    sought_ = expected.get();
    sought_name_.reset();
  }
  bool replaced = false;
  for (size_t i = 0; i < kShards && !replaced; ++i) {
    const std::lock_guard lock(MutexOf(i));
    View view(*this, i);
    for (auto entry = view.map().begin(); entry != view.map().end() && !replaced; ++entry) {
      replaced = view.Replace(entry, expected, replacement);
      if (replaced && name_found != nullptr) *name_found = entry->first.text;
    }
  }
  const auto locks = LockAll();
  sought_ = nullptr;
  const std::optional<std::string> renamed = std::exchange(sought_name_, std::nullopt);
  if (replaced || !renamed) return replaced;
  const Name name = Hashed(*renamed);
  View view(*this, name.shard);
  const auto found = view.map().find(name);
  replaced = found != view.map().end() && view.Replace(found, expected, replacement);
  if (replaced && name_found != nullptr) *name_found = *renamed;
  return replaced;
}

bool Registry::Remove(std::string_view text) {
  const Name name = Hashed(text);
  ExpiredName due(*this);
  Shard::Node removed;  // dies after the lock is gone
  const std::lock_guard lock(MutexOf(name.shard));
  View view(*this, name.shard);
  due.node = view.TakeIfDue(name);
  const auto found = view.map().find(name);
  if (found == view.map().end()) return false;
  view.Keep(found);
  const AnnouncementPtr announcement = AnnounceUnnamed(text);
  removed = view.Take(found);
  Commit(announcement);
  CountChange();
  return true;
}

RenameOutcome Registry::DoRename(std::string_view from_text, std::string_view to_text, bool only_if_absent) {
  const Name from = Hashed(from_text);
  const Name to = Hashed(to_text);
  const auto [first, second] = std::minmax({from.shard % kLocks, to.shard % kLocks});
  // All made, and so all dead, outside of the locks.
  StoredName new_name{std::string(to_text), to.hash};
  core::MemoryReservation memory = core::MemoryReservation::TryTake(memory_, kNameOverheadBytes + to_text.size());
  ExpiredName due(*this), due_target(*this);
  Shard::Node replaced;

  const std::lock_guard first_lock(locks_[first].mutex);
  std::unique_lock<std::mutex> second_lock;
  if (first != second) second_lock = std::unique_lock(locks_[second].mutex);
  View source(*this, from.shard), target(*this, to.shard);
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
  const AnnouncementPtr announcement = log_ == nullptr ? nullptr : log_->Renamed(from_text, to_text);
  if (moving->second.filter.get() == sought_) sought_name_ = to_text;
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
    const auto locks = LockAll();
    const AnnouncementPtr announcement = log_ == nullptr ? nullptr : log_->Flushed();
    for (size_t i = 0; i < kShards; ++i) {
      remains->shards[i].map.swap(shards_[i].map);
      remains->shards[i].visited = std::exchange(shards_[i].visited, locks_[0].epoch);
    }
    for (size_t i = 0; i < kLocks; ++i) locks_[i].expiries.TakeAll(remains->expiries[i]);
    size_.store(0, std::memory_order_relaxed);
    // A later flush finds nothing that is older than the collection.
    if (remains->shards.back().visited != locks_[0].epoch) flushed_ = remains;
    Commit(announcement);
    CountChange();
  }
  if (background) reaper_->Take(remains);
}

uint64_t Registry::Size() const {
  if (!AnyDue()) return size_.load(std::memory_order_relaxed);
  const auto locks = LockAll();
  const int64_t now = clock_();
  uint64_t due = 0;
  for (size_t i = 0; i < kLocks; ++i) due += locks_[i].expiries.CountDue(now);
  return size_.load(std::memory_order_relaxed) - due;
}

uint64_t Registry::Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const {
  uint64_t visited = 0;
  while (cursor < kShards && visited < count) {
    const Shard& shard = shards_[cursor];
    const std::lock_guard lock(MutexOf(cursor));
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
    const auto locks = LockAll();
    const uint64_t all = size_.load(std::memory_order_relaxed);
    if (all == 0) return std::nullopt;
    uint64_t skipped = random() % all;
    size_t shard = 0;
    while (skipped >= shards_[shard].map.size()) skipped -= shards_[shard++].map.size();
    const auto at = std::next(shards_[shard].map.begin(), static_cast<ptrdiff_t>(skipped));
    if (!IsDue(at->second, clock_)) return at->first.text;
  }
  return LookForName();
}

// When nearly all names have ended, and are not removed yet: the first that has not.
std::optional<std::string> Registry::LookForName() const {
  for (size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(MutexOf(i));
    for (const auto& [name, entry] : shards_[i].map) {
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
    const std::lock_guard lock(MutexOf(name.shard));
    View view(*this, name.shard);
    due.node = view.TakeIfDue(name);
    const auto found = view.map().find(name);
    if (found == view.map().end() || !Holds(conditions, found->second.expires_ms, expires_ms)) return false;
    view.Keep(found);
    const bool changes = found->second.expires_ms != expires_ms;
    const bool ends = expires_ms != 0 && expires_ms <= clock_();
    const AnnouncementPtr change = changes && log_ != nullptr ? log_->ExpirySet(text, expires_ms) : nullptr;
    const AnnouncementPtr end = ends ? AnnounceUnnamed(text) : nullptr;
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
  const Shard& shard = shards_[name.shard];
  const std::lock_guard lock(MutexOf(name.shard));
  const auto found = shard.map.find(name);
  if (found == shard.map.end() || IsDue(found->second, clock_)) return std::nullopt;
  return found->second.expires_ms;
}

NameState Registry::StateOf(std::string_view text) const {
  const Name name = Hashed(text);
  FilterPtr filter;
  uint64_t stamp = 0;
  {
    const std::lock_guard lock(MutexOf(name.shard));
    const auto found = shards_[name.shard].map.find(name);
    if (found == shards_[name.shard].map.end() || IsDue(found->second, clock_)) {
      return {.stamp = 0, .changes = locks_[name.shard % kLocks].created.noted()};
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
  const std::lock_guard lock(MutexOf(name.shard));
  return !locks_[name.shard % kLocks].created.MayHaveNoted(name.hash, state.changes);
}

ExpiryStats Registry::Expiries() const {
  ExpiryStats stats{.expired = expired_.load(std::memory_order_relaxed)};
  __int128 sum_ms = 0;
  for (size_t i = 0; i < kLocks; ++i) {
    const std::lock_guard lock(locks_[i].mutex);
    stats.names += locks_[i].expiries.items().size();
    sum_ms += locks_[i].expiries.sum_ms();
  }
  if (stats.names == 0) return stats;
  const auto average_ms = static_cast<int64_t>(sum_ms / static_cast<__int128>(stats.names));
  stats.average_ms_left = std::max<int64_t>(0, average_ms - clock_());
  return stats;
}

core::MemoryBudget& Registry::memory() { return memory_; }

void Registry::SetLog(KeyspaceLog* log) {
  const auto locks = LockAll();
  log_ = log;
  for (size_t i = 0; i < kShards; ++i) {
    for (const auto& [name, entry] : shards_[i].map) {
      core::Filter& filter = *entry.filter;
      filter.Attach(log == nullptr ? nullptr : &log->listener(), filter.id(), filter.sequence());
    }
  }
}

AnnouncementPtr Registry::AnnounceNamed(std::string_view name, const FilterPtr& filter, int64_t expires_ms) {
  return log_ == nullptr ? nullptr : log_->Named(name, filter, expires_ms);
}

AnnouncementPtr Registry::AnnounceUnnamed(std::string_view name) {
  return log_ == nullptr ? nullptr : log_->Unnamed(name);
}

KeyspaceLog* Registry::Log() const {
  const std::lock_guard lock(MutexOf(0));
  return log_;
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
  const std::lock_guard lock(MutexOf(0));
  if (log_ != nullptr) Commit(log_->Freezing(*filter));
}

uint64_t Registry::ChangeCount() const { return changes_.load(std::memory_order_relaxed); }

void Registry::RemoveExpired() {
  for (size_t i = 0; i < kLocks; ++i) {
    while (locks_[i].expiries.next_ms() <= clock_()) {
      std::vector<Shard::Node> removed;
      removed.reserve(kExpiredAtATime);
      {
        const std::lock_guard lock(locks_[i].mutex);
        const int64_t now = clock_();
        while (removed.size() < kExpiredAtATime && locks_[i].expiries.next_ms() <= now) {
          removed.push_back(View::TakeFirstExpired(*this, locks_[i].expiries));
        }
      }
      if (!on_expired_) continue;
      for (const Shard::Node& node : removed) on_expired_(node.key().text);
    }
  }
}

bool Registry::AnyDue() const {
  const int64_t now = clock_();
  return std::any_of(locks_.get(), locks_.get() + kLocks,
                     [now](const Lock& lock) { return lock.expiries.next_ms() <= now; });
}

bool Registry::AnyExpiry() const {
  return std::any_of(locks_.get(), locks_.get() + kLocks,
                     [](const Lock& lock) { return lock.expiries.next_ms() != ExpiryIndex::kNever; });
}

void Registry::SweepIfExpiring(int64_t expires_ms) {
  if (expires_ms != 0) reaper_->Sweep();
}

}  // namespace bitsieve::server
