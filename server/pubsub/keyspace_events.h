// keyspace_events.h: publishes changes of filters and their names to subscribers (option notify-keyspace-events), over
// the channels __keyspace@0__:NAME, whose messages are events, and __keyevent@0__:EVENT, whose messages are names.
// While no events are enabled it costs one relaxed load.
//
// An event is published after the change and outside of all locks, from the thread that made it if that is quick
// (PubSub::TryPublish). Otherwise it waits in a queue, as do all events after it until the queue is empty, and a worker
// publishes it: what makes a change never waits for subscribers. While more than kManyBytes wait, further changes are
// put off (IsBehind); events that come nevertheless, such as those of names that expire, are lost from kMaxBytes on.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "commands/filter_events.h"
#include "commands/workers.h"
#include "core/base/mutex.h"
#include "server/pubsub/pub_sub.h"

namespace bitsieve::server {

class KeyspaceEvents final : public commands::FilterEvents {
 public:
  static constexpr size_t kManyBytes = size_t{4} << 20;
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // Without workers all is published at once.
  explicit KeyspaceEvents(PubSub& pub_sub, commands::Workers* workers = nullptr)
      : pub_sub_(pub_sub), workers_(workers) {}

  // Sets which events are published, by the letters of the option; letters without a meaning here are ignored.
  void Configure(std::string_view letters);
  // Before there are events.
  void UseWorkers(commands::Workers& workers) { workers_ = &workers; }
  // Before the workers stop: waiting events are dropped, and further ones are not published.
  void Stop() { stopping_.store(true, std::memory_order_relaxed); }

  bool IsBehind() const { return waiting_bytes_.load(std::memory_order_relaxed) > kManyBytes; }
  // Events that were lost because too many waited.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kOnKeyspace = 1 << 8;
  static constexpr uint32_t kOnKeyevent = 1 << 9;

  struct Event {
    std::string channel;
    std::string payload;

    size_t bytes() const { return sizeof *this + channel.capacity() + payload.capacity(); }
  };

  void PublishWanted(std::string_view event, std::string_view name) noexcept override;
  void Send(Event event);
  void Enqueue(Event event);
  void StartSending();
  // On a worker: publishes what waits, in order.
  void SendWaiting() noexcept;
  // The oldest; null if there is none, and the worker is done.
  const Event* Oldest();
  void RemoveOldest();

  PubSub& pub_sub_;
  commands::Workers* workers_;
  core::Mutex mutex_;
  std::deque<Event> waiting_ BITSIEVE_GUARDED_BY(mutex_);  // the first one may be under way
  bool sending_ BITSIEVE_GUARDED_BY(mutex_) = false;       // a worker sends, or will
  // Relaxed: steer and count. That a thread sees its own events wait is all that their order needs.
  std::atomic<size_t> waiting_bytes_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace bitsieve::server
