// filter_events.h: which events about filters and their names have a receiver. The check costs one relaxed load. An
// event is published after the change, from the thread that made it and outside of all locks. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace bitsieve::commands {

enum class EventClass : uint32_t {
  kGeneric = 1 << 0,  // g: of names: del, expire, persist, rename_from, rename_to, copy_to, restore
  kExpired = 1 << 1,  // x: expired
  kFilter = 1 << 2,   // d, which are modules' events in Redis: of filters
  kNew = 1 << 3,      // n: new
};

class FilterEvents {
 public:
  virtual ~FilterEvents() = default;

  bool Wants(EventClass event_class) const {
    return (wanted_.load(std::memory_order_relaxed) & static_cast<uint32_t>(event_class)) != 0;
  }
  // Nothing if the class is not wanted. Without memory for it, an event is lost.
  void Publish(EventClass event_class, std::string_view event, std::string_view name) noexcept {
    if (Wants(event_class)) [[unlikely]]
      PublishWanted(event, name);
  }

 protected:
  virtual void PublishWanted(std::string_view event, std::string_view name) noexcept = 0;

  // EventClass values, ORed, and what the implementation adds above them; relaxed: an option.
  std::atomic<uint32_t> wanted_{0};
};

}  // namespace bitsieve::commands
