#include "server/commands/session.h"

#include <algorithm>
#include <utility>

namespace bitsieve::server {

void ClientList::Add(std::shared_ptr<ClientRecord> record) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::upper_bound(records_, record->id, {}, [](const auto& other) { return other->id; });
  records_.insert(at, std::move(record));
}

void ClientList::Remove(uint64_t id) {
  std::shared_ptr<ClientRecord> removed;  // dies after the lock is gone
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::lower_bound(records_, id, {}, [](const auto& other) { return other->id; });
  if (at == records_.end() || (*at)->id != id) return;
  removed = std::move(*at);
  records_.erase(at);
}

std::vector<std::shared_ptr<ClientRecord>> ClientList::All() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

size_t ClientList::Size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

}  // namespace bitsieve::server
