#include "server/keyspace/registry.h"

#include <algorithm>
#include <condition_variable>
#include <unordered_map>
#include <utility>

#include "core/hash/key_hash.h"

namespace bitsieve::server {
namespace {

// Of one entry beside its name: map node, bucket, reservation, and the filter's own objects, rounded up.
constexpr uint64_t kEntryBytes = 256;

struct StoredName {
  std::string text;
  uint64_t hash;
};

struct Entry {
  FilterPtr filter;
  core::MemoryReservation memory;  // of the name and the entry
};

}  // namespace

// A name to look for. Hashed once: half of the bits choose the shard, the others the bucket.
struct Registry::Name {
  std::string_view text;
  size_t shard;
  uint64_t hash;
};

struct alignas(64) Registry::Lock {
  std::mutex mutex;
};

struct Registry::Shard {
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Name& name) const { return name.hash; }
    size_t operator()(const StoredName& name) const { return name.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const StoredName& a, const StoredName& b) const { return a.text == b.text; }
    bool operator()(const StoredName& a, const Name& b) const { return a.hash == b.hash && a.text == b.text; }
    bool operator()(const Name& a, const StoredName& b) const { return (*this)(b, a); }
  };
  using Map = std::unordered_map<StoredName, Entry, Hash, Equal>;

  Map map;
};

// Lets go of maps on a thread of its own, started when there is first something to do. Thread-safe.
class Registry::Reaper {
 public:
  ~Reaper() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void Take(std::vector<Shard::Map> maps) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(maps));
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    }
    wake_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::vector<std::vector<Shard::Map>> dying = std::exchange(waiting_, {});
      lock.unlock();
      dying.clear();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  // Protected by mutex_.
  std::vector<std::vector<Shard::Map>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

Registry::Registry(core::MemoryBudget& memory)
    : memory_(memory),
      seed_(core::RandomSeed()),
      locks_(std::make_unique<Lock[]>(kLocks)),
      shards_(std::make_unique<Shard[]>(kShards)),
      reaper_(std::make_unique<Reaper>()) {}

Registry::~Registry() = default;

Registry::Name Registry::Hashed(std::string_view name) const {
  const core::KeyHash hash = core::HashItem(name, seed_);
  return {name, hash.low % kShards, hash.high};
}

std::mutex& Registry::MutexOf(size_t shard) const { return locks_[shard % kLocks].mutex; }

std::vector<std::unique_lock<std::mutex>> Registry::LockAll() const {
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(kLocks);
  for (size_t i = 0; i < kLocks; ++i) locks.emplace_back(locks_[i].mutex);
  return locks;
}

FilterPtr Registry::Find(std::string_view text) const {
  const Name name = Hashed(text);
  Shard& shard = shards_[name.shard];
  const std::lock_guard lock(MutexOf(name.shard));
  const auto found = shard.map.find(name);
  return found == shard.map.end() ? nullptr : found->second.filter;
}

FilterPtr Registry::InsertIfAbsent(std::string_view text, FilterPtr filter) {
  const Name name = Hashed(text);
  core::MemoryReservation memory = core::MemoryReservation::TryTake(memory_, kEntryBytes + text.size());
  Shard& shard = shards_[name.shard];
  const std::lock_guard lock(MutexOf(name.shard));
  const auto found = shard.map.find(name);
  if (found != shard.map.end()) return found->second.filter;
  if (!memory.held()) return nullptr;
  shard.map.emplace(StoredName{std::string(text), name.hash}, Entry{filter, std::move(memory)});
  size_.fetch_add(1, std::memory_order_relaxed);
  CountChange();
  return filter;
}

bool Registry::Replace(std::string_view text, const FilterPtr& expected, FilterPtr replacement) {
  const Name name = Hashed(text);
  Shard& shard = shards_[name.shard];
  const std::lock_guard lock(MutexOf(name.shard));
  const auto found = shard.map.find(name);
  if (found == shard.map.end() || found->second.filter != expected) return false;
  // The caller's argument dies after the lock is gone, and what was replaced with it.
  found->second.filter.swap(replacement);
  CountChange();
  return true;
}

bool Registry::Remove(std::string_view text) {
  const Name name = Hashed(text);
  Shard& shard = shards_[name.shard];
  Shard::Map::node_type removed;  // dies after the lock is gone
  const std::lock_guard lock(MutexOf(name.shard));
  const auto found = shard.map.find(name);
  if (found == shard.map.end()) return false;
  removed = shard.map.extract(found);
  size_.fetch_sub(1, std::memory_order_relaxed);
  CountChange();
  return true;
}

RenameOutcome Registry::Rename(std::string_view from_text, std::string_view to_text, bool only_if_absent) {
  const Name from = Hashed(from_text);
  const Name to = Hashed(to_text);
  const auto [first, second] = std::minmax({from.shard % kLocks, to.shard % kLocks});
  // Both made, and so both dead, outside of the locks.
  StoredName new_name{std::string(to_text), to.hash};
  Entry replaced{nullptr, core::MemoryReservation::TryTake(memory_, kEntryBytes + to_text.size())};

  const std::lock_guard first_lock(locks_[first].mutex);
  std::unique_lock<std::mutex> second_lock;
  if (first != second) second_lock = std::unique_lock(locks_[second].mutex);
  Shard::Map& source = shards_[from.shard].map;
  Shard::Map& target = shards_[to.shard].map;
  const auto moving = source.find(from);
  if (moving == source.end()) return RenameOutcome::kNoSource;
  const auto there = target.find(to);
  if (there != target.end() && only_if_absent) return RenameOutcome::kTargetExists;
  if (from_text == to_text) return RenameOutcome::kRenamed;
  if (!replaced.memory.held()) return RenameOutcome::kOutOfMemory;

  auto node = source.extract(moving);
  std::swap(node.mapped().memory, replaced.memory);
  if (there != target.end()) {
    there->second.filter.swap(node.mapped().filter);
    replaced.filter = std::move(node.mapped().filter);
    size_.fetch_sub(1, std::memory_order_relaxed);
  } else {
    node.key() = std::move(new_name);
    target.insert(std::move(node));
  }
  CountChange();
  return RenameOutcome::kRenamed;
}

void Registry::Flush(bool background) {
  std::vector<Shard::Map> maps(kShards);
  {
    const auto locks = LockAll();
    for (size_t i = 0; i < kShards; ++i) maps[i].swap(shards_[i].map);
    size_.store(0, std::memory_order_relaxed);
    CountChange();
  }
  if (background) reaper_->Take(std::move(maps));
}

uint64_t Registry::Size() const { return size_.load(std::memory_order_relaxed); }

uint64_t Registry::Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const {
  uint64_t visited = 0;
  while (cursor < kShards && visited < count) {
    const Shard& shard = shards_[cursor];
    const std::lock_guard lock(MutexOf(cursor));
    for (const auto& [name, entry] : shard.map) visitor(name.text, entry.filter);
    visited += shard.map.size();
    ++cursor;
  }
  return cursor < kShards ? cursor : 0;
}

core::MemoryBudget& Registry::memory() { return memory_; }

std::vector<NamedFilter> Registry::Collect() const {
  const auto locks = LockAll();
  std::vector<NamedFilter> all;
  all.reserve(Size());
  for (size_t i = 0; i < kShards; ++i) {
    for (const auto& [name, entry] : shards_[i].map) all.push_back({name.text, entry.filter});
  }
  return all;
}

uint64_t Registry::ChangeCount() const { return changes_.load(std::memory_order_relaxed); }

}  // namespace bitsieve::server
