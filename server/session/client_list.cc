#include "server/session/client_list.h"

#include <algorithm>
#include <utility>

namespace bitsieve::server {

void ClientList::Add(std::shared_ptr<ClientRecord> record) {
  const core::LockGuard lock(mutex_);
  const uint64_t id = record->id;
  records_.emplace(id, std::move(record));
}

void ClientList::Remove(uint64_t id) {
  decltype(records_)::node_type removed;  // dies after the lock is released
  const core::LockGuard lock(mutex_);
  removed = records_.extract(id);
}

std::vector<std::shared_ptr<ClientRecord>> ClientList::All() const {
  const core::LockGuard lock(mutex_);
  std::vector<std::shared_ptr<ClientRecord>> all;
  all.reserve(records_.size());
  for (const auto& [id, record] : records_) all.push_back(record);
  return all;
}

void ClientList::Evict() {
  using Candidate = std::pair<uint64_t, std::shared_ptr<ClientRecord>>;
  std::vector<Candidate> candidates;
  uint64_t left = memory_bytes();  // by those that stay
  for (std::shared_ptr<ClientRecord>& record : All()) {
    const uint64_t bytes = record->memory.total.load(std::memory_order_relaxed);
    if (record->doomed.load(std::memory_order_relaxed)) {
      left -= std::min(left, bytes);
    } else if (bytes >= kLeastEvicted && !record->no_evict.load(std::memory_order_relaxed)) {
      candidates.emplace_back(bytes, std::move(record));
    }
  }
  const auto smaller = [](const Candidate& a, const Candidate& b) { return a.first < b.first; };
  std::ranges::make_heap(candidates, smaller);
  for (; left > memory_limit() && !candidates.empty(); candidates.pop_back()) {
    std::ranges::pop_heap(candidates, smaller);
    const auto& [bytes, record] = candidates.back();
    left -= std::min(left, bytes);
    if (record->doomed.exchange(true, std::memory_order_relaxed)) continue;  // another loop was faster
    evicted_.fetch_add(1, std::memory_order_relaxed);
    record->Close("all clients together take more memory than maxmemory-clients, and it takes the most");
  }
}

size_t ClientList::Size() const {
  const core::LockGuard lock(mutex_);
  return records_.size();
}

}  // namespace bitsieve::server
