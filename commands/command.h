// command.h: a command is one row. Dispatch, arity errors, COMMAND, COMMAND DOCS and the documentation are read off it.
// CommandRow is immutable and thread-safe; CommandContext is confined to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/argument_reader.h"
#include "commands/command_settings.h"
#include "commands/error_counts.h"
#include "commands/keyspace.h"
#include "commands/wire_errors.h"
#include "commands/workers.h"
#include "core/filter/filter.h"
#include "core/filter/image_pressure.h"
#include "core/hash/key_hash.h"
#include "protocol/reply_writer.h"

namespace bitsieve::commands {

struct CommandContext;
struct Transfers;
class FilterEvents;
class FollowedFilters;
class SketchKeyspace;
using Handler = void (*)(CommandContext& context);
// Whether the command has to wait; called before it runs, repeatedly, until it returns false.
using Waiter = bool (*)(const CommandContext& context);
using Weigher = Weight (*)(CommandContext& context);
// At most this many commands are prepared and executed together.
inline constexpr size_t kMaxRun = 64;
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
  kNoAuth = 1 << 10,          // every client may send it, before it authenticates and regardless of its user's rights
  kDangerous = 1 << 11,       // of the category @dangerous, as those for the operator are
  kSecret = 1 << 12,          // its arguments may hold passwords: neither MONITOR nor SLOWLOG shows them. Commands
                              // that take another command as arguments are secret, too
  kSkipMonitor = 1 << 13,     // MONITOR and SLOWLOG show the commands that it runs instead
  kAdminCategory = 1 << 14,   // of the categories of kAdmin, but shown by MONITOR
};

// The preparations that the dispatcher may make for a command before the commands ahead of it have run.
enum class Preparation : uint8_t {
  kAlone,    // nothing, and nothing after it either: it may change what names mean, or depends on it otherwise
  kNothing,  // nothing, but it cannot change what names mean: later commands may be prepared past it
  kOneItem,  // find the filter named by argument 1, hash argument 2 and prefetch; the row has an ItemsHandler,
             // which is for exactly these arguments
  kItems,    // find the filter named by argument 1; the handler hashes the items, in chunks
};

// How a replica follows a filter command that changed something. An empty filter that the command created goes ahead of
// it, with all its parameters and the seed, which the command's own words do not carry.
enum class Replication : uint8_t {
  kNone,      // it changes nothing
  kVerbatim,  // the command runs again
  kCreated,   // the created filter is all there is to it
  kContent,   // the whole filter is sent: the command is the last of several that brought its content
};

enum class CommandGroup : uint8_t {
  kBloom,
  kCuckoo,
  kGeneric,
  kConnection,
  kServer,
  kTransactions,
  kPubSub,
  kCountMin,
  kTopK,
  kTDigest,
};
inline bool IsOfSketches(CommandGroup group) { return group >= CommandGroup::kCountMin; }

// Which of its keys a command with kWrite may change; it only reads the others.
enum class WrittenKeys : uint8_t {
  kAll,
  kFirst,
  kLast,
  kMoved,  // all, and the first is read as well: its filter goes elsewhere
};

// Key positions as COMMAND returns them: those of the first and last key, negative ones from the end. No keys: all 0.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
  WrittenKeys written = WrittenKeys::kAll;
  int count_at = 0;  // where the number of further keys is, which follow it and are only read; 0: there are none
};
inline constexpr KeyPositions kFirstArgument{1, 1, 1};
// The position of the last key of a command with this many arguments.
inline int LastOf(const KeyPositions& keys, size_t arguments) {
  return keys.last >= 0 ? keys.last : static_cast<int>(arguments) + keys.last;
}

struct CommandRow {
  std::string_view name;     // lower case, a string literal; of a subcommand with its container: "client|list"
  int arity = 0;             // arguments, the name included; negative: a minimum
  size_t max_arguments = 0;  // the name included; 0: given by arity
  uint32_t flags = 0;
  KeyPositions keys = {};
  KeyPositions channels = {};  // likewise, of channels
  bool channels_are_patterns = false;
  Replication replication = Replication::kNone;  // of filter commands
  Preparation preparation = Preparation::kAlone;
  CommandGroup group = CommandGroup::kServer;
  std::optional<CommandGroup> category = {};  // the group whose access category it has, if not its own; kServer: none
  std::string_view since = {};  // first version that had it, of Redis or RedisBloom unless a name precedes it
  std::string_view complexity = {};
  std::string_view summary = {};
  std::string_view syntax = {};          // the arguments: [optional], LITERAL, name, a | b, "name [name ...]"
  std::string_view notes = {};           // what a user must know beyond the summary
  ItemsHandler items_handler = nullptr;  // of kOneItem
  Waiter must_wait = nullptr;            // of a command that waits for something; not called within EXEC
  Weigher weigh = nullptr;               // how long this call will take; null: it is always kLight
  Handler handler = nullptr;             // null for a container that does nothing of its own
  std::span<const CommandRow> subcommands = {};
};

