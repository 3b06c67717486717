// registry_parts.h: what a registry is made of; only for its own .cc files and LoadingNames.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/roll_back.h"
#include "core/base/thread_name.h"
#include "server/keyspace/expiry_index.h"
#include "server/keyspace/name_table.h"
#include "server/keyspace/recent_names.h"
#include "server/keyspace/registry.h"

namespace bitsieve::server {

// The clock is read only for entries that have an expiry.
inline bool IsDue(const Entry& entry, const core::Clock& clock) {
  return entry.expires_ms != 0 && entry.expires_ms <= clock.WallMs();
}

// A name to look for. Hashed once: half of the bits choose the shard, the others the bucket.
struct Registry::Name {
  std::string_view text;
  size_t shard;
  uint64_t hash;
};

struct Registry::Shard {
  NameTable names;
  uint32_t visited = 0;  // the epoch of the latest collection that has visited it
};

// Every kLocks-th shard, and the totals over all entries in them.
struct alignas(64) Registry::Lock {
  // `shard` is its index in the registry.
  Shard& ShardOf(size_t shard) BITSIEVE_REQUIRES(mutex) { return shards[shard / kLocks]; }
  // Relaxed: a hint, for which the lock need not be held. So it is not analysed.
  int64_t NextExpiryHint() const BITSIEVE_NO_THREAD_SAFETY_ANALYSIS { return expiries.next_ms(); }

  core::Mutex mutex;
  std::array<Shard, kShards / kLocks> shards BITSIEVE_GUARDED_BY(mutex);
  ExpiryIndex expiries BITSIEVE_GUARDED_BY(mutex);
  RecentNames created BITSIEVE_GUARDED_BY(mutex);
  std::vector<NamedFilter> kept BITSIEVE_GUARDED_BY(mutex);  // for the collection under way: as they were at its moment
  // The same in all locks, and changed with all of them held.
  uint32_t epoch BITSIEVE_GUARDED_BY(mutex) = 0;                    // of the latest collection
  uint64_t moment BITSIEVE_GUARDED_BY(mutex) = 0;                   // Registry::ChangeCount at its moment
  KeyspaceLog* log BITSIEVE_GUARDED_BY(mutex) = nullptr;            // null: there is none
  const core::Filter* sought BITSIEVE_GUARDED_BY(mutex) = nullptr;  // by ReplaceAnywhere
};

// Null without a log.
inline AnnouncementPtr AnnounceNamed(KeyspaceLog* log, std::string_view name, const commands::FilterPtr& filter,
                                     int64_t expires_ms) {
  return log == nullptr ? nullptr : log->Named(name, filter, expires_ms);
}
inline AnnouncementPtr AnnounceUnnamed(KeyspaceLog* log, std::string_view name) {
  return log == nullptr ? nullptr : log->Unnamed(name);
}

// Holds two locks, or the one that both are.
class BITSIEVE_SCOPED_CAPABILITY Registry::TwoLocked {
 public:
  TwoLocked(Lock& a, Lock& b) BITSIEVE_ACQUIRE(a.mutex, b.mutex) : first_(std::min(&a, &b)), second_(std::max(&a, &b)) {
    first_->mutex.lock();
    if (second_ != first_) second_->mutex.lock();
  }
  TwoLocked(const TwoLocked&) = delete;
  TwoLocked& operator=(const TwoLocked&) = delete;
  ~TwoLocked() BITSIEVE_RELEASE() {
    if (second_ != first_) second_->mutex.unlock();
    first_->mutex.unlock();
  }

 private:
  Lock* const first_;
  Lock* const second_;
};

// Holds all locks, which are its range. The analysis cannot follow that many: code that uses one states it with
// AssertHeld.
class Registry::AllLocked {
 public:
  explicit AllLocked(const Registry& registry) : locks_(registry.locks_.get(), kLocks) {
    for (Lock& lock : locks_) lock.mutex.lock();
  }
  AllLocked(const AllLocked&) = delete;
  AllLocked& operator=(const AllLocked&) = delete;
  ~AllLocked() {
    for (Lock& lock : locks_) lock.mutex.unlock();
  }

  auto begin() const { return locks_.begin(); }
  auto end() const { return locks_.end(); }
  // `shard` is its index in the registry.
  Shard& ShardOf(size_t shard) const {
    Lock& lock = locks_[shard % kLocks];
    lock.mutex.AssertHeld();
    return lock.ShardOf(shard);
  }

