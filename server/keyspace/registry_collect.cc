#include <array>
#include <iterator>
#include <utility>

#include "server/keyspace/registry_parts.h"

namespace bitsieve::server {

// From its moment until it is destroyed, changes to entries that it has not visited keep the old entry.
class Registry::Collection {
 public:
  Collection(const Registry& registry, const std::function<void()>& at_that_moment) : registry_(registry) {
    const AllLocked all(registry);
    if (at_that_moment) at_that_moment();
    now_ms_ = registry.clock_.WallMs();
    moment_ = registry.ChangeCount();
    for (Lock& lock : all) {
      lock.mutex.AssertHeld();
      epoch_ = ++lock.epoch;
      lock.moment = moment_;
    }
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

  core::Status VisitAll(const VisitBatch& visit) {
    for (size_t i = 0; i < kShards; ++i) {
      Lock& lock = registry_.LockOf(i);
      {
        const core::LockGuard guard(lock.mutex);
        Find(lock.ShardOf(i));
      }
      if (core::Status status = HandOver(visit); !status) return status;
    }
    if (core::Status status = VisitFlushed(visit); !status) return status;
    for (size_t i = 0; i < kLocks; ++i) {
      TakeKept(registry_.locks_[i]);
      if (core::Status status = HandOver(visit); !status) return status;
    }
    return {};
  }

 private:
  void Find(Shard& shard) {
    if (shard.visited == epoch_) return;
    found_.reserve(shard.names.size());
    shard.names.ForEach([this](const Entry& entry) {
      if (entry.stamp() > moment_) return;
      Add({std::string(entry.name()), entry.filter, entry.expires_ms, entry.stamp(), entry.saved()});
    });
    shard.visited = epoch_;
  }
  core::Status VisitFlushed(const VisitBatch& visit) {
    std::shared_ptr<Remains> flushed;
    {
      const core::LockGuard handover(registry_.handover_);
      flushed = registry_.flushed_;
    }
    if (flushed == nullptr) return {};
    for (Shard& shard : flushed->shards) {
      Find(shard);
      if (core::Status status = HandOver(visit); !status) return status;
    }
    return {};
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
  core::Status HandOver(const VisitBatch& visit) {
    if (found_.empty()) return {};
    core::Status status = visit(found_);
    found_.clear();
    return status;
  }

  const Registry& registry_;
  uint32_t epoch_ = 0;
  uint64_t moment_ = 0;
  int64_t now_ms_ = 0;
  std::vector<NamedFilter> found_;  // its memory is used again and again
};

core::Status Registry::CollectEach(const std::function<void()>& at_that_moment, const VisitBatch& visit) const {
  const core::LockGuard one(collecting_);
  return Collection(*this, at_that_moment).VisitAll(visit);
}

std::vector<NamedFilter> Registry::Collect(const std::function<void()>& at_that_moment) const {
  std::vector<NamedFilter> all;
  all.reserve(size_.load(std::memory_order_relaxed));
  (void)CollectEach(at_that_moment, [&](std::vector<NamedFilter>& batch) -> core::Status {
    std::move(batch.begin(), batch.end(), std::back_inserter(all));
    return {};
  });
  return all;
}

void Registry::MarkSaved(std::span<const NamedFilter> saved) const {
  for (const NamedFilter& named : saved) {
    if (named.saved == SavedPlace()) continue;
    const Name name = Hashed(named.name);
    Lock& lock = LockOf(name.shard);
    const core::LockGuard guard(lock.mutex);
    Entry* const entry = lock.ShardOf(name.shard).names.Find(name.text, name.hash);
    if (entry != nullptr && entry->stamp() == named.stamp) entry->SetSaved(named.saved);
  }
}

}  // namespace bitsieve::server
