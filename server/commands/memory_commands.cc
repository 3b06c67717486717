// MEMORY: what a filter takes, and memory given back to the system.

#include <malloc.h>

#include "server/commands/all_commands.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {

using namespace commands;

namespace memory_commands {
namespace {

void Usage(ServerContext& context) {
  ArgumentReader reader(context.arguments, 3);
  // Taken and ignored: a filter has no elements to sample.
  if (reader.Skip("SAMPLES") && reader.Integer(wire::kSyntax, wire::kNotAnInteger) < 0) reader.Fail(wire::kSyntax);
  if (reader.More()) reader.Fail(wire::kSyntax);
  if (!reader.ok()) return context.Error(reader.error());
  const FilterPtr filter = context.keyspace().Find(context.arguments[2]);
  if (filter == nullptr) return context.reply.Null();
  context.reply.Integer(static_cast<int64_t>(NameHeapBytes(context.arguments[2].size()) + filter->heap_bytes()));
}

void Purge(ServerContext& context) {
  malloc_trim(0);
  context.reply.Ok();
}

constexpr CommandRow kSubcommands[] = {
    HelpRow("memory|help", "4.0.0"),
    {.name = "memory|purge",
     .arity = 2,
     .since = "4.0.0",
     .complexity = "O(free memory)",
     .summary = "Returns free heap memory to the system now. The server also does this by itself when there is much "
                "free memory.",
     .weigh = [](CommandContext&) { return Weight::kLarge; },
     .handler = On<Purge>},
    {.name = "memory|usage",
     .arity = -3,
     .max_arguments = 5,
     .flags = kReadOnly,
     .keys = {2, 2, 1},
     .since = "4.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Returns the bytes that a filter and its name take from maxmemory, or nil if there is no such filter.",
     .syntax = "key [SAMPLES count]",
     .handler = On<Usage>},
};

constexpr CommandRow kRows[] = {
    {.name = "memory",
     .arity = -2,
     .since = "4.0.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about memory.",
     .subcommands = kSubcommands},
};

}  // namespace
}  // namespace memory_commands

std::span<const CommandRow> MemoryCommands() { return memory_commands::kRows; }

}  // namespace bitsieve::server
