// BF.FREEZE: the verb of the types that collect items until they are frozen.

#include "commands/filter_commands.h"
#include "commands/notices.h"
#include "commands/wire_errors.h"
#include "core/filter/staging.h"

namespace bitsieve::commands {
namespace freeze_commands {
namespace {

// The filter is closed at once, so that nothing is added to it once the reply is out. One that is already closed or
// frozen needs no more.
void Freeze(CommandContext& context) {
  const FilterPtr filter = context.keyspace().Find(context.arguments[1]);
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (!filter->capabilities().freeze) return context.Error(wire::CannotFreeze(filter->type()));
  core::BeginFreezing(filter->staging(), [&] {
    NotifyChanged(context);  // before the event `frozen`, which may come as soon as the next call has begun
    context.environment.freezing->Freeze(context.arguments[1], filter);
  });
  context.reply.Ok();
}

constexpr CommandRow kRows[] = {
    {.name = "bf.freeze",
     .arity = 2,
     .flags = kWrite | kDenyOom | kFast,
     .keys = {1, 1, 1},
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(1), and O(items) in the background",
     .summary = "Ends the additions to a ribbon filter, which is then built in the background.",
     .syntax = "key",
     .notes = "Works on filters of the type ribbon. Lookups use the collected items until the frozen filter replaces "
              "them in one step; BF.INFO shows the state and the progress. The command also succeeds on a filter that "
              "is being built or is already frozen. If building fails for lack of memory, the filter accepts items "
              "again and BF.INFO shows why. After a crash or a restart during building, building begins again.",
     .handler = Freeze},
};

}  // namespace
}  // namespace freeze_commands

std::span<const CommandRow> FreezeCommands() { return freeze_commands::kRows; }

}  // namespace bitsieve::commands
