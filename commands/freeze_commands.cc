// BF.FREEZE: the verb of the types that collect items until they are frozen.

#include "commands/filter_commands.h"
#include "commands/notices.h"
#include "commands/wire_errors.h"
#include "core/base/roll_back.h"
#include "core/families/ribbon/ribbon_staging.h"

namespace bitsieve::commands {
namespace {

// The filter is closed at once, so that nothing is added to it once the reply is out. One that is already closed or
// frozen needs no more.
void Freeze(CommandContext& context) {
  const FilterPtr filter = context.keyspace().Find(context.arguments[1]);
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (!filter->capabilities().freeze) {
    return context.Error(wire::CannotFreeze(filter->type().name));
  }
  core::RibbonStaging* const staging = core::RibbonStaging::Of(*filter);
  if (staging != nullptr && staging->Close()) {
    core::RollBack reopened([staging] { staging->Reopen(""); });
    NotifyChanged(context);  // before the event `frozen`, which may come as soon as the next call has begun
    context.environment.freezing->Freeze(context.arguments[1], filter);
    reopened.Dismiss();
  }
  context.reply.Ok();
}

constexpr CommandRow kRows[] = {
    {.name = "bf.freeze",
     .arity = 2,
     .flags = kWrite | kDenyOom | kFast,
     .keys = {1, 1, 1},
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 0.1.0",
     .complexity = "O(1), and O(items) in the background",
     .summary = "Ends the collecting of a ribbon filter: it takes no items any more, and is built in the background.",
     .syntax = "key",
     .notes = "Of the type ribbon; an error for other types. Lookups go on, from what was collected, until the frozen "
              "filter takes its place in one step; BF.INFO shows state and progress. OK, too, for a filter that is "
              "being built or frozen already. If building fails, for want of memory, the filter collects again and "
              "BF.INFO shows why. A crash or a restart in that time begins the building anew.",
     .handler = Freeze},
};

}  // namespace

std::span<const CommandRow> FreezeCommands() { return kRows; }

}  // namespace bitsieve::commands
