#include "commands/fold_commands.h"

#include "commands/argument_reader.h"
#include "commands/create_options.h"
#include "commands/filter_commands.h"
#include "commands/notices.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {

bool FoldFilter(CommandContext& context, const FilterPtr& filter, const core::FoldTarget& target) {
  FilterKeyspace& keyspace = context.keyspace();
  const std::string_view name = context.arguments[1];
  const auto fold = core::FilterFold::Begin(filter, target, keyspace.MemoryOf(name));
  if (!fold) {
    const bool is_memory = fold.error().code == core::ErrorCode::kOutOfMemory;
    is_memory ? context.MemoryError() : context.Error(wire::CannotFold(fold.error().message));
    return false;
  }
  (*fold)->Run();
  (*fold)->folded()->TakeUseOf(*filter);
  const core::Result<bool> replaced = keyspace.ReplaceFolded(name, **fold);
  if (!replaced || !*replaced) {
    replaced ? context.Error(wire::kNotFound) : context.Error(wire::CannotFold(replaced.error().message));
    return false;
  }
  const core::Status logged = keyspace.LogRewrite((*fold)->folded());
  if (!logged) context.Error(wire::NotLogged(logged.error()));
  return logged.has_value();
}

namespace fold_commands {
namespace {

void Fold(CommandContext& context) {
  ArgumentReader reader(context.arguments, 2);
  const int64_t capacity = reader.Integer(wire::kBadCapacity, wire::kBadCapacity);
  const core::FoldTarget target{CheckedCapacity(reader, capacity, wire::kCapacityRange)};
  if (!reader.ok()) return context.Error(reader.error());
  const FilterPtr filter = context.keyspace().Find(context.arguments[1]);
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (!FoldFilter(context, filter, target)) return;
  NotifyChanged(context);
  context.reply.Ok();
}

constexpr CommandRow kRows[] = {
    {.name = "bf.fold",
     .arity = 3,
     .flags = kWrite,
     .keys = {1, 1, 1},
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(bytes)",
     .summary = "Makes a filter smaller, for fewer items than it was made for, without losing any.",
     .syntax = "key capacity",
     .notes =
         "Filters of the types blocked and classic that have not grown can be folded, if blocked from an error rate of "
         "0.00025 on. Neighbouring lines or bits become one; the answers are those of a filter of the new size to "
         "which the same items were added. The size is divided by the largest number that keeps the error rate with "
         "the new capacity. The command is refused, and changes nothing, if the filter holds more items than the new "
         "capacity, or if no divisor of its size leaves enough; the error says what would be possible. Large filters "
         "are folded outside the event loop: other connections are served at the same time, also on the same filter. "
         "Until it is done, there are both: it needs memory for the new one.",
     .weigh = WeighFilter,
     .handler = Fold},
};

}  // namespace
}  // namespace fold_commands

std::span<const CommandRow> FoldCommands() { return fold_commands::kRows; }

}  // namespace bitsieve::commands
