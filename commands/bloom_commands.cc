// BF.*: the verbs that work on every filter type.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "commands/bloom_info.h"
#include "commands/bloom_options.h"
#include "commands/filter_commands.h"
#include "commands/item_lookup.h"
#include "commands/notices.h"
#include "commands/type_docs.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::commands {
namespace bloom_commands {
namespace {

using core::AddOutcome;
using core::KeyHash;

// Null, and an error replied, if it cannot be made.
FilterPtr MakeFilter(CommandContext& context, const core::FilterParams& params) {
  auto made = core::MakeFilter(params, context.keyspace().MemoryOf(context.arguments[1]), context.keyspace().clock());
  if (made) return std::move(*made);
  if (made.error().code == core::ErrorCode::kOutOfMemory) {
    context.MemoryError();
  } else {
    context.Error(wire::FilterRefused(made.error().message));
  }
  return nullptr;
}

// Null, and an error replied, if there is no room for the name. Otherwise the filter under the name now, which another
// client may have created first.
FilterPtr Publish(CommandContext& context, FilterPtr filter) {
  FilterPtr there = context.keyspace().InsertIfAbsent(context.arguments[1], std::move(filter));
  if (there == nullptr) context.MemoryError();
  return there;
}

core::FilterParams WithSeed(core::FilterParams params, std::optional<uint64_t> seed) {
  params.seed = seed ? *seed : core::RandomSeed();
  return params;
}

// Replies with an error and returns false if items of the filter cannot have this time.
bool CheckItemTime(CommandContext& context, const core::Filter& filter, const core::ItemTime& time) {
  if (time.ttl_ms == 0 && time.until_ms == 0) return true;
  if (!filter.capabilities().expire) {
    context.Error(wire::CannotExpire(filter.type()));
    return false;
  }
  const auto from_now_ms = static_cast<int64_t>(time.until_ms != 0 ? time.until_ms : time.ttl_ms) -
                           (time.until_ms != 0 ? context.keyspace().clock().WallMs() : 0);
  if (from_now_ms >= 1 && from_now_ms <= static_cast<int64_t>(filter.ttl_ms())) return true;
  context.Error(wire::ItemTimeRange(from_now_ms, filter.ttl_ms()));
  return false;
}

// Creates the filter named by argument 1, or takes the one that another client created first; null, and an error
// replied, if it cannot be created.
core::Filter* Make(CommandContext& context, const CreateRequest& request, const core::ItemTime& time = {}) {
  const FilterPtr made = MakeFilter(context, WithSeed(request.params, request.seed));
  if (made == nullptr || !CheckItemTime(context, *made, time)) return nullptr;
  core::Filter* const there = context.Hold(Publish(context, made));
  if (there == made.get()) NotifyNew(context, context.arguments[1]);
  return there;
}

core::Filter* FindOrMakeDefault(CommandContext& context) {
  core::Filter* filter = context.FindFilter();
  return filter != nullptr ? filter : Make(context, RequestFor(context.settings(), context.arguments[1]));
}

void WriteOutcome(CommandContext& context, AddOutcome outcome) {
  switch (outcome) {
    case AddOutcome::kPresent:
    case AddOutcome::kRenewed:
      return context.reply.Boolean(false);
    case AddOutcome::kAdded:
      ++context.tally.added;
      return context.reply.Boolean(true);
    case AddOutcome::kFull:
      return context.Error(wire::kFull);
    case AddOutcome::kOutOfMemory:
      return context.MemoryError();
    case AddOutcome::kCannotGrow:
      return context.Error(wire::kCannotGrow);
    case AddOutcome::kFrozen:
      return context.Error(wire::kFrozen);
    case AddOutcome::kWindowFull:
      return context.Error(wire::kWindowFull);
  }
}

// Makes the array that began at `start`, announced with `announced` elements, one of `elements`.
void ShortenArray(protocol::ReplyWriter& reply, size_t start, size_t announced, size_t elements) {
  std::string was, is;
  protocol::ReplyWriter(was).ArrayHeader(announced);
  protocol::ReplyWriter(is).ArrayHeader(elements);
  reply.buffer().replace(start, was.size(), is);
}

// An array of one outcome per item. A full filter ends it early, at the error.
void AddItems(CommandContext& context, core::Filter& filter, Arguments items, const core::ItemTime& time = {}) {
  HashChunk hashes;
  std::array<AddOutcome, kItemChunk> outcomes;
  AddNotice notice(context, filter);
  const size_t start = context.reply.size();
  context.reply.ArrayHeader(items.size());
  for (size_t done = 0; done < items.size(); done += kItemChunk) {
    const Arguments chunk = items.subspan(done, std::min(kItemChunk, items.size() - done));
    context.AwaitImage(filter);
    const size_t written = filter.Add(HashItems(filter, chunk, hashes), std::span(outcomes.data(), chunk.size()), time);
    WriteOutcomes(context, std::span(outcomes).first(written), WriteOutcome);
    notice.Look(std::span(outcomes).first(written));
    if (written > 0 && outcomes[written - 1] == AddOutcome::kFull) {
      ShortenArray(context.reply, start, items.size(), done + written);
      break;
    }
  }
  notice.PublishOnce();
}

void Reserve(CommandContext& context) {
  ArgumentReader reader(context.arguments, 2);
  const ReserveRequest request = ReadReserve(reader, context.settings());
  if (!reader.ok()) return context.Error(reader.error());

  FilterPtr there = context.keyspace().Find(context.arguments[1]);
  if (there == nullptr) {
    const FilterPtr made = MakeFilter(context, WithSeed(request.params, request.seed));
    if (made == nullptr) return;
    there = Publish(context, made);
    if (there == nullptr) return;
    if (there == made) {
      NotifyNew(context, context.arguments[1]);
      NotifyChanged(context);
      return context.reply.Ok();
    }
  }
  if (!request.if_not_exists) return context.Error(wire::kItemExists);
  const std::optional<std::string> difference = DifferenceFrom(request, there->params());
  if (difference) return context.Error(*difference);
  context.reply.Ok();
}

// One reply per item. Adding continues after a refusal, as if each item were a separate command.
void AnswerAdds(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  std::array<AddOutcome, kMaxRun> outcomes;
  AddNotice notice(context, filter);
  while (!hashes.empty()) {
    const size_t written = filter.Add(hashes, std::span(outcomes.data(), hashes.size()));
    WriteOutcomes(context, std::span(outcomes).first(written), WriteOutcome);
    notice.Look(std::span(outcomes).first(written));
    hashes = hashes.subspan(written);
  }
  notice.PublishEach();
}

void Add(CommandContext& context) {
  core::Filter* filter = FindOrMakeDefault(context);
  if (filter == nullptr) return;
  const KeyHash hash = filter->HashOf(context.arguments[2]);
  AnswerAdds(context, *filter, {&hash, 1});
}

void MultiAdd(CommandContext& context) {
  core::Filter* filter = FindOrMakeDefault(context);
  if (filter != nullptr) AddItems(context, *filter, context.arguments.subspan(2));
}

void Insert(CommandContext& context) {
  ArgumentReader reader(context.arguments, 2);
  const InsertRequest request = ReadInsert(reader, context.settings(), context.arguments[1]);
  if (!reader.ok()) return context.ErrorOf(reader);

  core::Filter* filter = context.FindFilter();
  if (filter == nullptr) {
    if (!request.create) return context.Error(wire::kNotFound);
    filter = Make(context, request.filter, request.time);
    if (filter == nullptr) return;
  }
  if (CheckItemTime(context, *filter, request.time)) AddItems(context, *filter, request.items, request.time);
}

void AnswerExists(CommandContext& context, core::Filter& filter, std::span<const KeyHash> hashes) {
  WritePresence(context, &filter, hashes);
}

void Exists(CommandContext& context) {
  const bool strict = context.arguments.size() > 3;
  if (strict && !EqualsIgnoringCase(context.arguments[3], "STRICT")) return context.Error(wire::kSyntax);
  const core::Filter* filter = context.FindFilter();
  if (filter == nullptr && strict) return context.Error(wire::kNotFound);
  ReplyPresence(context, filter);
}

void MultiExists(CommandContext& context) { ReplyPresences(context, context.FindFilter()); }

void Cardinality(CommandContext& context) {
  const core::Filter* filter = context.FindFilter();
  context.reply.Integer(filter == nullptr ? 0 : static_cast<int64_t>(filter->ItemCount()));
}

// Swaps in an empty filter of equal parameters, so that no client ever sees a half-cleared one.
void Clear(CommandContext& context) {
  while (true) {
    const FilterPtr old = context.keyspace().Find(context.arguments[1]);
    if (old == nullptr) return context.Error(wire::kNotFound);
    FilterPtr empty = MakeFilter(context, old->params());
    if (empty == nullptr) return;
    if (context.keyspace().Replace(context.arguments[1], old, std::move(empty))) {
      NotifyChanged(context);
      return context.reply.Ok();
    }
    // Another client replaced the filter under the name: clear that one now.
  }
}

constexpr CommandRow kRows[] = {
    {.name = "bf.reserve",
     .arity = -4,
     .max_arguments = 20,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kCreated,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Creates an empty filter for a capacity and an error rate.",
     .syntax = "key error_rate capacity [EXPANSION expansion] [NONSCALING] [TYPE type] {options} [SEED seed] "
               "[TIGHTENING ratio] [IFNOTEXISTS]",
     .notes =
         "The error rate is a number from 1e-9 to 0.25, or a larger one below 1, which is taken as 0.25; for TYPE "
         "valkeybloom it is any number between 0 and 1. EXPANSION 0 means NONSCALING. SEED is an integer, random "
         "unless it is given. For TYPE valkeybloom it may also be 32 bytes or their 64 hexadecimal digits; without "
         "TYPE, such a seed selects this type. RedisBloom has only EXPANSION and NONSCALING of these options. With "
         "IFNOTEXISTS the command succeeds if a filter with equal parameters already exists; the seed and the "
         "tightening ratio are compared only if they are given. {option notes}",
     .handler = Reserve},
    {.name = "bf.add",
     .arity = 3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary =
         "Adds an item. Returns 1 if it is new, 0 if it was probably there. Creates the filter if there is none.",
     .syntax = "key item",
     .notes = "Filters of the types counting, cuckoo and rediscuckoo count the addition in both cases. A full cuckoo "
              "or rediscuckoo filter that does not grow refuses repeated additions as well.",
     .items_handler = AnswerAdds,
     .weigh = WeighArguments,
     .handler = Add},
    {.name = "bf.madd",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Adds items. Returns an array of what BF.ADD returns for each.",
     .syntax = "key item [item ...]",
     .notes = "If the filter is full and does not grow, the array ends early, with the error as its last element; the "
              "items before it stay added.",
     .weigh = WeighChanges,
     .handler = MultiAdd},
    {.name = "bf.insert",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Adds items like BF.MADD, with options for creating the filter.",
     .syntax = "key [CAPACITY capacity] [ERROR error_rate] [EXPANSION expansion] [NOCREATE] [NONSCALING] [TYPE type] "
               "{options} [SEED seed] [TIGHTENING ratio] [VALIDATESCALETO capacity] [EX seconds | PX milliseconds | "
               "EXAT unix_time] [ITEMS item [item ...]]",
     .notes =
         "Options for creating a filter are ignored if the filter exists. ITEMS may be left out only for TYPE "
         "valkeybloom: the command then creates an empty filter. SEED is as in BF.RESERVE. VALIDATESCALETO is for TYPE "
         "valkeybloom: the filter is created only if it could grow to this capacity within valkey-bloom's default "
         "limit of 128 MB. EX, PX and EXAT, for filters of the type expiring, state when the items expire: after some "
         "seconds or milliseconds, or at a Unix time in seconds; at most the filter's TTL from now, which is also the "
         "default. RedisBloom does not have these, TYPE, SEED, TIGHTENING, VALIDATESCALETO and the options that only "
         "some types take.",
     .weigh = WeighChanges,
     .handler = Insert},
    {.name = "bf.exists",
     .arity = -3,
     .max_arguments = 4,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kOneItem,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Tests whether an item is in a filter. Returns 0 if it is definitely not, 1 if it probably is, and 0 "
                "if there is no such filter.",
     .syntax = "key item [STRICT]",
     .notes = "STRICT, which RedisBloom does not have, makes a missing filter an error.",
     .items_handler = AnswerExists,
     .weigh = WeighArguments,
     .handler = Exists},
    {.name = "bf.mexists",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .preparation = Preparation::kItems,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(items * sub-filters)",
     .summary = "Tests several items, as BF.EXISTS does. Returns an array of 0 and 1.",
     .syntax = "key item [item ...]",
     .weigh = WeighArguments,
     .handler = MultiExists},
    {.name = "bf.card",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "2.4.4",
     .complexity = "O(1)",
     .summary = "Returns the number of items that were new when they were added; for types that can remove items, the "
                "number of additions minus the number of removals. Returns 0 if there is no such filter.",
     .syntax = "key",
     .handler = Cardinality},
    {.name = "bf.info",
     .arity = -2,
     .max_arguments = 3,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Returns the parameters of a filter, the memory that it takes and how full it is.",
     .syntax = "key [FULL | CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION | TYPE | ERROR | ESTIMATED | FILL | HASHES | "
               "BITS | SEED | TIGHTENING | HITS | MISSES | ADDS | LASTUSE | {fields}]",
     .notes =
         "Without a second argument, the command returns RedisBloom's five fields: capacity, size, number of filters, "
         "number of items inserted and expansion rate, which is nil for a filter that does not grow. For a filter of "
         "type valkeybloom it returns valkey-bloom's fields, with the size that valkey-bloom would report: these five "
         "with the error rate before the expansion rate, and for a filter that grows also tightening ratio and max "
         "scaled capacity. FULL adds the other fields that the filter type has; any other word returns one field. The "
         "seed is text, since it may be larger than an integer reply can be; that of type valkeybloom is 64 "
         "hexadecimal digits. Hits, misses, adds (items that were new) and last use (Unix time in seconds) are counted "
         "since the filter was created or loaded, and are nil while it is a list of a few items. The fill ratio of a "
         "type with fingerprints is the load of its tables. Only some types have: {field notes}.",
     .handler = BloomInfo},
    {.name = "bf.clear",
     .arity = 2,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(1), plus freeing the memory of the old content",
     .summary = "Empties a filter and keeps its parameters and seed.",
     .syntax = "key",
     .notes = "An empty filter replaces the full one in one step, so for a moment both take memory.",
     .weigh = WeighFilter,
     .handler = Clear},
};

// The rows with their texts complete.
struct DocumentedRows {
  DocumentedRows() {
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].syntax = texts[2 * i] = WithTypeDocs(kRows[i].syntax);
      rows[i].notes = texts[2 * i + 1] = WithTypeDocs(kRows[i].notes);
    }
  }

  std::array<CommandRow, std::size(kRows)> rows = std::to_array(kRows);
  std::array<std::string, 2 * std::size(kRows)> texts;
};

}  // namespace
}  // namespace bloom_commands

std::span<const CommandRow> BloomCommands() {
  static const auto& documented = *new bloom_commands::DocumentedRows;  // never destroyed: threads may outlive statics
  return documented.rows;
}

}  // namespace bitsieve::commands
