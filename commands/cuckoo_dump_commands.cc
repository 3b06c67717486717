// CF.INFO, CF.DEBUG, CF.SCANDUMP and CF.LOADCHUNK: what a cuckoo filter is, and its bytes, in RedisBloom's words.

#include <optional>
#include <string>
#include <utility>

#include "commands/cuckoo_errors.h"
#include "commands/cuckoo_lookup.h"
#include "commands/filter_commands.h"
#include "commands/notices.h"
#include "commands/transfers.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"
#include "core/families/redisbloom/redis_cuckoo_codec.h"

namespace bitsieve::commands {
namespace cuckoo_dump_commands {
namespace {

using core::RedisCuckoo;
using core::RedisCuckooHeader;
using protocol::ReplyWriter;

// Returns the size as RedisBloom counts it: its own objects and the slots.
uint64_t SizeOf(const RedisCuckooHeader& header) { return 40 + 16 * header.filters + header.BodyBytes(); }

void Info(CommandContext& context) {
  const RedisCuckoo* const cuckoo = FindCuckoo(context, wire::kNotFound, wire::kWrongType);
  if (cuckoo == nullptr) return;
  const RedisCuckooHeader header = cuckoo->Header();
  ReplyWriter& reply = context.reply;
  reply.MapHeader(8);
  const auto write = [&reply](std::string_view label, uint64_t value) {
    reply.SimpleString(label);
    reply.Integer(static_cast<int64_t>(value));
  };
  write("Size", SizeOf(header));
  write("Number of buckets", header.buckets);
  write("Number of filters", header.filters);
  write("Number of items inserted", header.items);
  write("Number of items deleted", header.deletes);
  write("Bucket size", header.bucket_size);
  write("Expansion rate", header.expansion);
  write("Max iterations", header.max_iterations);
}

void Debug(CommandContext& context) {
  const RedisCuckoo* const cuckoo = FindCuckoo(context, wire::kNotFound, wire::kWrongType);
  if (cuckoo == nullptr) return;
  const RedisCuckooHeader header = cuckoo->Header();
  std::string text;
  const auto append = [&text](std::string_view label, uint64_t value) {
    text.append(text.empty() ? "" : " ").append(label).append(":").append(std::to_string(value));
  };
  append("bktsize", header.bucket_size);
  append("buckets", header.buckets);
  append("items", header.items);
  append("deletes", header.deletes);
  append("filters", header.filters);
  append("max_iterations", header.max_iterations);
  append("expansion", header.expansion);
  context.reply.BulkString(text);
}

void ReplyEndOfDump(CommandContext& context) {
  context.reply.ArrayHeader(2);
  context.reply.Integer(0);
  context.reply.Null();
}

// The header first; then the body, each cursor the offset that comes next, and one. A filter without items has nothing
// to dump, as in RedisBloom.
void ScanDump(CommandContext& context) {
  const std::optional<int64_t> position = ParseInteger(context.arguments[2]);
  if (!position || *position < 0) return context.Error(wire::kInvalidPosition);
  const RedisCuckoo* const cuckoo = FindCuckoo(context, wire::kNotFound, wire::kWrongType);
  if (cuckoo == nullptr) return;
  const RedisCuckooHeader header = cuckoo->Header();
  if (header.items == 0) return ReplyEndOfDump(context);
  if (*position == 0) {
    context.reply.ArrayHeader(2);
    context.reply.Integer(1);
    return context.reply.BulkString(EncodeRedisCuckooHeader(header));
  }
  const std::string chunk = cuckoo->ReadChunk(static_cast<uint64_t>(*position) - 1);
  if (chunk.empty()) return ReplyEndOfDump(context);
  context.reply.ArrayHeader(2);
  context.reply.Integer(*position + static_cast<int64_t>(chunk.size()));
  context.reply.BulkString(chunk);
}

// ---- loading: the filter is published with its last byte

PendingLoads& LoadsOf(CommandContext& context) { return context.environment.transfers->loads; }

void PublishLoaded(CommandContext& context, core::FilterDecoder& decoder) {
  core::Result<std::unique_ptr<core::Filter>> loaded = decoder.Finish();
  if (!loaded) return context.MemoryError();  // a body of the right length has nothing else to refuse
  const FilterPtr filter = std::move(*loaded);
  const FilterPtr there = PublishCuckoo(context, filter);
  if (there == nullptr) return;
  if (there != filter) return context.Error(TakenBy(there));
  NotifyNew(context, context.arguments[1]);
  NotifyChanged(context);
  context.reply.Ok();
}

// Memory for the whole filter is reserved now, so that a load that has begun does not fail for lack of it.
void BeginLoad(CommandContext& context) {
  const std::string_view name = context.arguments[1];
  auto decoder = OpenCuckooHeader(context, context.arguments[3]);
  if (decoder == nullptr) return;
  core::MemoryBudget& memory = context.keyspace().MemoryOf(name);
  auto overhead = core::MemoryReservation::TryTake(memory, kNameOverheadBytes + name.size());
  if (!overhead.held()) return context.MemoryError();
  auto load =
      std::make_unique<PendingLoad>(PendingLoad{LoadFormat::kRedisCuckoo, std::move(overhead), std::move(decoder)});
  if (!LoadsOf(context).Put(name, std::move(load))) return context.Error(wire::kTooManyCuckooLoads);
  context.reply.Ok();
}

// RedisBloom's iterators are the position after the data, plus one.
bool IsNext(const PendingLoad& load, uint64_t position, uint64_t size) {
  const uint64_t left = load.decoder->body_bytes() - load.received;
  return size != 0 && size <= left && position - 1 == load.received + size;
}

// Empty if it was taken in.
std::string_view TakeIn(PendingLoad& load, uint64_t position, std::string_view data) {
  if (load.format != LoadFormat::kRedisCuckoo) return wire::kNotFound;  // BF.LOADCHUNK's
  return IsNext(load, position, data.size()) && load.Append(data) ? "" : wire::kChunkRefused;
}

void ContinueLoad(CommandContext& context, uint64_t position) {
  const std::string_view name = context.arguments[1];
  std::unique_ptr<PendingLoad> load = LoadsOf(context).Take(name);
  if (load == nullptr) return context.Error(wire::kNotFound);
  const std::string_view error = TakeIn(*load, position, context.arguments[3]);
  if (error.empty() && load->IsWhole()) return PublishLoaded(context, *load->decoder);
  const bool kept = LoadsOf(context).Return(name, std::move(load));
  if (!error.empty()) return context.Error(error);
  if (!kept) return context.Error(wire::kTooManyCuckooLoads);
  context.reply.Ok();
}

void LoadChunk(CommandContext& context) {
  const std::optional<int64_t> position = ParseInteger(context.arguments[2]);
  if (!position || *position <= 0) return context.Error(wire::kInvalidPosition);
  const FilterPtr there = context.keyspace().Find(context.arguments[1]);
  if (there == nullptr) return *position == 1 ? BeginLoad(context) : ContinueLoad(context, *position);
  LoadsOf(context).Take(context.arguments[1]);  // the name was taken: its load has come to nothing
  if (*position == 1 || AsCuckoo(there.get()) == nullptr) return context.Error(TakenBy(there));
  context.Error(wire::kChunkRefused);
}

constexpr CommandRow kRows[] = {
    {.name = "cf.info",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Returns the parameters of a cuckoo filter and how full it is.",
     .syntax = "key",
     .notes =
         "Size is what RedisBloom would report; BF.INFO and MEMORY USAGE report the memory that the filter takes here.",
     .handler = Info},
    {.name = "cf.debug",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns the fields of CF.INFO in one line.",
     .syntax = "key",
     .handler = Debug},
    {.name = "cf.scandump",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(bytes of the chunk)",
     .summary = "Reads the bytes of a cuckoo filter chunk by chunk, as RedisBloom does. Begin with iterator 0 and "
                "continue with the iterator of each reply until it is 0.",
     .syntax = "key iterator",
     .notes = "The reply is an array of the next iterator and a chunk, for CF.LOADCHUNK; at the end the chunk is nil. "
              "A filter without items has no chunks. No client should add or delete items during the dump: each chunk "
              "shows the filter as it is when the chunk is read.",
     .weigh = WeighFilter,
     .handler = ScanDump},
    {.name = "cf.loadchunk",
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kContent,
     .group = CommandGroup::kCuckoo,
     .since = "1.0.0",
     .complexity = "O(bytes of the chunk); with the header, O(sub-filters)",
     .summary = "Loads one chunk of a cuckoo filter, with the iterator that CF.SCANDUMP returned with it, here or in "
                "RedisBloom.",
     .syntax = "key iterator data",
     .notes = "Chunks must come in order. The filter appears with its last chunk. A load ends if no chunk comes for a "
              "minute. In the module, the filter appears with its header, as in RedisBloom. Headers of RedisBloom 2.0 "
              "are refused: it hashed items differently.",
     .weigh = WeighMany,
     .handler = LoadChunk},
};

}  // namespace
}  // namespace cuckoo_dump_commands

std::span<const CommandRow> CuckooDumpCommands() { return cuckoo_dump_commands::kRows; }

}  // namespace bitsieve::commands
