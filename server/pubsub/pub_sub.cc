#include "server/pubsub/pub_sub.h"

#include <algorithm>
#include <utility>

#include "core/base/glob.h"

namespace bitsieve::server {
namespace {

std::shared_ptr<const Message> MakeMessage(std::string_view channel, std::string_view payload) {
  return std::make_shared<const Message>(Message{std::string(channel), std::string(payload)});
}

}  // namespace

class PubSub::Turn {
 public:
  explicit Turn(Shard& shard) : shard_(shard) {
    const core::LockGuard lock(shard_.mutex);
    while (shard_.is_sending) shard_.sent.Wait(shard_.mutex);
    shard_.is_sending = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const core::LockGuard lock(shard_.mutex);
    shard_.is_sending = false;
    shard_.sent.NotifyOne();
  }

 private:
  Shard& shard_;
};

void PubSub::Subscribe(std::string_view channel, const InboxPtr& inbox) {
  Shard& shard = ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  if (const AudiencePtr audience = shard.Find(channel); audience != nullptr) return audience->Insert(inbox);
  auto audience = std::make_shared<Audience>();
  audience->Insert(inbox);
  shard.channels.emplace(std::string(channel), std::move(audience));
  channel_count_.fetch_add(1, std::memory_order_relaxed);
  channel_bytes_.fetch_add(channel.size(), std::memory_order_relaxed);
}

void PubSub::Unsubscribe(std::string_view channel, const InboxPtr& inbox) noexcept {
  Shard& shard = ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  const auto found = shard.channels.find(channel);
  if (found == shard.channels.end() || !found->second->Erase(inbox) || found->second->size() != 0) return;
  shard.channels.erase(found);
  channel_count_.fetch_sub(1, std::memory_order_relaxed);
  channel_bytes_.fetch_sub(channel.size(), std::memory_order_relaxed);
}

void PubSub::SubscribePattern(std::string_view pattern, const InboxPtr& inbox) {
  const core::LockGuard lock(patterns_mutex_);
  if (const PatternPtr found = patterns_.Find(pattern); found != nullptr) return found->audience.Insert(inbox);
  const auto made = std::make_shared<Pattern>();
  made->text = std::make_shared<const std::string>(pattern);
  made->audience.Insert(inbox);
  patterns_.Insert(made);
  pattern_count_.fetch_add(1, std::memory_order_relaxed);
}

void PubSub::UnsubscribePattern(std::string_view pattern, const InboxPtr& inbox) noexcept {
  const core::LockGuard lock(patterns_mutex_);
  const PatternPtr found = patterns_.Find(pattern);
  if (found == nullptr || !found->audience.Erase(inbox) || found->audience.size() != 0) return;
  patterns_.Erase(found);
  pattern_count_.fetch_sub(1, std::memory_order_relaxed);
}

size_t PubSub::Receivers::Count() const {
  size_t count = audience == nullptr ? 0 : audience->size();
  for (const PatternPtr& pattern : patterns) count += pattern->audience.size();
  return count;
}

std::optional<uint64_t> PubSub::TryPublish(std::string_view channel, std::string_view payload) {
  if (!AnySubscribers()) return 0;
  if (channel.size() + payload.size() > kQuickBytes) return std::nullopt;
  Sleepers sleepers;  // woken once the lock is released
  Shard& shard = ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  if (shard.is_sending) return std::nullopt;
  Receivers receivers{.audience = shard.Find(channel)};
  if (!TryFindPatterns(channel, receivers.patterns)) return std::nullopt;
  const size_t count = receivers.Count();
  if (count == 0) return 0;
  if (count > kQuickReceivers) return std::nullopt;
  return Send(receivers, MakeMessage(channel, payload), sleepers);
}

uint64_t PubSub::Publish(std::string_view channel, std::string_view payload) {
  if (!AnySubscribers()) return 0;
  const std::shared_ptr<const Message> message = MakeMessage(channel, payload);
  Sleepers sleepers;
  Shard& shard = ShardOf(channel);
  const Turn turn(shard);
  Receivers receivers;
  FindPatterns(channel, receivers.patterns);
  {
    const core::LockGuard lock(shard.mutex);
    receivers.audience = shard.Find(channel);
  }
  return Send(receivers, message, sleepers);
}

uint64_t PubSub::Send(const Receivers& receivers, const std::shared_ptr<const Message>& message,
                      Sleepers& sleepers) noexcept {
  uint64_t count = receivers.audience == nullptr ? 0 : receivers.audience->Send({message, nullptr}, sleepers);
  for (const PatternPtr& pattern : receivers.patterns)
    count += pattern->audience.Send({message, pattern->text}, sleepers);
  return count;
}

bool PubSub::TryFindPatterns(std::string_view channel, std::vector<PatternPtr>& found) const {
  if (pattern_count() == 0) return true;
  const core::LockGuard lock(patterns_mutex_);
  if (patterns_.CostOf(channel) > kQuickCost) return false;
  patterns_.ForEach(channel, [&](const PatternPtr& pattern) {
    if (core::GlobMatch(*pattern->text, channel)) found.push_back(pattern);
  });
  return true;
}

void PubSub::FindPatterns(std::string_view channel, std::vector<PatternPtr>& found) const {
  std::vector<PatternPtr> step;
  PatternIndex::Walk walk;
  do {
    {
      const core::LockGuard lock(patterns_mutex_);
      patterns_.Next(channel, walk, step);
    }
    for (const PatternPtr& pattern : step) {
      if (core::GlobMatch(*pattern->text, channel)) found.push_back(pattern);
    }
  } while (!step.empty());
  // Patterns that came and went meanwhile may have been visited twice.
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
}

std::vector<std::string> PubSub::Channels(std::string_view glob) const {
  std::vector<std::string> found;
  for (const Shard& shard : shards_) {
    // Compared without the lock: that takes longer than copying.
    const size_t begin = found.size();
    {
      const core::LockGuard lock(shard.mutex);
      for (const auto& [channel, audience] : shard.channels) found.push_back(channel);
    }
    const auto unfit = [&](const std::string& channel) { return !core::GlobMatch(glob, channel); };
    found.erase(std::remove_if(found.begin() + static_cast<ptrdiff_t>(begin), found.end(), unfit), found.end());
  }
  return found;
}

uint64_t PubSub::ChannelsCost(std::string_view glob) const {
  constexpr uint64_t kEach = 100;
  return channel_count() * (kEach + glob.size()) +
         core::GlobCost(glob.size(), channel_bytes_.load(std::memory_order_relaxed));
}

uint64_t PubSub::Subscribers(std::string_view channel) const {
  const Shard& shard = ShardOf(channel);
  const core::LockGuard lock(shard.mutex);
  const AudiencePtr audience = shard.Find(channel);
  return audience == nullptr ? 0 : audience->size();
}

}  // namespace bitsieve::server
