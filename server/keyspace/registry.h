// registry.h: the filters by name, in shards. A lookup holds one lock for the time of a map search and a reference
// count; filters themselves are used outside of any lock, and never die under one.
//
// Shards: many, since a scan visits whole shards: its cursor is the index of the next one. Names never move between
//         shards but by Rename, so whatever stays is visited.
// Locks:  few, each for every kLocks-th shard: far more than there are threads, and yet all can be taken at once, in
//         order, so that Collect, Flush and Rename are one moment to everybody else.
// Memory: names and their bookkeeping are taken from the budget as well.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/commands/keyspace.h"

namespace bitsieve::server {

struct NamedFilter {
  std::string name;
  FilterPtr filter;
};

class Registry final : public Keyspace {
 public:
  // The budget must outlive the registry and every filter it ever held.
  explicit Registry(core::MemoryBudget& memory);
  ~Registry() override;

  FilterPtr Find(std::string_view name) const override;
  FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter) override;
  bool Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) override;
  bool Remove(std::string_view name) override;
  RenameOutcome Rename(std::string_view from, std::string_view to, bool only_if_absent) override;
  void Flush(bool background) override;
  uint64_t Size() const override;
  uint64_t Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const override;
  core::MemoryBudget& memory() override;

  // Everything, as of one moment: no rename is half seen.
  std::vector<NamedFilter> Collect() const;
  // Names inserted, replaced, removed or renamed so far: equal numbers mean the same names hold the same filters.
  uint64_t ChangeCount() const;

 private:
  static constexpr size_t kShards = 1024;
  static constexpr size_t kLocks = 32;

  struct Shard;
  struct Lock;
  struct Name;
  class Reaper;

  Name Hashed(std::string_view name) const;
  std::mutex& MutexOf(size_t shard) const;
  std::vector<std::unique_lock<std::mutex>> LockAll() const;
  void CountChange() { changes_.fetch_add(1, std::memory_order_relaxed); }

  core::MemoryBudget& memory_;
  const uint64_t seed_;  // of the hash of names, so that nobody can choose names that share a bucket
  std::unique_ptr<Lock[]> locks_;
  std::unique_ptr<Shard[]> shards_;  // shard i is protected by lock i % kLocks
  // Relaxed: changed under the lock of the shard that changes, read for their own sake.
  std::atomic<uint64_t> size_{0};
  std::atomic<uint64_t> changes_{0};
  std::unique_ptr<Reaper> reaper_;
};

}  // namespace bitsieve::server
