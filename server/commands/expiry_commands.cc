// When names end: EXPIRE, TTL and their kin. The keyspace keeps the time and does the ending.

#include <algorithm>
#include <optional>

#include "commands/notices.h"
#include "commands/weigh.h"
#include "server/commands/all_commands.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {

using namespace commands;

namespace expiry_commands {
namespace {

constexpr int64_t kMsPerSecond = 1000;

// Redis' rules: NX goes with none of the others, nor do GT and LT go together.
uint32_t ReadConditions(ArgumentReader& reader) {
  uint32_t conditions = 0;
  while (reader.More()) {
    if (reader.Skip("NX")) {
      conditions |= kIfNoExpiry;
    } else if (reader.Skip("XX")) {
      conditions |= kIfExpiry;
    } else if (reader.Skip("GT")) {
      conditions |= kIfLater;
    } else if (reader.Skip("LT")) {
      conditions |= kIfSooner;
    } else {
      reader.Fail(wire::UnsupportedOption(reader.Peek()));
    }
  }
  if ((conditions & kIfNoExpiry) && conditions != kIfNoExpiry) reader.Fail(wire::kExpiryNxNotAlone);
  if ((conditions & kIfLater) && (conditions & kIfSooner)) reader.Fail(wire::kExpiryGtAndLt);
  return conditions;
}

// The moment that `amount` units after `base_ms` is; nothing if no number can hold it. What lies before 1970 is as good
// as its first millisecond: 0 would mean never.
std::optional<int64_t> Moment(int64_t amount, int64_t unit_ms, int64_t base_ms) {
  int64_t ms;
  if (__builtin_mul_overflow(amount, unit_ms, &ms) || __builtin_add_overflow(ms, base_ms, &ms)) return std::nullopt;
  return std::max<int64_t>(ms, 1);
}

void SetExpiry(ServerContext& context, int64_t unit_ms, int64_t base_ms) {
  ArgumentReader reader(context.arguments, 3);
  const uint32_t conditions = ReadConditions(reader);
  if (!reader.ok()) return context.Error(reader.error());
  const std::optional<int64_t> amount = ParseInteger(context.arguments[2]);
  if (!amount) return context.Error(wire::kNotAnInteger);
  const std::optional<int64_t> expires_ms = Moment(*amount, unit_ms, base_ms);
  if (!expires_ms) return context.Error(wire::InvalidExpiry(context.row->name));
  const ExpiryChange change = context.keyspace().SetExpiry(context.arguments[1], *expires_ms, conditions);
  if (change) Notify(context, EventClass::kGeneric, change.removed ? "del" : "expire", context.arguments[1]);
  context.reply.Integer(change ? 1 : 0);
}

void Expire(ServerContext& context) { SetExpiry(context, kMsPerSecond, context.keyspace().WallMs()); }
void ExpireMs(ServerContext& context) { SetExpiry(context, 1, context.keyspace().WallMs()); }
void ExpireAt(ServerContext& context) { SetExpiry(context, kMsPerSecond, 0); }
void ExpireAtMs(ServerContext& context) { SetExpiry(context, 1, 0); }

void Persist(ServerContext& context) {
  const ExpiryChange change = context.keyspace().SetExpiry(context.arguments[1], 0, kIfExpiry);
  if (change) Notify(context, EventClass::kGeneric, "persist", context.arguments[1]);
  context.reply.Integer(change ? 1 : 0);
}

// -2: no such name; -1: it never ends. Else its end relative to `base_ms`, rounded to the unit.
void WriteExpiry(ServerContext& context, int64_t unit_ms, int64_t base_ms) {
  const std::optional<int64_t> expires_ms = context.keyspace().ExpiryOf(context.arguments[1]);
  if (!expires_ms) return context.reply.Integer(-2);
  if (*expires_ms == 0) return context.reply.Integer(-1);
  const int64_t ms = std::max<int64_t>(0, *expires_ms - base_ms);
  const bool up = ms % unit_ms * 2 >= unit_ms && unit_ms > 1;
  context.reply.Integer(ms / unit_ms + (up ? 1 : 0));
}

void TimeToLive(ServerContext& context) { WriteExpiry(context, kMsPerSecond, context.keyspace().WallMs()); }
void TimeToLiveMs(ServerContext& context) { WriteExpiry(context, 1, context.keyspace().WallMs()); }
void ExpireTime(ServerContext& context) { WriteExpiry(context, kMsPerSecond, 0); }
void ExpireTimeMs(ServerContext& context) { WriteExpiry(context, 1, 0); }

constexpr KeyPositions kFirst{1, 1, 1};
constexpr std::string_view kExpireNotes =
    "NX sets the expiry only if the filter has none, XX only if it has one, GT only to a later time and LT only to a "
    "sooner one; a filter without an expiry counts as one that expires after any other. A time in the past removes the "
    "filter. RENAME and BF.CLEAR keep the expiry, and snapshots contain it.";
constexpr std::string_view kExpiryNotes = "Returns -1 if it has no expiry, -2 if there is no such filter.";

constexpr CommandRow ExpireRow(std::string_view name, std::string_view since, std::string_view summary,
                               std::string_view syntax, Handler handler) {
  return {.name = name,
          .arity = -3,
          .flags = kWrite | kFast,
          .keys = kFirst,
          .group = CommandGroup::kGeneric,
          .since = since,
          .complexity = "O(log expiries)",
          .summary = summary,
          .syntax = syntax,
          .notes = kExpireNotes,
          .weigh = WeighArguments,
          .handler = handler};
}

constexpr CommandRow ExpiryRow(std::string_view name, std::string_view since, std::string_view summary,
                               Handler handler) {
  return {.name = name,
          .arity = 2,
          .flags = kReadOnly | kFast,
          .keys = kFirst,
          .group = CommandGroup::kGeneric,
          .since = since,
          .complexity = "O(1)",
          .summary = summary,
          .syntax = "key",
          .notes = kExpiryNotes,
          .handler = handler};
}

constexpr CommandRow kRows[] = {
    ExpireRow("expire", "1.0.0",
              "Sets a timeout in seconds after which a filter is removed. Returns 1 if it was set, 0 if not.",
              "key seconds [NX | XX | GT | LT]", On<Expire>),
    ExpireRow("pexpire", "2.6.0",
              "Sets a timeout in milliseconds after which a filter is removed. Returns 1 if it was set, 0 if not.",
              "key milliseconds [NX | XX | GT | LT]", On<ExpireMs>),
    ExpireRow("expireat", "1.2.0",
              "Sets the Unix time in seconds at which a filter is removed. Returns 1 if it was set, 0 if not.",
              "key unix_seconds [NX | XX | GT | LT]", On<ExpireAt>),
    ExpireRow("pexpireat", "2.6.0",
              "Sets the Unix time in milliseconds at which a filter is removed. Returns 1 if it was set, 0 if not.",
              "key unix_milliseconds [NX | XX | GT | LT]", On<ExpireAtMs>),
    {.name = "persist",
     .arity = 2,
     .flags = kWrite | kFast,
     .keys = kFirst,
     .group = CommandGroup::kGeneric,
     .since = "2.2.0",
     .complexity = "O(log expiries)",
     .summary = "Removes the expiry of a filter. Returns 1 if it had one, 0 if not.",
     .syntax = "key",
     .handler = On<Persist>},
    ExpiryRow("ttl", "1.0.0", "Returns the number of seconds until a filter is removed.", On<TimeToLive>),
    ExpiryRow("pttl", "2.6.0", "Returns the number of milliseconds until a filter is removed.", On<TimeToLiveMs>),
    ExpiryRow("expiretime", "7.0.0", "Returns the Unix time in seconds at which a filter will be removed.",
              On<ExpireTime>),
    ExpiryRow("pexpiretime", "7.0.0", "Returns the Unix time in milliseconds at which a filter will be removed.",
              On<ExpireTimeMs>),
};

}  // namespace
}  // namespace expiry_commands

std::span<const CommandRow> ExpiryCommands() { return expiry_commands::kRows; }

}  // namespace bitsieve::server
