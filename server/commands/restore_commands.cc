// RESTORE: filters out of payloads of DUMP, as RedisBloom and bitsieve.so make them in Redis and Valkey.

#include <optional>
#include <utility>

#include "commands/notices.h"
#include "commands/weigh.h"
#include "core/filter/staging.h"
#include "protocol/rdb/rdb_file.h"
#include "server/commands/all_commands.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {

using namespace commands;

namespace restore_commands {
namespace {

struct RestoreOptions {
  bool replace = false;
  bool absolute = false;  // the time is one since 1970
};

// IDLETIME and FREQ are for Redis' eviction, which has no counterpart.
RestoreOptions ReadOptions(ArgumentReader& reader) {
  RestoreOptions options;
  while (reader.More()) {
    if (reader.Skip("REPLACE")) {
      options.replace = true;
    } else if (reader.Skip("ABSTTL")) {
      options.absolute = true;
    } else if (reader.Skip("IDLETIME")) {
      if (reader.Integer(wire::kSyntax, wire::kNotAnInteger) < 0) reader.Fail(wire::kInvalidIdleTime);
    } else if (reader.Skip("FREQ")) {
      const int64_t frequency = reader.Integer(wire::kSyntax, wire::kNotAnInteger);
      if (frequency < 0 || frequency > 255) reader.Fail(wire::kInvalidFrequency);
    } else {
      reader.Fail(wire::kSyntax);
    }
  }
  return options;
}

// When the name ends: 0 is never. Nothing if no number can hold it.
std::optional<int64_t> ExpiryOf(int64_t time_ms, bool absolute, int64_t now_ms) {
  int64_t expires_ms = time_ms;
  if (time_ms != 0 && !absolute && __builtin_add_overflow(time_ms, now_ms, &expires_ms)) return std::nullopt;
  return expires_ms;
}

// The filter of a payload; null after an error reply.
FilterPtr ReadPayload(ServerContext& context, bool& was_freezing) {
  const auto module = rdb::OpenDumpPayload(context.arguments[3]);
  if (!module) {
    const bool damaged = module.error().code == core::ErrorCode::kCorrupt;
    context.Error(damaged ? std::string(wire::kPayloadDamaged) : wire::BadPayload(module.error().message));
    return nullptr;
  }
  Keyspace& keyspace = context.keyspace();
  auto value = rdb::ReadFilter(*module, keyspace.MemoryOf(context.arguments[1]), keyspace.clock());
  if (!value) {
    value.error().code == core::ErrorCode::kOutOfMemory ? context.MemoryErrorFor(context.arguments[1])
                                                        : context.Error(wire::BadPayload(value.error().message));
    return nullptr;
  }
  was_freezing = value->was_freezing;
  return std::move(value->filter);
}

void Restore(ServerContext& context) {
  Keyspace& keyspace = context.keyspace();
  const std::string_view name = context.arguments[1];
  ArgumentReader reader(context.arguments, 4);
  const RestoreOptions options = ReadOptions(reader);
  if (!reader.ok()) return context.Error(reader.error());
  const std::optional<int64_t> time_ms = ParseInteger(context.arguments[2]);
  if (!time_ms) return context.Error(wire::kNotAnInteger);
  if (*time_ms < 0) return context.Error(wire::kInvalidTimeToLive);
  const std::optional<int64_t> expires_ms = ExpiryOf(*time_ms, options.absolute, keyspace.WallMs());
  if (!expires_ms) return context.Error(wire::kInvalidTimeToLive);
  if (!options.replace && keyspace.Find(name) != nullptr) return context.Error(wire::kBusyKey);

  bool was_freezing = false;
  const FilterPtr filter = ReadPayload(context, was_freezing);
  if (filter == nullptr) return;
  // An expiry in the past creates no filter, as in Redis: it would be gone at once.
  if (*expires_ms != 0 && *expires_ms <= keyspace.WallMs()) {
    if (options.replace && keyspace.Remove(name)) Notify(context, EventClass::kGeneric, "del", name);
    return context.reply.Ok();
  }
  const auto prepared = keyspace.Prepare(filter);
  if (!prepared) return context.Error(wire::NotLogged(prepared.error()));
  const FilterPtr there = !options.replace                          ? keyspace.InsertIfAbsent(name, filter, *expires_ms)
                          : keyspace.Put(name, filter, *expires_ms) ? filter
                                                                    : nullptr;
  if (there == nullptr) return context.MemoryErrorFor(name);
  if (there != filter) return context.Error(wire::kBusyKey);
  Notify(context, EventClass::kGeneric, "restore", name);
  if (was_freezing) {  // freezing does not continue where it was: it starts over
    core::BeginFreezing(filter->staging(), [&] { context.environment.freezing->Freeze(name, filter); });
  }
  context.reply.Ok();
}

constexpr CommandRow kRows[] = {
    {.name = "restore",
     .arity = -4,
     .flags = kWrite | kDenyOom | kDangerous,
     .keys = {1, 1, 1},
     .group = CommandGroup::kGeneric,
     .since = "2.6.0",
     .complexity = "O(bytes)",
     .summary = "Creates a filter from the payload that DUMP in Redis or Valkey returned for a filter of RedisBloom, "
                "valkey-bloom or bitsieve.so.",
     .syntax = "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
     .notes = "Values of type MBbloom-- become filters of type redisbloom, values of type MBbloomCF filters of type "
              "rediscuckoo, and values of type bloomfltr filters of type valkeybloom, byte for byte; values of "
              "bitsieve.so keep their type. The time to live is in milliseconds, or with ABSTTL a Unix time in "
              "milliseconds; 0 means none. IDLETIME and FREQ are read and ignored. Values of any other type are "
              "refused.",
     .weigh = WeighArguments,
     .handler = On<Restore>},
};

}  // namespace
}  // namespace restore_commands

std::span<const CommandRow> RestoreCommands() { return restore_commands::kRows; }

}  // namespace bitsieve::server
