// monitor_feed.h: the connections that watch every command (MONITOR), and the lines that they get. Lines come into the
// inboxes that messages come into, with the same limit: a client that does not read them is closed. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

#include "core/base/mutex.h"
#include "server/pubsub/inbox.h"

namespace bitsieve::server {

class MonitorFeed {
 public:
  using InboxPtr = std::shared_ptr<Inbox>;

  void Add(const InboxPtr& inbox);
  void Remove(const InboxPtr& inbox);
  // One relaxed load: a command that runs at the moment when a monitor comes may not be shown to it.
  bool Any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // All monitors get all lines in the same order.
  void Publish(std::string line);

 private:
  core::Mutex mutex_;
  std::unordered_set<InboxPtr> inboxes_ BITSIEVE_GUARDED_BY(mutex_);
  std::atomic<size_t> count_{0};
};

}  // namespace bitsieve::server
