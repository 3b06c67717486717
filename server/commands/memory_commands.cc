// MEMORY: what filters take, what the process takes, and memory given back to the system.

#include <malloc.h>

#include <algorithm>
#include <string>

#include "server/commands/all_commands.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/server_control.h"
#include "server/process/resident_memory.h"

namespace bitsieve::server {

using namespace commands;

namespace memory_commands {
namespace {

using protocol::ReplyWriter;

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

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The fields of Redis that mean something here, under its names.
void Stats(ServerContext& context) {
  const uint64_t used = context.keyspace().memory().used_bytes(), resident = ResidentBytes();
  const uint64_t names = context.keyspace().Size();
  const uint64_t overhead = std::min(used, names * kNameOverheadBytes);
  ReplyWriter& reply = context.reply;
  const auto integer = [&reply](std::string_view name, uint64_t value) {
    reply.BulkString(name);
    reply.Integer(static_cast<int64_t>(value));
  };
  const auto real = [&reply](std::string_view name, double value) {
    reply.BulkString(name);
    reply.Double(value);
  };
  reply.MapHeader(10);
  integer("total.allocated", used);
  integer("aof.buffer", context.control().Log().waiting_bytes);
  integer("overhead.total", overhead);
  integer("keys.count", names);
  integer("keys.bytes-per-key", names == 0 ? 0 : used / names);
  integer("dataset.bytes", used - overhead);
  real("dataset.percentage", 100 * Ratio(used - overhead, used));
  integer("allocator.resident", resident);
  real("fragmentation", Ratio(resident, used));
  reply.BulkString("fragmentation.bytes");
  reply.Integer(static_cast<int64_t>(resident) - static_cast<int64_t>(used));
}

void Purge(ServerContext& context) {
  malloc_trim(0);
  context.reply.Ok();
}

void Doctor(ServerContext& context) {
  const core::MemoryBudget& memory = context.keyspace().memory();
  const uint64_t used = memory.used_bytes(), limit = memory.limit_bytes(), resident = ResidentBytes();
  constexpr uint64_t kProcessBytes = 64ULL << 20;  // threads, buffers and code
  std::string report;
  if (limit != 0 && used > limit / 10 * 9) {
    report += "Filters take " + std::to_string(used) + " of the " + std::to_string(limit) +
              " bytes of maxmemory: commands that need more are refused with -OOM.\n";
  }
  if (resident > used + used / 2 + kProcessBytes) {
    report += "The process takes " + std::to_string(resident) + " bytes, its filters " + std::to_string(used) +
              ": MEMORY PURGE gives free memory back to the system; CLIENT LIST shows what connections hold.\n";
  }
  context.reply.VerbatimText(report.empty() ? "No memory problems were found.\n" : report);
}

void MallocStats(ServerContext& context) {
  const struct mallinfo2 heap = mallinfo2();
  std::string text;
  const auto line = [&text](std::string_view name, uint64_t value) {
    text.append(name).append(":").append(std::to_string(value)).append("\n");
  };
  line("heap_bytes", heap.arena);
  line("heap_bytes_in_use", heap.uordblks);
  line("heap_bytes_free", heap.fordblks);
  line("heap_bytes_free_at_the_end", heap.keepcost);
  line("mapped_blocks", heap.hblks);
  line("mapped_bytes", heap.hblkhd);
  context.reply.VerbatimText(text);
}

constexpr CommandRow kSubcommands[] = {
    {.name = "memory|doctor",
     .arity = 2,
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "Reports problems with memory, as text.",
     .handler = On<Doctor>},
    HelpRow("memory|help", "4.0.0"),
    {.name = "memory|malloc-stats",
     .arity = 2,
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "Returns what the allocator reports about the heap, as lines of text.",
     .handler = On<MallocStats>},
    {.name = "memory|purge",
     .arity = 2,
     .since = "4.0.0",
     .complexity = "O(free memory)",
     .summary = "Returns free heap memory to the system now. The server also does this by itself when there is much "
                "free memory.",
     .weigh = [](CommandContext&) { return Weight::kLarge; },
     .handler = On<Purge>},
    {.name = "memory|stats",
     .arity = 2,
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "Returns memory figures of the filters, their names and the process.",
     .handler = On<Stats>},
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
