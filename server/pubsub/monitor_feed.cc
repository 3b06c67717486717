#include "server/pubsub/monitor_feed.h"

#include <utility>
#include <vector>

namespace bitsieve::server {

void MonitorFeed::Add(const InboxPtr& inbox) {
  const core::LockGuard lock(mutex_);
  inboxes_.insert(inbox);
  count_.store(inboxes_.size(), std::memory_order_relaxed);
}

void MonitorFeed::Remove(const InboxPtr& inbox) {
  const core::LockGuard lock(mutex_);
  inboxes_.erase(inbox);
  count_.store(inboxes_.size(), std::memory_order_relaxed);
}

void MonitorFeed::Publish(std::string line) {
  const auto message =
      std::make_shared<const Message>(Message{.channel = "", .payload = std::move(line), .is_line = true});
  std::vector<InboxPtr> sleeping;  // woken once the lock is released
  {
    const core::LockGuard lock(mutex_);
    sleeping.reserve(inboxes_.size());
    for (const InboxPtr& inbox : inboxes_) {
      if (inbox->Put({message, nullptr})) sleeping.push_back(inbox);
    }
  }
  for (const InboxPtr& inbox : sleeping) inbox->Wake();
}

}  // namespace bitsieve::server
