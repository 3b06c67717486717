// BF.CHANGES: the changes of a filter since a position, for copies of it that began with BF.FOLLOW.

#include <string>

#include "commands/filter_commands.h"
#include "commands/followed_filters.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace change_commands {
namespace {

// Changes are copied: that many in less than a millisecond.
constexpr int64_t kManyChanges = 16384;

int64_t ReadCount(ArgumentReader& reader) {
  if (reader.AtEnd()) return kDefaultChanges;
  if (!reader.Skip("COUNT")) {
    reader.Fail(wire::kSyntax);
    return 0;
  }
  const int64_t count = reader.Integer(wire::kBadChangeCount, wire::kBadChangeCount);
  if (reader.ok() && (count < 1 || count > kMaxChanges)) reader.Fail(wire::kBadChangeCount);
  return count;
}

void Changes(CommandContext& context) {
  const std::optional<core::ChangePosition> position = ParsePosition(context.arguments[2]);
  ArgumentReader reader(context.arguments, 3);
  const int64_t count = ReadCount(reader);
  if (!reader.ok()) return context.Error(reader.error());
  if (!reader.AtEnd()) return context.Error(wire::kSyntax);
  if (!position) return context.Error(wire::kBadPosition);
  const core::Filter* const filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  const std::shared_ptr<core::ChangeHistory> history = filter->history();
  if (history == nullptr) return context.Error(wire::kGap);
  const auto page = history->Since(*position, static_cast<size_t>(count));
  if (!page) return context.Error(wire::kGap);
  if (!context.reply.Fits(page->bytes())) return;
  std::string runs;
  runs.reserve(page->bytes());
  page->AppendTo(runs);
  context.reply.ArrayHeader(3);
  context.reply.BulkString(PositionText(page->end()));
  context.reply.BulkString(runs);
  context.reply.Integer(page->is_last() ? 0 : 1);
}

Weight WeighCount(CommandContext& context) {
  ArgumentReader reader(context.arguments, 3);
  return ReadCount(reader) > kManyChanges ? Weight::kMany : Weight::kLight;
}

constexpr CommandRow kRows[] = {
    {.name = "bf.changes",
     .arity = -3,
     .max_arguments = 5,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(changes)",
     .summary = "Returns the changes of a filter since a position, for a copy of it that is kept elsewhere.",
     .syntax = "key position [COUNT count]",
     .notes = "The position is that of BF.FOLLOW or of the last reply. The reply is an array of the next position, the "
              "changes as bytes, and 1 if there are more, else 0. COUNT is the maximum number "
              "of items whose changes are returned, up to 65536; the default is 4096. An error that begins with GAP "
              "means that these changes are no longer there, or that the content was changed otherwise, as by "
              "BF.MERGE or BF.CLEAR: read the filter again with BF.FOLLOW.",
     .weigh = WeighCount,
     .handler = Changes},
};

}  // namespace
}  // namespace change_commands

std::span<const CommandRow> ChangeCommands() { return change_commands::kRows; }

}  // namespace bitsieve::commands
