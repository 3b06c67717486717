#include <array>
#include <utility>

#include "server/keyspace/registry_parts.h"

namespace bitsieve::server {

// From its moment until it is destroyed, changes to entries that it has not visited keep the old entry.
class Registry::Collection {
 public:
  Collection(const Registry& registry, const std::function<void()>& at_that_moment) : registry_(registry) {
    found_.reserve(registry.size_.load(std::memory_order_relaxed));
    const AllLocked all(registry);
    if (at_that_moment) at_that_moment();
    now_ms_ = registry.clock_.WallMs();
    for (Lock& lock : all) epoch_ = ++lock.epoch;
  }
  ~Collection() {
    std::shared_ptr<Remains> flushed;  // die after the locks are gone
    std::array<std::vector<NamedFilter>, kLocks> kept;
    const AllLocked all(registry_);
    for (size_t i = 0; i < kShards; ++i) all.ShardOf(i).visited = epoch_;
    auto taken = kept.begin();
    for (Lock& lock : all) lock.kept.swap(*taken++);
    const core::LockGuard handover(registry_.handover_);
    flushed.swap(registry_.flushed_);
  }

  std::vector<NamedFilter> Find() {
    for (size_t i = 0; i < kShards; ++i) {
      Lock& lock = registry_.LockOf(i);
      const core::LockGuard guard(lock.mutex);
      Visit(lock.ShardOf(i));
    }
    VisitFlushed();
    for (size_t i = 0; i < kLocks; ++i) TakeKept(registry_.locks_[i]);
    return std::move(found_);
  }

 private:
  void Visit(Shard& shard) {
    if (shard.visited == epoch_) return;
    shard.names.ForEach([this](const Entry& entry) {
      if (entry.epoch != epoch_) Add({std::string(entry.name()), entry.filter, entry.expires_ms, entry.stamp});
    });
    shard.visited = epoch_;
  }
  void VisitFlushed() {
    std::shared_ptr<Remains> flushed;
    {
      const core::LockGuard handover(registry_.handover_);
      flushed = registry_.flushed_;
    }
    if (flushed == nullptr) return;
    for (Shard& shard : flushed->shards) Visit(shard);
  }
  void TakeKept(Lock& lock) {
    std::vector<NamedFilter> kept;
    {
      const core::LockGuard guard(lock.mutex);
      kept.swap(lock.kept);
    }
    for (NamedFilter& named : kept) Add(std::move(named));
  }
  void Add(NamedFilter named) {
    if (named.expires_ms == 0 || named.expires_ms > now_ms_) found_.push_back(std::move(named));
  }

  const Registry& registry_;
  uint32_t epoch_ = 0;
  int64_t now_ms_ = 0;
  std::vector<NamedFilter> found_;
};

std::vector<NamedFilter> Registry::Collect(const std::function<void()>& at_that_moment) const {
  const core::LockGuard one(collecting_);
  return Collection(*this, at_that_moment).Find();
}

}  // namespace bitsieve::server
