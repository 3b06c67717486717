// subscriptions.h: what one connection has subscribed to, every command (MONITOR) included, and the inbox that the
// messages come into. It unsubscribes from everything when it ends. Confined to its loop, except for its end; other
// threads see only the inbox.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/pubsub/monitor_feed.h"
#include "server/pubsub/pub_sub.h"

namespace bitsieve::server {

// Gives a connection's inbox what wakes the connection: to be called from any thread, also when the connection is gone.
class Wakeable {
 public:
  virtual std::function<void()> MessageWaker() = 0;

 protected:
  ~Wakeable() = default;
};

class Subscriptions {
 public:
  static constexpr size_t kMaxNames = 16384;
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  enum class Kind { kChannel, kPattern };

  Subscriptions(PubSub& pub_sub, Wakeable* owner);
  ~Subscriptions();

  // False, and nothing done, if that would be too many.
  bool Add(Kind kind, std::string_view name);
  void Remove(Kind kind, std::string_view name);
  std::vector<std::string> Names(Kind kind) const;
  // From now on the lines of MONITOR come into the inbox, too.
  void Monitor(MonitorFeed& feed);
  bool monitors() const { return feed_ != nullptr; }

  size_t channels() const { return SetOf(Kind::kChannel).size(); }
  size_t patterns() const { return SetOf(Kind::kPattern).size(); }
  size_t count() const { return channels() + patterns(); }
  // Memory that the names take, bookkeeping included.
  size_t bytes() const { return bytes_; }
  const Inbox& inbox() const { return *inbox_; }

  // Appends the oldest messages until there are `most_bytes` of them, or more. False if messages are left.
  bool WriteMessages(protocol::ReplyWriter& reply, size_t most_bytes);
  // The same, up to a payload of kLongBytes or more, which is not copied: it is set as `payload`, and belongs after
  // what was appended, with a line end after it.
  bool WriteMessages(protocol::ReplyWriter& reply, size_t most_bytes, std::shared_ptr<const Message>& payload);
  static constexpr size_t kLongBytes = size_t{64} * 1024;

  // Its end takes long: many names to unsubscribe from, or many messages to free.
  bool IsLarge() const { return count() > kManyNames || inbox_->bytes() > kManyBytes || inbox_->overflowed(); }
  // Nothing more comes into the inbox. Called on the loop; the end may then be on any thread.
  void Close() noexcept { inbox_->Close(); }

 private:
  static constexpr size_t kManyNames = 256;
  static constexpr size_t kManyBytes = size_t{256} * 1024;

  using Set = std::unordered_set<std::string>;

  static size_t BytesOf(std::string_view name);
  Set& SetOf(Kind kind) { return names_[static_cast<size_t>(kind)]; }
  const Set& SetOf(Kind kind) const { return names_[static_cast<size_t>(kind)]; }
  void Join(Kind kind, std::string_view name);
  void Leave(Kind kind, std::string_view name);

  PubSub& pub_sub_;
  const std::shared_ptr<Inbox> inbox_;
  std::array<Set, 2> names_;     // by kind
  MonitorFeed* feed_ = nullptr;  // null: it is no monitor
  size_t bytes_ = 0;
};

}  // namespace bitsieve::server
