// notices.h: how handlers report what they did to filters and names (filter_events.h). Confined to the context's
// loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "commands/command.h"
#include "commands/filter_events.h"

namespace bitsieve::commands {

inline void Notify(const CommandContext& context, EventClass event_class, std::string_view event,
                   std::string_view name) {
  if (context.events != nullptr) context.events->Publish(event_class, event, name);
}
// The command that runs now changed the filter named by argument 1: the event bears the command's name.
inline void NotifyChanged(const CommandContext& context) {
  Notify(context, EventClass::kFilter, context.row->name, context.arguments[1]);
}
inline void NotifyNew(const CommandContext& context, std::string_view name) {
  Notify(context, EventClass::kNew, "new", name);
}

// The events of an addition to the filter named by argument 1: one of the command's name, "grown" and "full". It is
// made before the addition, is given all outcomes, and is published after it.
class AddNotice {
 public:
  // `counts_repeats`: an item that was there already may have been counted once more, as the filter's type has it.
  AddNotice(const CommandContext& context, const core::Filter& filter, bool counts_repeats = true)
      : context_(context),
        filter_(filter),
        on_(context.events != nullptr && context.events->Wants(EventClass::kFilter)) {
    if (on_) [[unlikely]]
      Begin(counts_repeats);
  }

  void Look(std::span<const core::AddOutcome> outcomes) {
    if (on_) [[unlikely]]
      LookAt(outcomes);
  }
  // Publishes one event per command: for a run of commands, as many as changed something.
  void PublishEach() {
    if (on_) [[unlikely]]
      Publish(changed_);
  }
  void PublishOnce() {
    if (on_) [[unlikely]]
      Publish(std::min<size_t>(changed_, 1));
  }

 private:
  void Begin(bool counts_repeats);
  void LookAt(std::span<const core::AddOutcome> outcomes);
  void Publish(size_t times);

  const CommandContext& context_;
  const core::Filter& filter_;
  const bool on_;
  bool repeats_ = false;
  bool full_ = false;
  size_t sub_filters_ = 0;
  size_t changed_ = 0;
};

}  // namespace bitsieve::commands