 private:
  const std::span<Lock> locks_;
};

// A shard while its lock is held: entries come and go together with their lines in the index and the registry's counts.
// A filter that takes the place of another one. After that, it holds that one, which dies with it.
struct Registry::Replacement {
  const commands::FilterPtr& expected;
  commands::FilterPtr filter;
  core::FilterFold* fold = nullptr;  // null: it is a filter of its own, which is logged as such
  core::Status status = {};          // of TakeOver
};

class Registry::View {
 public:
  // The lock is held for as long as the view lives.
  View(Registry& registry, Lock& lock, size_t shard) BITSIEVE_REQUIRES(lock.mutex)
      : registry_(registry),
        shard_(shard),
        names_(lock.ShardOf(shard).names),
        visited_(lock.ShardOf(shard).visited),
        expiries_(lock.expiries),
        created_(lock.created),
        kept_(lock.kept),
        epoch_(lock.epoch),
        moment_(lock.moment),
        log_(lock.log) {}

  NameTable& names() { return names_; }
  Entry* Find(const Name& name) const { return names_.Find(name.text, name.hash); }

  // False, and nothing done, if the quota refuses. May throw std::bad_alloc, and has done nothing then; as may Keep,
  // SetExpiry, MakeRoom, IndexAhead, TakeIfDue and Replace. The entry is of this name.
  [[nodiscard]] bool Add(const Name& name, EntryPtr entry) {
    names_.MakeRoom();
    if (!registry_.quotas_.TryAddName(entry->quota())) return false;
    core::RollBack uncount([&] { registry_.quotas_.RemoveName(entry->quota()); });
    if (entry->expires_ms != 0) expiries_.Insert(ItemOf(*entry));
    uncount.Dismiss();
    Insert(name, std::move(entry));
    registry_.size_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // Called before an entry is changed, moved or taken out, and before that is logged: keeps the entry for a collection
  // that has not visited this shard yet. The entry's stamp is of after the moment then, so that the visit passes it
  // over.
  void Keep(Entry& entry) {
    if (visited_ == epoch_ || entry.stamp() > moment_) return;
    kept_.push_back({std::string(entry.name()), entry.filter, entry.expires_ms, entry.stamp(), entry.saved()});
    entry.SetStamp(registry_.CountChange());
  }
  // An entry outlives its place in the table, so that it can die outside of the lock.
  EntryPtr Take(Entry& entry, uint64_t hash) noexcept {
    registry_.size_.fetch_sub(1, std::memory_order_relaxed);
    registry_.quotas_.RemoveName(entry.quota());
    return MoveOut(entry, hash);
  }
  EntryPtr Take(Entry& entry) noexcept { return Take(entry, registry_.Hashed(entry.name()).hash); }
  // The next three move the content of an entry to another one, of another name and perhaps in another shard; it stays
  // counted all the time. IndexAhead comes first and makes room, and a line in the index, for the other one.
  void IndexAhead(Entry& entry, int64_t expires_ms) {
    names_.MakeRoom();
    entry.expires_ms = expires_ms;
    if (expires_ms != 0) expiries_.Insert(ItemOf(entry));
  }
  EntryPtr MoveOut(Entry& entry, uint64_t hash) noexcept {
    if (entry.expires_ms != 0) expiries_.Erase(ItemOf(entry));
    return names_.Extract(&entry, hash);
  }
  void MoveIn(const Name& name, EntryPtr entry) noexcept { Insert(name, std::move(entry)); }

  // The entry of this name if its time has come; else null.
  EntryPtr TakeIfDue(const Name& name) {
    if (expiries_.next_ms() == ExpiryIndex::kNever) return nullptr;
    Entry* const found = Find(name);
    return found != nullptr && IsDue(*found, registry_.clock_) ? TakeExpired(*found) : nullptr;
  }
  void SetExpiry(Entry& entry, int64_t expires_ms) {
    if (entry.expires_ms == expires_ms) return;
    if (expires_ms != 0) expiries_.Insert({expires_ms, shard_, &entry});
    if (entry.expires_ms != 0) expiries_.Erase(ItemOf(entry));
    entry.expires_ms = expires_ms;
  }

  // Replaces the expected filter, if it is there, unless TakeOver refuses. Returns whether it was there.
  bool Replace(Entry& entry, Replacement& replacement) {
    if (entry.filter != replacement.expected || IsDue(entry, registry_.clock_)) return false;
    Keep(entry);
    AnnouncementPtr announcement;
    if (replacement.fold == nullptr) {
      announcement = AnnounceNamed(log_, entry.name(), replacement.filter, entry.expires_ms);
    } else if (replacement.status = replacement.fold->TakeOver(); !replacement.status) {
      return true;
    }
    entry.filter.swap(replacement.filter);
    entry.SetStamp(registry_.CountChange());
    Commit(announcement);
    return true;
  }

  // Takes out the entry that expires first; the index is not empty.
  static EntryPtr TakeFirstExpired(Registry& registry, Lock& lock) BITSIEVE_REQUIRES(lock.mutex) {
    const ExpiryIndex::Item first = *lock.expiries.items().begin();
    return View(registry, lock, first.shard).TakeExpired(*first.entry);
  }

 private:
  EntryPtr TakeExpired(Entry& expired) {
    Keep(expired);
    const AnnouncementPtr announcement = AnnounceUnnamed(log_, expired.name());
    registry_.expired_.fetch_add(1, std::memory_order_relaxed);
    registry_.CountChange();
    EntryPtr entry = Take(expired);
    Commit(announcement);
    return entry;
  }
  void Insert(const Name& name, EntryPtr entry) noexcept {
    created_.Add(name.hash);
    names_.Insert(std::move(entry), name.hash);
  }
  ExpiryIndex::Item ItemOf(Entry& entry) const { return {entry.expires_ms, shard_, &entry}; }

  Registry& registry_;
  const size_t shard_;
  NameTable& names_;
  const uint32_t visited_;
  ExpiryIndex& expiries_;
  RecentNames& created_;
  std::vector<NamedFilter>& kept_;
  const uint32_t epoch_;
  const uint64_t moment_;
  KeyspaceLog* const log_;
};

// A name that expired and was taken out. Made before a lock is taken, it is destroyed, and reports the name, after the
// lock is released.
class Registry::ExpiredName {
 public:
  explicit ExpiredName(const Registry& registry) : registry_(registry) {}
  ExpiredName(const ExpiredName&) = delete;
  ExpiredName& operator=(const ExpiredName&) = delete;
  ~ExpiredName() {
    if (entry != nullptr && registry_.on_expired_) registry_.on_expired_(entry->name());
  }

