// keyspace_events.h: tells subscribers what happens to filters and their names (option notify-keyspace-events), over
// the channels __keyspace@0__:NAME, whose messages are events, and __keyevent@0__:EVENT, whose messages are names.
// While nothing is asked for it costs one relaxed load. An event is published once what it tells of is done, from the
// thread that did it and outside of all locks. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "server/commands/pub_sub.h"

namespace bitsieve::server {

enum class EventClass : uint32_t {
  kGeneric = 1 << 0,  // g: of names: del, expire, persist, rename_from, rename_to, copy_to, restore
  kExpired = 1 << 1,  // x: expired
  kFilter = 1 << 2,   // d, which are modules' events in Redis: of filters
  kNew = 1 << 3,      // n: new
};

class KeyspaceEvents {
 public:
  explicit KeyspaceEvents(PubSub& pub_sub) : pub_sub_(pub_sub) {}

  // As the option has it; letters that mean nothing here are passed over.
  void Configure(std::string_view letters);

  bool Wants(EventClass event_class) const {
    return (wanted_.load(std::memory_order_relaxed) & static_cast<uint32_t>(event_class)) != 0;
  }
  // Nothing if the class is not wanted. For want of memory an event is lost.
  void Publish(EventClass event_class, std::string_view event, std::string_view name) noexcept {
    if (Wants(event_class)) [[unlikely]]
      PublishWanted(event, name);
  }

 private:
  static constexpr uint32_t kOnKeyspace = 1 << 8;
  static constexpr uint32_t kOnKeyevent = 1 << 9;

  void PublishWanted(std::string_view event, std::string_view name) noexcept;

  PubSub& pub_sub_;
  std::atomic<uint32_t> wanted_{0};  // EventClass values and the channels, ORed; relaxed: an option
};

}  // namespace bitsieve::server
