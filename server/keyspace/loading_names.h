// loading_names.h: the names that a start reads from the disk, on their way into a registry. It holds them in tables
// like the registry's, which Publish hands over as they are: so each of millions of names is looked for once, in a
// table that has its final size. Expiries and limits of quotas do not count here: everything that was on the disk is
// there until Publish.
// Make, NewStamps and Insert are thread-safe; all else is for one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "server/keyspace/name_table.h"
#include "server/keyspace/registry.h"

namespace bitsieve::server {

class LoadingNames {
 public:
  // The registry is empty, and outlives this.
  explicit LoadingNames(Registry& registry);

  // Makes room for about `names` names, since tables that grow on the way are filled twice. Called before the first
  // one.
  void Expect(uint64_t names);

  // Makes an entry by NameTable::Make: null if the budget refuses.
  EntryPtr Make(std::string_view name) { return NameTable::Make(name, registry_.quotas_); }
  // Reserves `count` stamps that nothing else has; returns the first.
  uint64_t NewStamps(uint64_t count);
  // An entry of a name that is there already stays where it is in `entries`. May throw std::bad_alloc, between two.
  void Insert(std::span<EntryPtr> entries);

  // Null if there is none.
  Entry* Find(std::string_view name) const;
  // Takes out an entry that is there.
  EntryPtr Take(Entry& entry) noexcept;
  // Called when an entry that is there gets an expiry.
  void IndexExpiry(const Entry& entry);
  void ForEach(const std::function<void(Entry&)>& visit) const;
  void Clear();
  uint64_t size() const;

  // Hands all names over to the registry, except for those whose time has come by its clock; returns how many there
  // were of these. All of them have filters. May throw std::bad_alloc.
  uint64_t Publish();

 private:
  struct Part {
    NameTable names;
    bool has_expiries = false;
  };
  struct Place {
    uint32_t shard;
    uint32_t index;
    uint64_t hash;
  };
  // A lock and every kLocks-th shard, as in the registry.
  struct alignas(64) Lock {
    core::Mutex mutex;
    std::array<Part, Registry::kShards / Registry::kLocks> parts BITSIEVE_GUARDED_BY(mutex);
  };

  Lock& LockOf(size_t shard) const { return locks_[shard % Registry::kLocks]; }
  static void InsertLocked(Lock& lock, std::span<EntryPtr> entries, std::span<const Place> places)
      BITSIEVE_REQUIRES(lock.mutex);
  uint64_t PublishShard(size_t shard);

  Registry& registry_;
  std::unique_ptr<Lock[]> locks_;
};

}  // namespace bitsieve::server
