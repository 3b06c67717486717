// Commands on names: DEL, SCAN, RENAME and the like. Every value is a filter.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/notices.h"
#include "commands/weigh.h"
#include "core/base/glob.h"
#include "core/filter/filter_factory.h"
#include "server/commands/all_commands.h"
#include "server/commands/check_pattern.h"
#include "server/commands/weigh_server.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/aside.h"
#include "server/session/turn.h"

namespace bitsieve::server {

using namespace commands;

namespace key_commands {
namespace {

constexpr uint64_t kDefaultScanCount = 10;

void WriteNames(protocol::ReplyWriter& reply, const std::vector<std::string>& names) {
  reply.ArrayHeader(names.size());
  for (const std::string& name : names) reply.BulkString(name);
}

// Names of the keyspace that fit a pattern. Each is visited with a lock held, so what takes long to compare is copied
// then and compared afterwards. On an event loop all of them together may take a turn (turn.h).
class FittingNames {
 public:
  FittingNames(const ServerContext& context, std::string_view pattern)
      : pattern_(pattern), most_ns_(context.MustBeQuick() ? kTurnNs : UINT64_MAX), most_bytes_(context.reply.room()) {}

  void Visit(std::string_view name) {
    if (IsOver()) return;
    const uint64_t ns = core::GlobCost(pattern_.size(), name.size());
    took_ns_ += ns + kEachNs;
    if (IsOver()) return;
    if (ns > kQuickNs) return Postpone(name);
    if (core::GlobMatch(pattern_, name)) Add(name);
  }
  // Without the lock.
  void EndVisit() {
    std::string_view bytes = postponed_;
    for (const size_t size : sizes_) {
      const std::string_view name = bytes.substr(0, size);
      bytes.remove_prefix(size);
      if (core::GlobMatch(pattern_, name)) Add(name);
    }
    postponed_.clear();
    sizes_.clear();
  }
  // Nothing more is visited: it would take the loop too long, or the names are more than the reply may have.
  bool IsOver() const { return TakesLong() || !Fit(); }
  bool TakesLong() const { return took_ns_ > most_ns_; }
  bool Fit() const { return bytes_ <= most_bytes_; }
  size_t bytes() const { return bytes_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr uint64_t kEachNs = 100;
  static constexpr uint64_t kQuickNs = 4'000;

  void Postpone(std::string_view name) {
    sizes_.push_back(name.size());
    postponed_.append(name);
  }
  void Add(std::string_view name) {
    if (!Fit()) return;
    bytes_ += name.size();
    names_.emplace_back(name);
  }

  const std::string_view pattern_;
  const uint64_t most_ns_;
  const size_t most_bytes_;
  uint64_t took_ns_ = 0;
  size_t bytes_ = 0;  // of the names
  std::vector<std::string> names_;
  std::string postponed_;  // end to end
  std::vector<size_t> sizes_;
};

// Replies by `write`, or runs the command on a worker, if the names take too long here.
template <class Write>
void EndWithNames(ServerContext& context, const FittingNames& fitting, Write&& write) {
  if (fitting.TakesLong()) return RunAside(context, Weight::kLarge);
  if (context.reply.Fits(fitting.bytes())) write();
}

void Delete(ServerContext& context) {
  int64_t removed = 0;
  for (const std::string_view name : context.arguments.subspan(1)) {
    if (!context.keyspace().Remove(name)) continue;
    ++removed;
    Notify(context, EventClass::kGeneric, "del", name);
  }
  context.reply.Integer(removed);
}

void ExistsKeys(ServerContext& context) {
  int64_t found = 0;
  for (const std::string_view name : context.arguments.subspan(1)) found += context.keyspace().Find(name) != nullptr;
  context.reply.Integer(found);
}

void Type(ServerContext& context) {
  const core::Filter* const filter = context.FindFilter();
  context.reply.SimpleString(filter == nullptr ? "none" : filter->type().value_name);
}

void Keys(ServerContext& context) {
  if (!CheckPattern(context, context.arguments[1])) return;
  FittingNames fitting(context, context.arguments[1]);
  uint64_t cursor = 0;
  do {
    cursor = context.keyspace().Scan(cursor, 1, [&](std::string_view name, const FilterPtr&) { fitting.Visit(name); });
    fitting.EndVisit();
  } while (cursor != 0 && !fitting.IsOver());
  EndWithNames(context, fitting, [&] { WriteNames(context.reply, fitting.names()); });
}

struct ScanRequest {
  uint64_t cursor;
  uint64_t count = kDefaultScanCount;
  std::string_view pattern = "*";
  std::optional<std::string_view> type = std::nullopt;
};

ScanRequest ReadScan(ArgumentReader& reader) {
  ScanRequest request{.cursor = reader.Unsigned(wire::kInvalidCursor, wire::kInvalidCursor)};
  while (reader.More()) {
    if (reader.Skip("MATCH")) {
      request.pattern = reader.Next(wire::kSyntax);
    } else if (reader.Skip("COUNT")) {
      const int64_t count = reader.Integer(wire::kSyntax, wire::kNotAnInteger);
      if (count < 1) reader.Fail(wire::kSyntax);
      request.count = static_cast<uint64_t>(count);
    } else if (reader.Skip("TYPE")) {
      request.type = reader.Next(wire::kSyntax);
    } else {
      reader.Fail(wire::kSyntax);
    }
  }
  return request;
}

void Scan(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  const ScanRequest request = ReadScan(reader);
  if (!reader.ok()) return context.Error(reader.error());
  if (!CheckPattern(context, request.pattern)) return;

  FittingNames fitting(context, request.pattern);
  uint64_t visited = 0;
  uint64_t cursor = request.cursor;
  do {
    cursor = context.keyspace().Scan(cursor, 1, [&](std::string_view name, const FilterPtr& filter) {
      ++visited;
      if (!request.type || EqualsIgnoringCase(*request.type, filter->type().value_name)) fitting.Visit(name);
    });
    fitting.EndVisit();
  } while (cursor != 0 && visited < request.count && !fitting.IsOver());
  EndWithNames(context, fitting, [&] {
    context.reply.ArrayHeader(2);
    context.reply.BulkString(std::to_string(cursor));
    WriteNames(context.reply, fitting.names());
  });
}

// A scan visits whole parts of the keyspace, whatever COUNT is; what matters is how many names it may visit.
Weight WeighScan(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  const ScanRequest request = ReadScan(reader);
  return reader.ok() && request.count > kManyNames ? WeighNames(context) : Weight::kLight;
}

// False, and an error replied, if it was refused; that the target exists is no error.
bool CheckRenamed(ServerContext& context, RenameOutcome outcome) {
  if (outcome == RenameOutcome::kNoSource) context.Error(wire::kNoSuchKey);
  if (outcome == RenameOutcome::kOutOfMemory) context.MemoryErrorFor(context.arguments[2]);
  if (outcome == RenameOutcome::kOtherQuota) context.Error(wire::kOtherQuota);
  return outcome == RenameOutcome::kRenamed || outcome == RenameOutcome::kTargetExists;
}

void NotifyRenamed(const ServerContext& context, RenameOutcome outcome) {
  if (outcome != RenameOutcome::kRenamed || context.arguments[1] == context.arguments[2]) return;
  Notify(context, EventClass::kGeneric, "rename_from", context.arguments[1]);
  Notify(context, EventClass::kGeneric, "rename_to", context.arguments[2]);
}

void Rename(ServerContext& context) {
  const RenameOutcome outcome = context.keyspace().Rename(context.arguments[1], context.arguments[2], false);
  if (!CheckRenamed(context, outcome)) return;
  NotifyRenamed(context, outcome);
  context.reply.Ok();
}

void RenameIfAbsent(ServerContext& context) {
  const RenameOutcome outcome = context.keyspace().Rename(context.arguments[1], context.arguments[2], true);
  if (!CheckRenamed(context, outcome)) return;
  NotifyRenamed(context, outcome);
  context.reply.Integer(outcome == RenameOutcome::kRenamed ? 1 : 0);
}

void RandomKey(ServerContext& context) {
  const std::optional<std::string> name = context.keyspace().RandomName();
  if (!name) return context.reply.Null();
  context.reply.BulkString(*name);
}

// Whether to replace what is under the new name.
bool ReadCopy(ArgumentReader& reader) {
  bool replace = false;
  while (reader.More()) {
    if (reader.Skip("REPLACE")) {
      replace = true;
    } else if (reader.Skip("DB")) {
      if (reader.Integer(wire::kSyntax, wire::kNotAnInteger) != 0) reader.Fail(wire::kDatabaseRange);
    } else {
      reader.Fail(wire::kSyntax);
    }
  }
  return replace;
}

void Copy(ServerContext& context) {
  Keyspace& keyspace = context.keyspace();
  const std::string_view from = context.arguments[1], to = context.arguments[2];
  ArgumentReader reader(context.arguments, 3);
  const bool replace = ReadCopy(reader);
  if (!reader.ok()) return context.Error(reader.error());
  if (from == to) return context.Error(wire::kCopyToItself);

  const FilterPtr source = keyspace.Find(from);
  const std::optional<int64_t> expires_ms = keyspace.ExpiryOf(from);
  if (source == nullptr || !expires_ms || (!replace && keyspace.Find(to) != nullptr)) return context.reply.Integer(0);
  core::Result<std::unique_ptr<core::Filter>> made =
      core::CloneFilter(*source, keyspace.MemoryOf(to), keyspace.clock());
  if (!made) return context.MemoryErrorFor(to);
  const FilterPtr copy = std::move(*made);
  const auto prepared = keyspace.Prepare(copy);
  if (!prepared) return context.Error(wire::NotLogged(prepared.error()));
  const FilterPtr there = !replace                              ? keyspace.InsertIfAbsent(to, copy, *expires_ms)
                          : keyspace.Put(to, copy, *expires_ms) ? copy
                                                                : nullptr;
  if (there == nullptr) return context.MemoryErrorFor(to);
  if (there == copy) Notify(context, EventClass::kGeneric, "copy_to", to);
  context.reply.Integer(there == copy ? 1 : 0);
}

void DatabaseSize(ServerContext& context) { context.reply.Integer(static_cast<int64_t>(context.keyspace().Size())); }

// In the background it takes no longer for more names.
Weight WeighFlush(ServerContext& context) {
  return ArgumentReader(context.arguments, 1).Skip("SYNC") ? WeighNames(context) : Weight::kLight;
}

// A few filters are freed before the reply, so that a client that starts over has all of maxmemory.
void Flush(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  const bool now = reader.Skip("SYNC");
  const bool later = !now && reader.Skip("ASYNC");
  if (!reader.AtEnd()) return context.Error(wire::kSyntax);
  context.keyspace().Flush(later || (!now && WeighNames(context) != Weight::kLight));
  context.reply.Ok();
}

constexpr KeyPositions kFirst{1, 1, 1};
constexpr KeyPositions kAll{1, -1, 1};
constexpr std::string_view kFlushNotes =
    "The names are removed at once. If there are more than 256, or with ASYNC, the memory is freed in the background, "
    "and counts towards maxmemory until then. With SYNC the server replies when the memory is free.";

constexpr CommandRow kRows[] = {
    {.name = "del",
     .arity = -2,
     .flags = kWrite,
     .keys = kAll,
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(keys), and freeing their memory",
     .summary = "Removes filters. Returns how many there were.",
     .syntax = "key [key ...]",
     .weigh = WeighArguments,
     .handler = On<Delete>},
    {.name = "unlink",
     .arity = -2,
     .flags = kWrite | kFast,
     .keys = kAll,
     .group = CommandGroup::kGeneric,
     .since = "4.0.0",
     .complexity = "O(keys), and freeing their memory",
     .summary = "Removes filters, as DEL does.",
     .syntax = "key [key ...]",
     .weigh = WeighArguments,
     .handler = On<Delete>},
    {.name = "exists",
     .arity = -2,
     .flags = kReadOnly | kFast,
     .keys = kAll,
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(keys)",
     .summary = "Returns how many of the names hold a filter.",
     .syntax = "key [key ...]",
     .weigh = WeighArguments,
     .handler = On<ExistsKeys>},
    {.name = "touch",
     .arity = -2,
     .flags = kReadOnly | kFast,
     .keys = kAll,
     .group = CommandGroup::kGeneric,
     .since = "3.2.1",
     .complexity = "O(keys)",
     .summary = "Does the same as EXISTS: the time of last use has no effect.",
     .syntax = "key [key ...]",
     .weigh = WeighArguments,
     .handler = On<ExistsKeys>},
    {.name = "type",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirst,
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns MBbloomCF for a filter of the type rediscuckoo, bloomfltr for one of the type valkeybloom, "
                "MBbloom-- for any other, and none if there is none. BF.INFO shows the type.",
     .syntax = "key",
     .handler = On<Type>},
    {.name = "keys",
     .arity = 2,
     .flags = kReadOnly | kDangerous,
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(names)",
     .summary = "Returns all names that match a glob pattern.",
     .syntax = "pattern",
     .notes = "Meant for interactive use and small servers; programs should use SCAN.",
     .weigh = On<WeighNames>,
     .handler = On<Keys>},
    {.name = "scan",
     .arity = -2,
     .flags = kReadOnly,
     .group = CommandGroup::kGeneric,
     .since = "2.8.0",
     .complexity = "O(COUNT) a call, O(names) for all",
     .summary =
         "Visits the names step by step. Begin with cursor 0 and continue with the cursor of each reply until it is 0.",
     .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
     .notes = "A name that exists from the first call to the last is returned at least once. A name that is renamed "
              "between the calls may be missed or returned under both names.",
     .weigh = On<WeighScan>,
     .handler = On<Scan>},
    {.name = "rename",
     .arity = 3,
     .flags = kWrite,
     .keys = {1, 2, 1, WrittenKeys::kMoved},
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Renames a filter in one step. A filter under the new name is replaced.",
     .syntax = "key newkey",
     .handler = On<Rename>},
    {.name = "renamenx",
     .arity = 3,
     .flags = kWrite | kFast,
     .keys = {1, 2, 1, WrittenKeys::kMoved},
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Renames a filter unless the new name is taken. Returns 1 if it was renamed, 0 if not.",
     .syntax = "key newkey",
     .handler = On<RenameIfAbsent>},
    {.name = "copy",
     .arity = -3,
     .max_arguments = 6,
     .flags = kWrite | kDenyOom,
     .keys = {1, 2, 1, WrittenKeys::kLast},
     .group = CommandGroup::kGeneric,
     .since = "6.2.0",
     .complexity = "O(bytes)",
     .summary = "Copies a filter with its content and expiry. Returns 1 if it was copied, 0 if the new name is taken "
                "or there is no such filter.",
     .syntax = "key newkey [DB database] [REPLACE]",
     .notes = "There is one database, 0. A large filter is copied outside the event loop, so other connections are "
              "served at the same time.",
     .weigh = WeighFilter,
     .handler = On<Copy>},
    {.name = "randomkey",
     .arity = 1,
     .flags = kReadOnly,
     .group = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns the name of any one filter, or nil if there is none.",
     .handler = On<RandomKey>},
    {.name = "dbsize",
     .arity = 1,
     .flags = kReadOnly | kFast,
     .group = CommandGroup::kServer,
     .category = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns the number of filters.",
     .handler = On<DatabaseSize>},
    {.name = "flushall",
     .arity = -1,
     .max_arguments = 2,
     .flags = kWrite | kDangerous,
     .group = CommandGroup::kServer,
     .category = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1); O(filters) with SYNC",
     .summary = "Removes every filter.",
     .syntax = "[ASYNC | SYNC]",
     .notes = kFlushNotes,
     .weigh = On<WeighFlush>,
     .handler = On<Flush>},
    {.name = "flushdb",
     .arity = -1,
     .max_arguments = 2,
     .flags = kWrite | kDangerous,
     .group = CommandGroup::kServer,
     .category = CommandGroup::kGeneric,
     .since = "1.0.0",
     .complexity = "O(1); O(filters) with SYNC",
     .summary = "Does the same as FLUSHALL: there is one database.",
     .syntax = "[ASYNC | SYNC]",
     .notes = kFlushNotes,
     .weigh = On<WeighFlush>,
     .handler = On<Flush>},
};

}  // namespace
}  // namespace key_commands

std::span<const CommandRow> KeyCommands() { return key_commands::kRows; }

}  // namespace bitsieve::server
