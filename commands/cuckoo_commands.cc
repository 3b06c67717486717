// CF.*: RedisBloom's cuckoo filters: creating, adding, lookup and removal.

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "commands/cuckoo_errors.h"
#include "commands/cuckoo_lookup.h"
#include "commands/cuckoo_options.h"
#include "commands/filter_commands.h"
#include "commands/item_lookup.h"
#include "commands/notices.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace cuckoo_commands {
namespace {

using core::AddOutcome;
using core::KeyHash;
using core::RedisCuckoo;
using Presence = RedisCuckoo::Presence;

uint64_t MostFilters(const CommandContext& context) {
  return context.settings().cf_max_expansions.load(std::memory_order_relaxed);
}

void Reserve(CommandContext& context) {
  if (context.arguments.size() % 2 == 0) return context.Error(ArityError(*context.row));
  ArgumentReader reader(context.arguments, 2);
  const core::FilterParams params = ReadCuckooReserve(reader, context.settings());
  if (!reader.ok()) return context.Error(reader.error());
  FilterPtr there = context.keyspace().Find(context.arguments[1]);
  if (there != nullptr) return context.Error(TakenBy(there));
  const FilterPtr made = MakeCuckoo(context, params);
  if (made == nullptr) return;
  there = PublishCuckoo(context, made);
  if (there == nullptr) return;
  if (there != made) return context.Error(TakenBy(there));
  NotifyNew(context, context.arguments[1]);
  NotifyChanged(context);
  context.reply.Ok();
}

// ---- adding

void WriteOutcome(CommandContext& context, AddOutcome outcome) {
  switch (outcome) {
    case AddOutcome::kPresent:
    case AddOutcome::kRenewed:
      return context.reply.Boolean(false);
    case AddOutcome::kAdded:
      ++context.tally.added;
      return context.reply.Boolean(true);
    case AddOutcome::kOutOfMemory:
      return context.MemoryError(wire::kNoMemoryForItem);
    case AddOutcome::kCannotGrow:
      return context.Error(wire::kMaxExpansionsReached);
    case AddOutcome::kFull:
    case AddOutcome::kWindowFull:
    case AddOutcome::kFrozen:
      return context.Error(wire::kCuckooFull);
  }
}

// One reply per item. Each item is treated as a separate command, and is refused once there are enough sub-filters.
template <Presence presence>
void AnswerAdds(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  RedisCuckoo* const cuckoo = AsCuckoo(&filter);
  if (cuckoo == nullptr) {
    for (size_t i = 0; i < hashes.size(); ++i) context.Error(wire::kWrongType);
    return;
  }
  std::array<AddOutcome, kMaxRun> outcomes;
  AddNotice notice(context, filter, false);
  const size_t written =
      cuckoo->Insert(hashes, presence, MostFilters(context), std::span(outcomes.data(), hashes.size()));
  WriteOutcomes(context, std::span(outcomes).first(written), WriteOutcome);
  for (size_t i = written; i < hashes.size(); ++i) context.Error(wire::kMaxExpansionsReached);
  std::fill(outcomes.begin() + static_cast<ptrdiff_t>(written),
            outcomes.begin() + static_cast<ptrdiff_t>(hashes.size()), AddOutcome::kCannotGrow);
  notice.Look(std::span(outcomes).first(hashes.size()));
  notice.PublishEach();
}

core::Filter* FindOrMake(CommandContext& context, const core::FilterParams& params) {
  core::Filter* const filter = context.FindFilter();
  if (filter != nullptr) return filter;
  const FilterPtr made = MakeCuckoo(context, params);
  if (made == nullptr) return nullptr;
  core::Filter* const there = context.Hold(PublishCuckoo(context, made));
  if (there == made.get()) NotifyNew(context, context.arguments[1]);
  return there;
}

template <Presence presence>
void Add(CommandContext& context) {
  core::Filter* const filter = FindOrMake(context, DefaultCuckooParams(context.settings()));
  if (filter == nullptr) return;
  const KeyHash hash = filter->HashOf(context.arguments[2]);
  AnswerAdds<presence>(context, *filter, {&hash, 1});
}

// CF.INSERTNX answers with integers in both protocols, CF.INSERT with yes or no.
template <Presence presence>
void WriteInserted(CommandContext& context, AddOutcome outcome) {
  constexpr bool kIntegers = presence == Presence::kSkipped;
  const bool refused = core::IsRefused(outcome);
  context.tally.added += outcome == AddOutcome::kAdded;
  if (kIntegers || !context.reply.resp3()) {
    return context.reply.Integer(refused ? -1 : static_cast<int64_t>(outcome == AddOutcome::kAdded));
  }
  context.reply.Boolean(outcome == AddOutcome::kAdded);
}

template <Presence presence>
void WriteAllInserted(CommandContext& context, std::span<const AddOutcome> outcomes) {
  const bool yes_or_no = presence != Presence::kSkipped || !context.reply.resp3();
  if (yes_or_no) return WriteOutcomes(context, outcomes, WriteInserted<presence>);
  for (const AddOutcome outcome : outcomes) WriteInserted<presence>(context, outcome);
}

template <Presence presence>
void InsertItems(CommandContext& context, RedisCuckoo& cuckoo, Arguments items) {
  constexpr size_t kChunk = core::ChangeListener::kMaxHashes;
  constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  HashChunk hashes;
  std::array<AddOutcome, kChunk> outcomes;
  AddNotice notice(context, cuckoo, false);
  context.reply.ArrayHeader(items.size());
  for (size_t done = 0; done < items.size(); done += kChunk) {
    const Arguments chunk = items.subspan(done, std::min(kChunk, items.size() - done));
    const std::span written(outcomes.data(), chunk.size());
    context.AwaitImage(cuckoo);
    cuckoo.Insert(HashItems(cuckoo, chunk, hashes), presence, kNoLimit, written);
    WriteAllInserted<presence>(context, written);
    notice.Look(written);
  }
  notice.PublishOnce();
}

// The limit of sub-filters is checked once, before the first item, as in RedisBloom: one large insertion into a small
// filter is not cut short.
template <Presence presence>
void Insert(CommandContext& context) {
  ArgumentReader reader(context.arguments, 2);
  const CuckooInsertRequest request = ReadCuckooInsert(reader, context.settings());
  if (!reader.ok()) return context.ErrorOf(reader);
  if (context.FindFilter() == nullptr && !request.create) return context.Error(wire::kNotFound);
  core::Filter* const filter = FindOrMake(context, request.params);
  if (filter == nullptr) return;
  RedisCuckoo* const cuckoo = AsCuckoo(filter);
  if (cuckoo == nullptr) return context.Error(wire::kWrongType);
  if (cuckoo->filters() >= MostFilters(context)) return context.Error(wire::kMaxExpansionsReached);
  InsertItems<presence>(context, *cuckoo, request.items);
}

// ---- lookup: for a missing filter, or one of another type, the reply is 0

void AnswerExists(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  WritePresence(context, AsCuckoo(&filter), hashes);
}

void Exists(CommandContext& context) { ReplyPresence(context, AsCuckoo(context.FindFilter())); }

void MultiExists(CommandContext& context) { ReplyPresences(context, AsCuckoo(context.FindFilter())); }

void AnswerCounts(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  WriteCounts(context, AsCuckoo(&filter), hashes);
}

void Count(CommandContext& context) { ReplyCount(context, AsCuckoo(context.FindFilter())); }

// ---- removing

void AnswerDeletes(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  RedisCuckoo* const cuckoo = AsCuckoo(&filter);
  if (cuckoo == nullptr) {
    for (size_t i = 0; i < hashes.size(); ++i) context.Error(wire::kNothingToDelete);
    return;
  }
  std::array<uint8_t, kMaxRun> removed;
  const size_t done = cuckoo->Remove(hashes, std::span(removed.data(), hashes.size()));
  for (const uint8_t each : std::span(removed.data(), done)) {
    context.reply.Boolean(each != 0);
    if (each != 0) NotifyChanged(context);
  }
  for (size_t i = done; i < hashes.size(); ++i) context.MemoryError();
  CompactIfDue(context, filter);
}

void Delete(CommandContext& context) {
  core::Filter* const filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNothingToDelete);
  const KeyHash hash = filter->HashOf(context.arguments[2]);
  AnswerDeletes(context, *filter, {&hash, 1});
}

