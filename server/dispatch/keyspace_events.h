// keyspace_events.h: tells subscribers what happens to filters and their names (option notify-keyspace-events), over
// the channels __keyspace@0__:NAME, whose messages are events, and __keyevent@0__:EVENT, whose messages are names.
// While nothing is asked for it costs one relaxed load. An event is published once what it tells of is done, from the
// thread that did it and outside of all locks. Thread-safe.
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

  // As the option has it; letters that mean nothing here are passed over.
  void Configure(std::string_view letters);

 private:
  static constexpr uint32_t kOnKeyspace = 1 << 8;
  static constexpr uint32_t kOnKeyevent = 1 << 9;

  void PublishWanted(std::string_view event, std::string_view name) noexcept override;

  PubSub& pub_sub_;
};

}  // namespace bitsieve::server