// Returns the error of too few or too many arguments: Redis' text, then the usage of a filter command.
std::string ArityError(const CommandRow& row);

// Runs the command in context.arguments and context.row, and counts it as a use of the filter that it names.
void RunHandler(CommandContext& context);
// The same of a run of commands that were prepared alike; the row has an ItemsHandler.
void RunItemsHandler(CommandContext& context, core::Filter& filter, std::span<const core::KeyHash> hashes);

// Whether the command may change what the key at this position names.
inline bool Writes(const CommandRow& row, int position, size_t arguments) {
  if (!(row.flags & kWrite)) return false;
  if (row.keys.written == WrittenKeys::kFirst) return position == row.keys.first;
  if (row.keys.written == WrittenKeys::kLast) return position == LastOf(row.keys, arguments);
  return true;
}

// Whether the command shows what the key at this position names.
inline bool Reads(const CommandRow& row, int position, size_t arguments) {
  const bool moves = row.keys.written == WrittenKeys::kMoved && position == row.keys.first;
  return moves || !Writes(row, position, arguments);
}

inline bool ArityFits(const CommandRow& row, size_t arguments) {
  if (row.max_arguments != 0 && arguments > row.max_arguments) return false;
  return row.arity >= 0 ? arguments == static_cast<size_t>(row.arity) : arguments >= static_cast<size_t>(-row.arity);
}

// Counters of what a batch did, published to the loop's counters once.
struct Tally {
  uint64_t commands = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t added = 0;
  uint64_t errors = 0;
};

// The services that filter commands need from the program that runs them. Each is thread-safe.
struct FilterEnvironment {
  const CommandSettings* settings = nullptr;
  FreezeQueue* freezing = nullptr;
  Transfers* transfers = nullptr;  // dumps and loads in progress
  FollowedFilters* followed = nullptr;
  Workers* workers = nullptr;          // null: every command runs on its loop
  SketchKeyspace* sketches = nullptr;  // of programs that have commands on sketches
};

// The data that a handler works with. There is one per batch; the members that belong to one command are set before
// each.
struct CommandContext {
  CommandContext(const FilterEnvironment& of_program, FilterKeyspace& of_filters, protocol::ReplyWriter& to_client)
      : environment(of_program), reply(to_client), keyspace_(of_filters) {}
  CommandContext(const CommandContext&) = delete;
  CommandContext& operator=(const CommandContext&) = delete;

  const FilterEnvironment& environment;
  protocol::ReplyWriter& reply;
  Tally tally = {};
  FilterEvents* events = nullptr;       // null: none are published
  ErrorCounts* error_counts = nullptr;  // null: only the tally counts errors
  bool aside = false;                   // it runs on a worker

  // Members that belong to the command that runs now.
  Arguments arguments = {};
  const CommandRow* row = nullptr;  // null: unknown
  core::Filter* filter = nullptr;   // named by argument 1, if prepared
  FilterPtr held = {};              // keeps alive what the handler looked up itself

  FilterKeyspace& keyspace() const { return keyspace_; }
  const CommandSettings& settings() const { return *environment.settings; }

  // To be called before each part of a long change of the filter: on a worker, waits while an image of the filter is
  // written and the memory for what changes is nearly used up. On a loop no command waits: there it is postponed before
  // it begins.
  void AwaitImage(const core::Filter& changed) const {
    if (aside) core::ImagePressure::Await(changed);
  }

  void Error(std::string_view text) {
    ++tally.errors;
    if (error_counts != nullptr) error_counts->Count(text);
    reply.Error(text);
  }
  // Returns the first error of reading the arguments; kArity stands for ArityError().
  void ErrorOf(const ArgumentReader& reader);
  // Replies that the quota of this name is used up, if that is why memory for its filter, or the name itself, was
  // refused; else with `otherwise`.
  void MemoryErrorFor(std::string_view name, std::string_view otherwise = wire::kOutOfMemory);
  void MemoryError(std::string_view otherwise = wire::kOutOfMemory) { MemoryErrorFor(arguments[1], otherwise); }
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
  FilterKeyspace& keyspace_;
};

}  // namespace bitsieve::commands
