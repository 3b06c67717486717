// registry.h: the filters by name, sharded: each shard one lock and one map. A lookup holds one shard's lock for the time
// of a map search and a reference count; filters themselves are used outside of any lock.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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
  struct Shard;
  Shard& ShardOf(std::string_view name) const;

  core::MemoryBudget& memory_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace bitsieve::server
