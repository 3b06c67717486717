// WATCH and UNWATCH. EXEC, which asks what became of the watched names, is in transaction_commands.cc.

#include <algorithm>

#include "server/commands/all_commands.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {

using namespace commands;

namespace watch_commands {
namespace {

// For CLIENT LIST.
void PublishCount(const Session& session) {
  session.client->watched_names.store(static_cast<uint32_t>(session.watches.size()), std::memory_order_relaxed);
}

void Watch(ServerContext& context) {
  if (context.session.in_multi) return context.Error(wire::kWatchInMulti);
  const bool all = std::ranges::all_of(context.arguments.subspan(1), [&](std::string_view name) {
    return context.session.watches.Add(name, context.keyspace());
  });
  PublishCount(context.session);
  all ? context.reply.Ok() : context.Error(wire::TooManyWatched(WatchList::kMaxNames, WatchList::kMaxBytes));
}

void Unwatch(ServerContext& context) {
  context.session.watches.Clear();
  PublishCount(context.session);
  context.reply.Ok();
}

constexpr CommandRow kRows[] = {
    {.name = "watch",
     .arity = -2,
     .flags = kFast | kRunsInMulti,
     .keys = {1, -1, 1},
     .group = CommandGroup::kTransactions,
     .since = "2.2.0",
     .complexity = "O(keys)",
     .summary = "Makes the next EXEC run nothing and return nil if any of these names is touched before it.",
     .syntax = "key [key ...]",
     .notes = "A name is touched by every change of its filter or of what the filter contains: an item that is added "
              "or removed (adding an item that was already there changes nothing, unless the type counts additions), a "
              "filter that is created, deleted, cleared, merged into, restored, renamed or copied to the name, frozen "
              "or flushed, or an expiry that is set, removed or reached. A name without a filter can be watched as "
              "well. Items that a window forgets with time do not count as a change. EXEC, DISCARD, UNWATCH, RESET and "
              "closing the connection end the watching. A connection can watch 16384 names, with 16 MiB in total.",
     .handler = On<Watch>},
    {.name = "unwatch",
     .arity = 1,
     .flags = kFast | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "2.2.0",
     .complexity = "O(watched names)",
     .summary = "Stops watching all names.",
     .handler = On<Unwatch>},
};

}  // namespace
}  // namespace watch_commands

std::span<const CommandRow> WatchCommands() { return watch_commands::kRows; }

}  // namespace bitsieve::server
