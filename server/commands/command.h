// command.h: a command is one row. Dispatch, arity errors, COMMAND, COMMAND DOCS and the documentation are read off it.
// CommandRow is immutable and thread-safe; CommandContext is confined to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/filter/filter.h"
#include "core/hash/key_hash.h"
#include "protocol/reply_writer.h"
#include "server/commands/command_settings.h"
#include "server/commands/dispatcher.h"
#include "server/commands/session.h"
#include "server/commands/stats.h"
#include "server/commands/workers.h"

namespace bitsieve::server {

class CommandTable;
struct CommandContext;
using Handler = void (*)(CommandContext& context);
// Whether the command has to wait, asked before it runs, again and again, until it is false.
using Waiter = bool (*)(const CommandContext& context);
using Weigher = Weight (*)(CommandContext& context);
// Replies to each of these items of one filter, in order: a run of commands that were prepared alike, answered
// together.
using ItemsHandler = void (*)(CommandContext& context, core::Filter& filter, std::span<const core::KeyHash> hashes);

enum CommandFlag : uint32_t {
  kWrite = 1 << 0,            // may change a filter or a name
  kReadOnly = 1 << 1,         // looks at filters or names, changes nothing
  kDenyOom = 1 << 2,          // may need memory, and fails when the budget refuses it
  kFast = 1 << 3,             // its time does not depend on how much there is
  kAdmin = 1 << 4,            // for the operator
  kNoMulti = 1 << 5,          // refused between MULTI and EXEC
  kRunsInMulti = 1 << 6,      // runs at once between MULTI and EXEC, instead of being queued
  kLoading = 1 << 7,          // runs while the filters are being loaded: it needs none
  kWhileSubscribed = 1 << 8,  // a RESP2 connection may send it while it is subscribed to something
  kPublishes = 1 << 9,        // CLIENT PAUSE WRITE holds it back as well
};

// What the dispatcher may do for a command before the commands ahead of it have run.
enum class Preparation : uint8_t {
  kAlone,    // nothing, and nothing behind it either: it may change what names mean, or depends on it otherwise
  kNothing,  // nothing, but it has no say in what names mean: others may be prepared past it
  kOneItem,  // find the filter named by argument 1, hash argument 2 and prefetch; the row has an ItemsHandler,
             // which is for exactly these arguments
  kItems,    // find the filter named by argument 1; the handler hashes the items, in chunks
};

enum class CommandGroup : uint8_t { kBloom, kCuckoo, kGeneric, kConnection, kServer, kTransactions, kPubSub };

// As COMMAND tells it: positions of the first and last key, negative ones from the end. No keys: all 0.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
};
inline constexpr KeyPositions kFirstArgument{1, 1, 1};
// The position of the last key of a command with so many arguments.
inline int LastOf(const KeyPositions& keys, size_t arguments) {
  return keys.last >= 0 ? keys.last : static_cast<int>(arguments) + keys.last;
}

struct CommandRow {
  std::string_view name;     // lower case, a string literal; of a subcommand with its container: "client|list"
  int arity = 0;             // arguments, the name included; negative: at least so many
  size_t max_arguments = 0;  // the name included; 0: as arity says
  uint32_t flags = 0;
  KeyPositions keys = {};
  Preparation preparation = Preparation::kAlone;
  CommandGroup group = CommandGroup::kServer;
  std::string_view since = {};  // version of Redis or RedisBloom that had it first; "bitsieve 0.1.0" for our own
  std::string_view complexity = {};
  std::string_view summary = {};
  std::string_view syntax = {};          // the arguments: [optional], LITERAL, name, a | b, "name [name ...]"
  std::string_view notes = {};           // what a user must know beyond the summary
  ItemsHandler items_handler = nullptr;  // of kOneItem
  Waiter must_wait = nullptr;            // of a command that waits for something; not asked within EXEC
  Weigher weigh = nullptr;               // how long this call will take; null: it is always kLight
  Handler handler = nullptr;             // null for a container that does nothing of its own
  std::span<const CommandRow> subcommands = {};
};

inline bool ArityFits(const CommandRow& row, size_t arguments) {
  if (row.max_arguments != 0 && arguments > row.max_arguments) return false;
  return row.arity >= 0 ? arguments == static_cast<size_t>(row.arity) : arguments >= static_cast<size_t>(-row.arity);
}

// What a batch did, counted here and published to the loop's counters once.
struct Tally {
  uint64_t commands = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t added = 0;
  uint64_t errors = 0;
  void Publish(LoopStats& stats);  // and starts again from 0
};

// What a handler works with. One per batch; the parts that belong to one command are set before each.
struct CommandContext {
  const Dispatcher::Environment& environment;
  const CommandTable& table;
  Session& session;
  protocol::ReplyWriter& reply;
  Tally tally = {};
  DeferredReply deferred = {};  // set by a handler whose reply comes later
  bool deferred_wrote = false;  // that reply tells of a change: see Dispatcher::Outcome
  size_t deferred_bytes = 0;    // that its command keeps until it has run
  bool wrote = false;           // a command of kWrite ran
  bool postponed = false;       // the command that was next has to wait: see Dispatcher::Outcome
  bool yielded = false;         // so many bytes or so long a time that others get their turn

  // As it was when the window of commands began that runs now.
  bool loading = false;
  bool in_trouble = false;  // the disk refuses what would be logged
  bool aside = false;       // it runs on a worker
  bool may_wait = false;    // some commands must not run now: MustWait() is asked before each

  // Of the command that runs now.
  Arguments arguments = {};
  ArgumentBytes* bytes = nullptr;  // can keep the arguments' bytes alive; null: they live as long as the batch
  std::vector<std::string_view>* own_arguments = nullptr;  // where `arguments` are, if TakeArguments may take them
  const CommandRow* row = nullptr;                         // null: unknown
  core::Filter* filter = nullptr;                          // named by argument 1, if prepared
  FilterPtr held = {};                                     // keeps alive what the handler looked up itself

  Keyspace& keyspace() const { return *environment.keyspace; }
  ServerControl& control() const { return *environment.control; }
  const CommandSettings& settings() const { return *environment.settings; }

  // To be called before each part of a long change of the filter: on a worker, waits while MustWait() says so. On a
  // loop no command waits: there it is postponed before it begins.
  void AwaitImage(const core::Filter& changed) const {
    if (aside) AwaitImageAside(changed);
  }
  // The arguments of a command that is kept for later. They are moved if they are many.
  std::vector<std::string_view> TakeArguments();

  void Error(std::string_view text) {
    ++tally.errors;
    reply.Error(text);
  }
  // The filter named by argument 1, prepared or looked up; null if there is none.
  core::Filter* FindFilter() {
    if (filter == nullptr) Hold(keyspace().Find(arguments[1]));
    return filter;
  }
  core::Filter* Hold(FilterPtr found) {
    held = std::move(found);
    filter = held.get();
    return filter;
  }

 private:
  static void AwaitImageAside(const core::Filter& changed);
};

}  // namespace bitsieve::server
