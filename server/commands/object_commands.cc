// OBJECT, ROLE and WAIT: what tools ask about a name and about the server, answered as Redis does for one server
// without replicas that does not time accesses.

#include "server/commands/command_families.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

bool NamesAFilter(const CommandContext& context) { return context.keyspace().Find(context.arguments[2]) != nullptr; }

void Encoding(CommandContext& context) {
  if (!NamesAFilter(context)) return context.reply.Null();
  context.reply.BulkString("raw");  // as of a value of a module
}

void IdleTime(CommandContext& context) {
  if (!NamesAFilter(context)) return context.reply.Null();
  context.reply.Integer(0);
}

void ReferenceCount(CommandContext& context) {
  if (!NamesAFilter(context)) return context.reply.Null();
  context.reply.Integer(1);
}

void Frequency(CommandContext& context) {
  if (!NamesAFilter(context)) return context.reply.Null();
  context.Error(wire::kNoFrequencies);
}

void Role(CommandContext& context) {
  context.reply.ArrayHeader(3);
  context.reply.BulkString("master");
  context.reply.Integer(0);
  context.reply.ArrayHeader(0);
}

void Wait(CommandContext& context) {
  ArgumentReader reader(context.arguments, 1);
  reader.Integer(wire::kNotAnInteger, wire::kNotAnInteger);
  const int64_t timeout_ms = reader.Integer(wire::kTimeoutNotAnInteger, wire::kTimeoutNotAnInteger);
  if (timeout_ms < 0) reader.Fail(wire::kNegativeTimeout);
  if (!reader.ok()) return context.Error(reader.error());
  context.reply.Integer(0);
}

constexpr KeyPositions kKey{2, 2, 1};

constexpr CommandRow kObjectSubcommands[] = {
    {.name = "object|encoding",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kKey,
     .group = CommandGroup::kGeneric,
     .since = "2.2.3",
     .complexity = "O(1)",
     .summary = "raw, as of every value of a module. Nil if there is no such filter.",
     .syntax = "key",
     .handler = Encoding},
    {.name = "object|freq",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kKey,
     .group = CommandGroup::kGeneric,
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "An error, since accesses are not counted. Nil if there is no such filter.",
     .syntax = "key",
     .handler = Frequency},
    HelpRow("object|help", "6.2.0", CommandGroup::kGeneric),
    {.name = "object|idletime",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kKey,
     .group = CommandGroup::kGeneric,
     .since = "2.2.3",
     .complexity = "O(1)",
     .summary = "0, since accesses are not timed. Nil if there is no such filter.",
     .syntax = "key",
     .handler = IdleTime},
    {.name = "object|refcount",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kKey,
     .group = CommandGroup::kGeneric,
     .since = "2.2.3",
     .complexity = "O(1)",
     .summary = "1. Nil if there is no such filter.",
     .syntax = "key",
     .handler = ReferenceCount},
};

constexpr CommandRow kRows[] = {
    {.name = "object",
     .arity = -2,
     .group = CommandGroup::kGeneric,
     .since = "2.2.3",
     .complexity = "that of the subcommand",
     .summary = "What Redis knows about the value of a key.",
     .subcommands = kObjectSubcommands},
    {.name = "role",
     .arity = 1,
     .flags = kFast | kLoading,
     .since = "2.8.12",
     .complexity = "O(1)",
     .summary = "master, the replication offset 0, and an empty array: there are no replicas.",
     .handler = Role},
    {.name = "wait",
     .arity = 3,
     .group = CommandGroup::kGeneric,
     .since = "3.0.0",
     .complexity = "O(1)",
     .summary = "0 at once: the number of replicas that have received the changes of this connection.",
     .syntax = "numreplicas timeout",
     .handler = Wait},
};

}  // namespace

std::span<const CommandRow> ObjectCommands() { return kRows; }

}  // namespace bitsieve::server
