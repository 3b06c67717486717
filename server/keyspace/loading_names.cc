#include "server/keyspace/loading_names.h"

#include <numeric>
#include <utility>

#include "server/keyspace/registry_parts.h"

namespace bitsieve::server {

LoadingNames::LoadingNames(Registry& registry)
    : registry_(registry), locks_(std::make_unique<Lock[]>(Registry::kLocks)) {
  for (Lock& lock : std::span(locks_.get(), Registry::kLocks)) {
    const core::LockGuard guard(lock.mutex);
    for (Part& part : lock.parts) part.names.Init(registry.quotas_, registry.seed_);
  }
}

void LoadingNames::Expect(uint64_t names) {
  const uint64_t in_shard = names / Registry::kShards;
  for (Lock& lock : std::span(locks_.get(), Registry::kLocks)) {
    const core::LockGuard guard(lock.mutex);
    for (Part& part : lock.parts) part.names.Reserve(in_shard + in_shard / 32);
  }
}

uint64_t LoadingNames::NewStamps(uint64_t count) {
  return registry_.changes_.fetch_add(count, std::memory_order_relaxed) + 1;
}

// All of a lock's together, so that it is taken once.
void LoadingNames::Insert(std::span<EntryPtr> entries) {
  std::vector<Place> places(entries.size());
  std::array<size_t, Registry::kLocks + 1> begins{};
  std::vector<Place> unordered;
  unordered.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const Registry::Name name = registry_.Hashed(entries[i]->name());
    unordered.push_back({static_cast<uint32_t>(name.shard), static_cast<uint32_t>(i), name.hash});
    ++begins[name.shard % Registry::kLocks + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::array<size_t, Registry::kLocks + 1> next = begins;
  for (const Place& place : unordered) places[next[place.shard % Registry::kLocks]++] = place;
  for (size_t i = 0; i < Registry::kLocks; ++i) {
    Lock& lock = locks_[i];
    const core::LockGuard guard(lock.mutex);
    InsertLocked(lock, entries, std::span(places).subspan(begins[i], begins[i + 1] - begins[i]));
  }
}

void LoadingNames::InsertLocked(Lock& lock, std::span<EntryPtr> entries, std::span<const Place> places) {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) {
      const Place& ahead = places[i + kAhead];
      lock.parts[ahead.shard / Registry::kLocks].names.Prefetch(ahead.hash);
    }
    const Place& place = places[i];
    Part& part = lock.parts[place.shard / Registry::kLocks];
    EntryPtr& entry = entries[place.index];
    if (part.names.Find(entry->name(), place.hash) != nullptr) continue;
    part.names.MakeRoom();
    part.has_expiries |= entry->expires_ms != 0;
    part.names.Insert(std::move(entry), place.hash);
  }
}

Entry* LoadingNames::Find(std::string_view text) const {
  const Registry::Name name = registry_.Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  return lock.parts[name.shard / Registry::kLocks].names.Find(text, name.hash);
}

EntryPtr LoadingNames::Take(Entry& entry) noexcept {
  const Registry::Name name = registry_.Hashed(entry.name());
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  return lock.parts[name.shard / Registry::kLocks].names.Extract(&entry, name.hash);
}

void LoadingNames::IndexExpiry(const Entry& entry) {
  const Registry::Name name = registry_.Hashed(entry.name());
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  lock.parts[name.shard / Registry::kLocks].has_expiries = true;
}

void LoadingNames::ForEach(const std::function<void(Entry&)>& visit) const {
  for (Lock& lock : std::span(locks_.get(), Registry::kLocks)) {
    const core::LockGuard guard(lock.mutex);
    for (Part& part : lock.parts) part.names.ForEach(visit);
  }
}

void LoadingNames::Clear() {
  for (Lock& lock : std::span(locks_.get(), Registry::kLocks)) {
    const core::LockGuard guard(lock.mutex);
    for (Part& part : lock.parts) {
      part.names = NameTable();
      part.names.Init(registry_.quotas_, registry_.seed_);
      part.has_expiries = false;
    }
  }
}

uint64_t LoadingNames::size() const {
  uint64_t size = 0;
  for (Lock& lock : std::span(locks_.get(), Registry::kLocks)) {
    const core::LockGuard guard(lock.mutex);
    for (const Part& part : lock.parts) size += part.names.size();
  }
  return size;
}

uint64_t LoadingNames::Publish() {
  uint64_t expired = 0;
  for (size_t i = 0; i < Registry::kShards; ++i) expired += PublishShard(i);
  if (registry_.AnyExpiry()) registry_.reaper_->Sweep();
  return expired;
}

// Each entry is looked at only if there is something to be done for it.
uint64_t LoadingNames::PublishShard(size_t shard) {
  Lock& from = LockOf(shard);
  const core::LockGuard from_guard(from.mutex);
  Part& part = from.parts[shard / Registry::kLocks];
  std::vector<Entry*> expired;
  if (part.has_expiries) {
    part.names.ForEach([&](Entry& entry) {
      if (IsDue(entry, registry_.clock_)) expired.push_back(&entry);
    });
    for (Entry* const entry : expired) (void)part.names.Extract(entry, registry_.Hashed(entry->name()).hash);
  }
  Registry::Lock& lock = registry_.LockOf(shard);
  const core::LockGuard guard(lock.mutex);
  if (part.has_expiries) {
    part.names.ForEach([&](Entry& entry) {
      lock.mutex.AssertHeld();
      if (entry.expires_ms != 0) lock.expiries.Insert({entry.expires_ms, shard, &entry});
    });
  }
  if (!registry_.quotas_.empty()) {
    part.names.ForEach([&](const Entry& entry) { (void)registry_.quotas_.TryAddName(entry.quota()); });
  }
  lock.ShardOf(shard).names.swap(part.names);
  registry_.size_.fetch_add(lock.ShardOf(shard).names.size(), std::memory_order_relaxed);
  return expired.size();
}

}  // namespace bitsieve::server
