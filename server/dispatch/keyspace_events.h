// keyspace_events.h: publishes changes of filters and their names to subscribers (option notify-keyspace-events), over
// the channels __keyspace@0__:NAME, whose messages are events, and __keyevent@0__:EVENT, whose messages are names.
// While no events are enabled it costs one relaxed load. An event is published after the change, from the thread that
// made it and outside of all locks. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "commands/filter_events.h"
#include "server/dispatch/pub_sub.h"
#include "server/namespace.h"

namespace bitsieve::server {

class KeyspaceEvents final : public FilterEvents {
 public:
  explicit KeyspaceEvents(PubSub& pub_sub) : pub_sub_(pub_sub) {}

  // As the option has it; letters without a meaning here are ignored.
  void Configure(std::string_view letters);

 private:
  static constexpr uint32_t kOnKeyspace = 1 << 8;
  static constexpr uint32_t kOnKeyevent = 1 << 9;

  void PublishWanted(std::string_view event, std::string_view name) noexcept override;

  PubSub& pub_sub_;
};

}  // namespace bitsieve::server
