// pub_sub.h: channels and patterns, and their subscribers, in this process only. Nothing is kept for clients that are
// not subscribed at the moment.
//
// Order: all subscribers of a channel, those of patterns included, receive its messages in the same order. Channels are
//        in shards; of each shard one message is under way at a time.
// Time:  an event loop publishes by TryPublish, which takes at most about a tenth of a millisecond and refuses what
//        would take longer: many receivers, a long message, many patterns that begin as the channel does, or a channel
//        of whose shard a message is under way. A worker then publishes it, by Publish, in steps: no lock is held for
//        longer than kStep patterns or a bucket of receivers take, or the names of one shard.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "server/pubsub/audience.h"
#include "server/pubsub/pattern_index.h"

namespace bitsieve::server {

class PubSub {
 public:
  // Longer ones are refused. A channel is as long as that of an event may be; the limit of patterns is an option.
  static constexpr size_t kMaxChannelBytes = 16384;
  // TryPublish refuses more than these.
  static constexpr size_t kQuickReceivers = Sleepers::kMax;
  static constexpr size_t kQuickBytes = size_t{64} * 1024;
  static constexpr uint64_t kQuickCost = 100'000;

  void Subscribe(std::string_view channel, const InboxPtr& inbox);
  // From then on nothing more of the channel comes into the inbox.
  void Unsubscribe(std::string_view channel, const InboxPtr& inbox) noexcept;
  void SubscribePattern(std::string_view pattern, const InboxPtr& inbox);
  void UnsubscribePattern(std::string_view pattern, const InboxPtr& inbox) noexcept;

  // Returns how many received it; a subscriber counts once for its channel and once for each pattern that fits. If it
  // throws std::bad_alloc, nothing was sent.
  uint64_t Publish(std::string_view channel, std::string_view payload);
  // Does the same on an event loop. Returns nothing, and has done nothing, if it would take long: then Publish is to be
  // called on another thread.
  std::optional<uint64_t> TryPublish(std::string_view channel, std::string_view payload);
  // Whether a message can reach anyone: two relaxed loads.
  bool AnySubscribers() const { return channel_count() != 0 || pattern_count() != 0; }

  // Channels that fit the pattern and have subscribers; patterns' subscribers do not count.
  std::vector<std::string> Channels(std::string_view glob) const;
  // About what Channels() takes, in nanoseconds.
  uint64_t ChannelsCost(std::string_view glob) const;
  uint64_t Subscribers(std::string_view channel) const;
  uint64_t channel_count() const { return channel_count_.load(std::memory_order_relaxed); }
  // Returns the number of different patterns.
  uint64_t pattern_count() const { return pattern_count_.load(std::memory_order_relaxed); }

  // Limit of each inbox in bytes; an option, unlimited until it is set. Relaxed: promises nothing about anything else.
  std::atomic<uint64_t> inbox_limit_bytes{std::numeric_limits<uint64_t>::max()};

 private:
  static constexpr size_t kShards = 64;

  using AudiencePtr = std::shared_ptr<Audience>;
  struct alignas(64) Shard {
    AudiencePtr Find(std::string_view channel) const BITSIEVE_REQUIRES(mutex) {
      const auto found = channels.find(channel);
      return found == channels.end() ? nullptr : found->second;
    }

    mutable core::Mutex mutex;
    ByText<AudiencePtr> channels BITSIEVE_GUARDED_BY(mutex);
    bool is_sending BITSIEVE_GUARDED_BY(mutex) = false;  // a worker sends a message, without the lock
    core::ConditionVariable sent;
  };
  // The only sender of a shard, for as long as it lives.
  class Turn;
  // The receivers of a message: the subscribers of its channel, null if there are none, and those of patterns.
  struct Receivers {
    size_t Count() const;

    AudiencePtr audience = nullptr;
    std::vector<PatternPtr> patterns = {};
  };

  Shard& ShardOf(std::string_view channel) { return shards_[TextHash()(channel) % kShards]; }
  const Shard& ShardOf(std::string_view channel) const { return shards_[TextHash()(channel) % kShards]; }
  static uint64_t Send(const Receivers& receivers, const std::shared_ptr<const Message>& message,
                       Sleepers& sleepers) noexcept;
  // False if there are too many to compare the channel with now.
  bool TryFindPatterns(std::string_view channel, std::vector<PatternPtr>& found) const;
  void FindPatterns(std::string_view channel, std::vector<PatternPtr>& found) const;

  std::array<Shard, kShards> shards_;
  mutable core::Mutex patterns_mutex_;
  PatternIndex patterns_ BITSIEVE_GUARDED_BY(patterns_mutex_);
  // Relaxed: changed under the locks, and read on their own. A client that has its subscription confirmed and then
  // makes another one publish has synchronised with it by that.
  std::atomic<uint64_t> channel_count_{0};
  std::atomic<uint64_t> channel_bytes_{0};  // of the channels' names
  std::atomic<uint64_t> pattern_count_{0};
};

}  // namespace bitsieve::server
