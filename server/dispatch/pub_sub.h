// pub_sub.h: channels and patterns, and their subscribers. In this process alone; nothing is kept for clients that are
// not subscribed at the moment.
//
// Shard channels (SSUBSCRIBE) are channels of a space of their own, without patterns.
//
// Channels are in shards, each with a lock that is held while a message is put into the inboxes of its subscribers: so
// all subscribers of a channel receive its messages in the same order. Patterns are looked at one by one, under a lock
// of their own, if there are any. A publisher costs as much as there are subscribers of the channel, and patterns.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/mutex.h"
#include "server/dispatch/inbox.h"

namespace bitsieve::server {

class PubSub {
 public:
  // Channels of the same name in different spaces have nothing in common.
  enum class Space : uint8_t { kGlobal, kSharded };

  // Longer ones are refused: what a pattern costs grows with the product of both lengths.
  static constexpr size_t kMaxChannelBytes = 16384;
  static constexpr size_t kMaxPatternBytes = 1024;

  using InboxPtr = std::shared_ptr<Inbox>;

  void Subscribe(std::string_view channel, const InboxPtr& inbox, Space space = Space::kGlobal);
  // From then on nothing more of the channel comes into the inbox.
  void Unsubscribe(std::string_view channel, const InboxPtr& inbox, Space space = Space::kGlobal);
  void SubscribePattern(std::string_view pattern, const InboxPtr& inbox);
  void UnsubscribePattern(std::string_view pattern, const InboxPtr& inbox);

  // How many received it; one counts once for its channel and once for each pattern that fits.
  uint64_t Publish(std::string_view channel, std::string_view payload, Space space = Space::kGlobal);
  // Whether Publish() in the global space can reach anyone: two relaxed loads.
  bool AnySubscribers() const { return channel_count() != 0 || pattern_count_.load(std::memory_order_relaxed) != 0; }

  // Channels that fit the pattern and have subscribers; patterns' subscribers do not count.
  std::vector<std::string> Channels(std::string_view glob, Space space = Space::kGlobal) const;
  uint64_t Subscribers(std::string_view channel, Space space = Space::kGlobal) const;
  uint64_t channel_count(Space space = Space::kGlobal) const {
    return ChannelsOf(space).count.load(std::memory_order_relaxed);
  }
  // Different ones.
  uint64_t pattern_count() const { return pattern_count_.load(std::memory_order_relaxed); }

  // Of each inbox; an option, unlimited until it is set. Relaxed: promises nothing about anything else.
  std::atomic<uint64_t> inbox_limit_bytes{std::numeric_limits<uint64_t>::max()};

 private:
  static constexpr size_t kShards = 64;

  using Inboxes = std::unordered_set<InboxPtr>;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class Value>
  using ByName = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  struct Pattern {
    std::shared_ptr<const std::string> text;
    Inboxes inboxes;
  };
  struct alignas(64) Shard {
    mutable core::Mutex mutex;
    ByName<Inboxes> channels BITSIEVE_GUARDED_BY(mutex);
  };
  struct ChannelSpace {
    Shard& ShardOf(std::string_view channel) { return shards[Hash()(channel) % kShards]; }
    const Shard& ShardOf(std::string_view channel) const { return shards[Hash()(channel) % kShards]; }

    std::array<Shard, kShards> shards;
    // Relaxed, as pattern_count_.
    std::atomic<uint64_t> count{0};
  };
  struct Delivery;

  ChannelSpace& ChannelsOf(Space space) { return spaces_[static_cast<size_t>(space)]; }
  const ChannelSpace& ChannelsOf(Space space) const { return spaces_[static_cast<size_t>(space)]; }
  void PublishToChannel(Delivery& delivery);
  void PublishToPatterns(Delivery& delivery);

  std::array<ChannelSpace, 2> spaces_;
  core::Mutex patterns_mutex_;
  ByName<Pattern> patterns_ BITSIEVE_GUARDED_BY(patterns_mutex_);
  // Relaxed: changed under the locks, and read on their own. A client that has its subscription confirmed and then
  // makes another one publish has synchronised with it by that.
  std::atomic<uint64_t> pattern_count_{0};
};

}  // namespace bitsieve::server
