// registry.h: the filters by name, in shards. A lookup holds one lock for the time of a map search and a reference
// count; filters themselves are used outside of any lock, and never destroyed under one.
//
// Shards: many, since a scan visits whole shards: its cursor is the index of the next one. Names never move between
//         shards except by Rename, so every name that stays is visited.
// Locks:  few, each for every kLocks-th shard: far more than there are threads, and yet all can be taken at once, in
//         order, so that Collect, Flush and Rename are one moment to all other threads. Nothing that takes longer with
//         more names happens under all of them.
// Moments: Collect returns what the registry contained at one moment, and visits the shards after it, one at a time.
//         The moment begins an epoch. An entry that is changed or removed before its shard was visited is first kept
//         for the collection (View::Keep). The visit passes over entries whose stamp is of after the moment: those that
//         were kept, and those made since. Flush gives its collection what it took out of the shards not visited yet.
// Memory: names and their bookkeeping are taken from the budget as well, that of their quota if they have one.
// Expiry: an entry is a filter and when it ends. An entry that has ended is skipped by lookups and removed by the next
//         change of its name; a thread of the registry looks for the others ten times a second, as long as any name
//         has an expiry. It finds them through an index by time, a few under a lock at a time, so that the cost is in
//         proportion to what is removed and no thread waits for it.
// Log:    if there is one, every change of a name is reported to it under the name's lock, and every filter before
//         other threads can find it.
// Refused memory: everything that a change needs is allocated, and room in the log reserved, before anything is
// changed; what follows does not fail.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "server/keyspace/keyspace.h"
#include "server/keyspace/keyspace_log.h"
#include "server/keyspace/name_table.h"
#include "server/keyspace/quotas.h"

namespace bitsieve::server {

struct NamedFilter {
  std::string name;
  commands::FilterPtr filter;
  int64_t expires_ms = 0;  // 0: never
  uint64_t stamp = 0;      // of the last change of what the name means: see NameState. 0: not known
  SavedPlace saved = {};
};

class Registry final : public Keyspace {
 public:
  // Names expire by `clock`; filters made for the registry age by `filter_clock`, which, as the quotas, must outlive
  // the registry and every filter it ever held.
  Registry(Quotas& quotas, const core::Clock& clock, const core::Clock& filter_clock);
  ~Registry() override;

  core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(const commands::FilterPtr& filter) override;
  commands::FilterPtr Find(std::string_view name) const override;
  commands::FilterPtr InsertIfAbsent(std::string_view name, commands::FilterPtr filter,
                                     int64_t expires_ms = 0) override;
  bool Put(std::string_view name, commands::FilterPtr filter, int64_t expires_ms) override;
  bool Replace(std::string_view name, const commands::FilterPtr& expected, commands::FilterPtr replacement) override;
  // Does the same as Replace under any name that `expected` has by now, which goes to `name_found`; looks at all names,
  // a shard at a time.
  bool ReplaceAnywhere(const commands::FilterPtr& expected, commands::FilterPtr replacement,
                       std::string* name_found = nullptr);
  core::Result<bool> ReplaceFolded(std::string_view name, core::FilterFold& fold) override;
  bool Remove(std::string_view name) override;
  RenameOutcome Rename(std::string_view from, std::string_view to, bool only_if_absent) override;
  core::Status LogRewrite(const commands::FilterPtr& filter) override;
  void Flush(bool background) override;
  uint64_t Size() const override;
  uint64_t Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const override;
  std::optional<std::string> RandomName() const override;
  ExpiryChange SetExpiry(std::string_view name, int64_t expires_ms, uint32_t conditions) override;
  std::optional<int64_t> ExpiryOf(std::string_view name) const override;
  ExpiryStats Expiries() const override;
  int64_t WallMs() const override { return clock_.WallMs(); }
  NameState StateOf(std::string_view name) const override;
  bool IsUnchanged(std::string_view name, const NameState& state) const override;
  core::MemoryBudget& memory() override { return quotas_.whole(); }
  core::MemoryBudget& MemoryOf(std::string_view name) override { return quotas_.MemoryOf(name); }
  std::optional<QuotaRefusal> QuotaRefusalOf(std::string_view name) const override;
  std::vector<QuotaUse> QuotasInUse() const override { return quotas_.Use(); }
  Quotas& quotas() { return quotas_; }
  const core::Clock& clock() const override { return filter_clock_; }