  EntryPtr entry;

 private:
  const Registry& registry_;
};

// Everything that a flush took out, to be freed.
struct Registry::Remains {
  std::vector<Shard> shards;  // each as far visited as it was
  std::vector<ExpiryIndex::Items> expiries;
};

// Lets go of remains, and sweeps expired entries away, on a thread of its own, started when there is first something to
// do. Thread-safe.
class Registry::Reaper {
 public:
  // `sweep` removes what has expired and returns whether anything is left that will.
  explicit Reaper(std::function<bool()> sweep) : sweep_(std::move(sweep)) {}
  ~Reaper() {
    {
      const core::LockGuard lock(mutex_);
      stopping_ = true;
    }
    wake_.NotifyOne();
    if (thread_.joinable()) thread_.join();
  }

  void Take(std::shared_ptr<Remains> remains) {
    const core::LockGuard lock(mutex_);
    waiting_.push_back(std::move(remains));
    Wake();
  }
  // Sweeps from now on, for as long as there is something that will expire.
  void Sweep() {
    const core::LockGuard lock(mutex_);
    if (std::exchange(sweeping_, true) && thread_.joinable()) return;
    Wake();
  }

 private:
  static constexpr std::chrono::milliseconds kSweepInterval{100};

  // If there is no thread to be had, the next caller tries again.
  void Wake() noexcept BITSIEVE_REQUIRES(mutex_) {
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    } catch (const std::exception&) {
      return;
    }
    wake_.NotifyOne();
  }
  // Out of memory, it is tried again.
  bool SweepOnce() const noexcept {
    try {
      return sweep_();
    } catch (const std::bad_alloc&) {
      return true;
    }
  }

  bool HasWork() const BITSIEVE_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); }
  void Run() {
    core::NameThread("reaper");
    const core::LockGuard lock(mutex_);
    while (true) {
      while (!HasWork() && !sweeping_) wake_.Wait(mutex_);
      const auto sweep_at = std::chrono::steady_clock::now() + kSweepInterval;
      while (!HasWork() && wake_.WaitUntil(mutex_, sweep_at)) continue;
      if (stopping_ && waiting_.empty()) return;
      std::vector<std::shared_ptr<Remains>> dying = std::exchange(waiting_, {});
      // Before the sweep: what gets an expiry during it sets this again.
      const bool sweep = std::exchange(sweeping_, false);
      bool more = false;
      {
        const core::UnlockGuard unlocked(mutex_);
        dying.clear();
        more = sweep && SweepOnce();
      }
      sweeping_ |= more;
    }
  }

  const std::function<bool()> sweep_;
  core::Mutex mutex_;
  core::ConditionVariable wake_;
  std::vector<std::shared_ptr<Remains>> waiting_ BITSIEVE_GUARDED_BY(mutex_);
  bool sweeping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::thread thread_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
