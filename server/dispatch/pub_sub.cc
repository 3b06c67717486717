#include "server/dispatch/pub_sub.h"

#include <utility>

#include "core/base/glob.h"

namespace bitsieve::server {

// One message on its way. Sleeping receivers are woken once all locks are released.
struct PubSub::Delivery {
  std::string_view channel;
  std::string_view payload;
  Space space;
  std::shared_ptr<const Message> message = nullptr;  // made for the first receiver
  std::vector<InboxPtr> sleeping = {};
  uint64_t receivers = 0;

  // Anything that can fail for lack of memory fails before any subscriber has received anything.
  void PutInto(const Inboxes& inboxes, const std::shared_ptr<const std::string>& pattern) {
    if (message == nullptr) {
      message = std::make_shared<const Message>(
          Message{std::string(channel), std::string(payload), space == Space::kSharded});
    }
    sleeping.reserve(sleeping.size() + inboxes.size());
    for (const InboxPtr& inbox : inboxes) {
      if (inbox->Put({message, pattern})) sleeping.push_back(inbox);
    }
    receivers += inboxes.size();
  }
};

void PubSub::Subscribe(std::string_view channel, const InboxPtr& inbox, Space space) {
  ChannelSpace& channels = ChannelsOf(space);
  Shard& shard = channels.ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  Inboxes& inboxes = shard.channels[std::string(channel)];
  inboxes.insert(inbox);
  if (inboxes.size() == 1) channels.count.fetch_add(1, std::memory_order_relaxed);
}

void PubSub::Unsubscribe(std::string_view channel, const InboxPtr& inbox, Space space) {
  ChannelSpace& channels = ChannelsOf(space);
  Shard& shard = channels.ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  const auto found = shard.channels.find(channel);
  if (found == shard.channels.end() || found->second.erase(inbox) == 0 || !found->second.empty()) return;
  shard.channels.erase(found);
  channels.count.fetch_sub(1, std::memory_order_relaxed);
}

void PubSub::SubscribePattern(std::string_view pattern, const InboxPtr& inbox) {
  const core::LockGuard lock(patterns_mutex_);
  Pattern& entry = patterns_[std::string(pattern)];
  if (entry.text == nullptr) entry.text = std::make_shared<const std::string>(pattern);
  entry.inboxes.insert(inbox);
  if (entry.inboxes.size() == 1) pattern_count_.fetch_add(1, std::memory_order_relaxed);
}

void PubSub::UnsubscribePattern(std::string_view pattern, const InboxPtr& inbox) {
  const core::LockGuard lock(patterns_mutex_);
  const auto found = patterns_.find(pattern);
  if (found == patterns_.end() || found->second.inboxes.erase(inbox) == 0 || !found->second.inboxes.empty()) return;
  patterns_.erase(found);
  pattern_count_.fetch_sub(1, std::memory_order_relaxed);
}

uint64_t PubSub::Publish(std::string_view channel, std::string_view payload, Space space) {
  Delivery delivery{channel, payload, space};
  if (channel_count(space) != 0) PublishToChannel(delivery);
  if (space == Space::kGlobal && pattern_count() != 0) PublishToPatterns(delivery);
  for (const InboxPtr& inbox : delivery.sleeping) inbox->Wake();
  return delivery.receivers;
}

void PubSub::PublishToChannel(Delivery& delivery) {
  const Shard& shard = ChannelsOf(delivery.space).ShardOf(delivery.channel);
  const core::LockGuard lock(shard.mutex);
  const auto found = shard.channels.find(delivery.channel);
  if (found != shard.channels.end()) delivery.PutInto(found->second, nullptr);
}

void PubSub::PublishToPatterns(Delivery& delivery) {
  const core::LockGuard lock(patterns_mutex_);
  for (const auto& [text, pattern] : patterns_) {
    if (core::GlobMatch(text, delivery.channel)) delivery.PutInto(pattern.inboxes, pattern.text);
  }
}

std::vector<std::string> PubSub::Channels(std::string_view glob, Space space) const {
  std::vector<std::string> found;
  for (const Shard& shard : ChannelsOf(space).shards) {
    const core::LockGuard lock(shard.mutex);
    for (const auto& [channel, inboxes] : shard.channels) {
      if (core::GlobMatch(glob, channel)) found.push_back(channel);
    }
  }
  return found;
}

uint64_t PubSub::Subscribers(std::string_view channel, Space space) const {
  const Shard& shard = ChannelsOf(space).ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  const auto found = shard.channels.find(channel);
  return found == shard.channels.end() ? 0 : found->second.size();
}

}  // namespace bitsieve::server