  // Called for each name that expired, once it is gone and all locks are free, by any thread. Set before there are
  // names; does not throw.
  using OnExpired = std::function<void(std::string_view name)>;
  void SetOnExpired(OnExpired on_expired) { on_expired_ = std::move(on_expired); }

  // From now on; all filters that are there, and have numbers, get its listener. The log outlives the registry, or is
  // taken away with null.
  // Not for filters that have its listener already.
  enum class Listening : uint8_t { kBegins, kHasBegun };
  void SetLog(KeyspaceLog* log, Listening listening = Listening::kBegins);
  // Logs that the filter is closed, to be frozen.
  void LogFreezing(const commands::FilterPtr& filter);

  // Everything, as of one moment: no rename is half seen. `at_that_moment`, if given, is called with all names at rest.
  // One collection at a time; the others wait.
  std::vector<NamedFilter> Collect(const std::function<void()>& at_that_moment = {}) const;
  // The same, but what a shard held is handed over before the next one is visited: so that millions of names need not
  // be in memory twice. `visit` is called under no lock, and may take what it gets; an error of it is the end.
  using VisitBatch = std::function<core::Status(std::vector<NamedFilter>& batch)>;
  core::Status CollectEach(const std::function<void()>& at_that_moment, const VisitBatch& visit) const;
  // Remembers where each of them is saved, unless it is saved nowhere, or the name means something else by now.
  void MarkSaved(std::span<const NamedFilter> saved) const;
  // Names inserted, replaced, removed, renamed or given another expiry so far: equal numbers mean the same names hold
  // the same filters until the same times.
  uint64_t ChangeCount() const;
  // Frees all whose time has come; the registry's own thread does so by itself.
  void RemoveExpired();

 private:
  friend class LoadingNames;
  static constexpr size_t kShards = 1024;
  static constexpr size_t kLocks = 32;

  struct Shard;
  struct Lock;
  struct Name;
  class TwoLocked;
  class AllLocked;
  class View;
  struct Remains;
  struct Replacement;
  class ExpiredName;
  class Reaper;
  class Collection;

  Name Hashed(std::string_view name) const;
  Lock& LockOf(size_t shard) const;
  // Return whether the expected filter was found.
  bool Replace(std::string_view name, Replacement& replacement);
  bool ReplaceAnywhere(Replacement& replacement, std::string* name_found);
  std::optional<std::string> SetSought(const core::Filter* filter, const AllLocked& all);
  bool AnyDue() const;
  std::optional<std::string> LookForName() const;
  bool AnyExpiry() const;
  void SweepIfExpiring(int64_t expires_ms);
  // Returns the stamp of the change: its number.
  uint64_t CountChange() { return changes_.fetch_add(1, std::memory_order_relaxed) + 1; }
  template <class Operation, class Result>
  static Result UnlessMemoryIsRefused(const Operation& operation, Result refused);
  commands::FilterPtr DoInsertIfAbsent(std::string_view name, const commands::FilterPtr& filter, int64_t expires_ms);
  bool DoPut(std::string_view name, const commands::FilterPtr& filter, int64_t expires_ms);
  EntryPtr MakeEntry(std::string_view name, const commands::FilterPtr& filter, int64_t expires_ms);
  RenameOutcome DoRename(std::string_view from, std::string_view to, bool only_if_absent);
  // The log, without a lock: it is not called for once it is taken away. Null if there is none.
  KeyspaceLog* Log() const;

  Quotas& quotas_;
  const core::Clock& clock_;
  const core::Clock& filter_clock_;
  const uint64_t seed_;  // of the hash of names, so that no client can choose names that share a bucket
  OnExpired on_expired_;
  std::unique_ptr<Lock[]> locks_;   // each with its shards; where several are taken, it is in their order
  mutable core::Mutex collecting_;  // taken before any lock
  core::Mutex seeking_;             // the same
  mutable core::Mutex handover_;    // taken after all locks that are
  // Entries that a flush took out of shards that the collection under way has not visited.
  mutable std::shared_ptr<Remains> flushed_ BITSIEVE_GUARDED_BY(handover_);
  // The name of the filter that ReplaceAnywhere looks for, if it was renamed in between.
  std::optional<std::string> sought_name_ BITSIEVE_GUARDED_BY(handover_);
  // Relaxed: changed under the lock of the shard that changes, read for their own sake.
  std::atomic<uint64_t> size_{0};
  std::atomic<uint64_t> changes_{0};
  std::atomic<uint64_t> expired_{0};
  std::unique_ptr<Reaper> reaper_;  // last: its thread uses all of the above
};

}  // namespace bitsieve::server