void Compact(CommandContext& context) {
  const FilterPtr filter = context.keyspace().Find(context.arguments[1]);
  RedisCuckoo* const cuckoo = AsCuckoo(filter.get());
  if (cuckoo == nullptr) return context.Error(wire::kNothingToCompact);
  cuckoo->Compact();
  const core::Status logged = context.keyspace().LogRewrite(filter);
  if (!logged) return context.Error(wire::NotLogged(logged.error()));
  NotifyChanged(context);
  context.reply.Ok();
}

constexpr CommandRow kRows[] = {
    {.name = "cf.reserve",
     .arity = -3,
     .max_arguments = 9,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kCreated,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Creates an empty cuckoo filter, byte for byte RedisBloom's, for a capacity.",
     .syntax = "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion]",
     .notes = "The number of buckets and the expansion are rounded up to powers of two; with EXPANSION 0 the filter "
              "does not grow. The defaults are the options cf-bucket-size, cf-max-iterations and cf-expansion-factor. "
              "The error rate cannot be chosen: it is about bucketsize / 128 per sub-filter.",
     .handler = Reserve},
    {.name = "cf.add",
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(sub-filters + iterations)",
     .summary = "Adds an item, even if it is already there. Returns 1. Creates the filter if there is none.",
     .syntax = "key item",
     .notes = "Refused once the filter has cf-max-expansions sub-filters, even if there is room.",
     .items_handler = AnswerAdds<Presence::kIgnored>,
     .weigh = WeighArguments,
     .handler = Add<Presence::kIgnored>},
    {.name = "cf.addnx",
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(sub-filters + iterations)",
     .summary = "Adds an item unless it is probably there. Returns 1 if it was added, 0 if not. Creates the filter if "
                "there is none.",
     .syntax = "key item",
     .notes = "Refused once the filter has cf-max-expansions sub-filters, even if the item is there.",
     .items_handler = AnswerAdds<Presence::kSkipped>,
     .weigh = WeighArguments,
     .handler = Add<Presence::kSkipped>},
    {.name = "cf.insert",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(items * (sub-filters + iterations))",
     .summary = "Adds items like CF.ADD, with a capacity for creating the filter.",
     .syntax = "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
     .notes = "Returns an array, in which an item that found no room is -1 (RESP3: false). cf-max-expansions is "
              "checked only before the first item.",
     .weigh = WeighChanges,
     .handler = Insert<Presence::kIgnored>},
    {.name = "cf.insertnx",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(items * (sub-filters + iterations))",
     .summary = "Adds items like CF.ADDNX, with a capacity for creating the filter.",
     .syntax = "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]",
     .notes = "Returns an array of integers, with RESP3 too: 1 if the item was added, 0 if it is probably there, -1 if "
              "there is no room.",
     .weigh = WeighChanges,
     .handler = Insert<Presence::kSkipped>},
    {.name = "cf.exists",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Tests whether an item is in a cuckoo filter. Returns 0 if it is definitely not, 1 if it probably is.",
     .syntax = "key item",
     .notes = "Returns 0 if there is no such filter, or if it is of another type.",
     .items_handler = AnswerExists,
     .weigh = WeighArguments,
     .handler = Exists},
    {.name = "cf.mexists",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Tests several items, as CF.EXISTS does. Returns an array of 0 and 1.",
     .syntax = "key item [item ...]",
     .weigh = WeighArguments,
     .handler = MultiExists},
    {.name = "cf.count",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Returns how often an item was added minus how often it was deleted: an estimate that may be too high.",
     .syntax = "key item",
     .notes = "Returns 0 if there is no such filter, or if it is of another type.",
     .items_handler = AnswerCounts,
     .weigh = WeighArguments,
     .handler = Count},
    {.name = "cf.del",
     .arity = 3,
     .flags = kWrite | kFast,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Deletes an item once. Returns 1 if it was deleted, 0 if it is not there.",
     .syntax = "key item",
     .notes = "Delete only what was added: deleting an item that only looks present removes the fingerprint of another "
              "item, which is then missed.",
     .items_handler = AnswerDeletes,
     .weigh = WeighArguments,
     .handler = Delete},
    {.name = "cf.compact",
     .arity = 2,
     .flags = kWrite,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(bytes)",
     .summary = "Moves fingerprints from newer sub-filters into older ones and removes sub-filters that become empty.",
     .syntax = "key",
     .weigh = WeighFilter,
     .handler = Compact},
};

}  // namespace
}  // namespace cuckoo_commands

std::span<const CommandRow> CuckooCommands() { return cuckoo_commands::kRows; }

}  // namespace bitsieve::commands
