// BF.SCANDUMP, BF.FOLLOW, BF.LOADCHUNK, BF.DUMP, BF.RESTORE, BF.LOAD, BF.DEBUG: filters as bytes, out of the server and
// into it.
//
// A filter of type redisbloom goes in RedisBloom's own form, with RedisBloom's cursors: 1 and the header first;
// then k and the bytes from place k - 1 on. Every other type goes as one dump (core/filter/filter_dump.h) cut into
// chunks. Its cursor is the number of the dump, above, and the number of chunks so far, in the lowest kPieceBits: below
// 2^53, as some clients keep integers in doubles. The server keeps the image until the dump's end, so that all chunks
// are of one moment, and the latest chunk, so that a client which lost a reply can ask for it again.

#include <string>
#include <utility>
#include <vector>

#include "commands/filter_commands.h"
#include "commands/followed_filters.h"
#include "commands/notices.h"
#include "commands/transfers.h"
#include "commands/weigh.h"
#include "commands/wire_errors.h"
#include "core/families/valkeybloom/valkey_bloom_codec.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::commands {
namespace dump_commands {
namespace {

constexpr size_t kPieceBytes = size_t{16} << 20;
constexpr uint64_t kMaxDumpBytes = uint64_t{128} << 20;  // of one reply; half of what a client may leave unread
constexpr unsigned kPieceBits = 20;
constexpr uint64_t kPieceMask = (uint64_t{1} << kPieceBits) - 1;

Transfers& TransfersOf(CommandContext& context) { return *context.environment.transfers; }

void ReplyPiece(CommandContext& context, uint64_t next, std::string_view bytes,
                const core::ChangePosition& position = {}) {
  const bool follows = position != core::ChangePosition{};
  context.reply.ArrayHeader(follows ? 3 : 2);
  context.reply.Integer(static_cast<int64_t>(next));
  context.reply.BulkString(bytes);
  if (follows) context.reply.BulkString(PositionText(position));
}

void ScanRedisBloomForm(CommandContext& context, const core::Filter& filter, int64_t cursor) {
  if (cursor < 0) return ReplyPiece(context, 0, "");
  const core::RedisBloomForm& form = *filter.type().redisbloom_form;
  const auto from = static_cast<uint64_t>(cursor);
  const std::string chunk = from == 0 ? form.header(filter) : form.read(filter, from - 1, kPieceBytes);
  const uint64_t next = from == 0 ? 1 : from + chunk.size();
  ReplyPiece(context, chunk.empty() ? 0 : next, chunk);
}

uint64_t CursorOf(uint64_t dump, uint64_t pieces) { return dump << kPieceBits | pieces; }

// Keeps the dump for the next request, and replies with its latest chunk.
void KeepAndReply(CommandContext& context, uint64_t number, std::unique_ptr<OpenDump> dump, bool is_new,
                  std::string_view chunk) {
  const uint64_t next = CursorOf(number, dump->pieces);
  const core::ChangePosition position = dump->position;
  const std::string key = std::to_string(number);
  OpenDumps& dumps = TransfersOf(context).dumps;
  const bool kept = is_new ? dumps.Put(key, std::move(dump)) : dumps.Return(key, std::move(dump));
  if (!kept) return context.Error(wire::kTooManyDumps);
  ReplyPiece(context, next, chunk, position);
}

void HandOutNext(CommandContext& context, uint64_t number, std::unique_ptr<OpenDump> dump) {
  const auto chunk = std::make_shared<std::string>();
  if (const core::Status status = dump->stream.Read(kPieceBytes, *chunk); !status) {
    return context.Error(wire::kOutOfMemory);
  }
  ++dump->pieces;
  dump->latest.reset();
  dump->latest_memory = {};
  dump->latest_memory = core::MemoryReservation::TryTake(context.keyspace().memory(), chunk->capacity());
  if (dump->latest_memory.held()) dump->latest = chunk;
  const bool is_new = dump->pieces == 1;
  KeepAndReply(context, number, std::move(dump), is_new, *chunk);
}

void HandOutAgain(CommandContext& context, uint64_t number, std::unique_ptr<OpenDump> dump) {
  const std::shared_ptr<const std::string> chunk = dump->latest;
  KeepAndReply(context, number, std::move(dump), false, *chunk);
}

void BeginDump(CommandContext& context, bool of_changes) {
  const uint64_t number = TransfersOf(context).NextDumpNumber();
  std::unique_ptr<core::FilterImage> image = context.filter->Capture();
  const core::ChangePosition position = of_changes ? image->position() : core::ChangePosition{};
  auto dump = std::make_unique<OpenDump>(OpenDump{context.held, core::DumpStream(std::move(image)), position});
  HandOutNext(context, number, std::move(dump));
}

// A client that saw no reply asks for the same cursor again, and gets the same chunk.
void ContinueDump(CommandContext& context, uint64_t cursor) {
  const uint64_t number = cursor >> kPieceBits;
  const uint64_t pieces = cursor & kPieceMask;
  Transfers& transfers = TransfersOf(context);
  std::unique_ptr<OpenDump> dump = transfers.dumps.Take(std::to_string(number));
  if (dump == nullptr) {
    if (!transfers.ended.Contains(cursor)) return context.Error(wire::kNoSuchDump);
    return ReplyPiece(context, 0, "");
  }
  const bool of_this_filter = dump->filter == context.held;
  if (of_this_filter && dump->pieces == pieces) {
    if (!dump->stream.AtEnd()) return HandOutNext(context, number, std::move(dump));
    transfers.ended.Add(cursor);
    return ReplyPiece(context, 0, "", dump->position);
  }
  if (of_this_filter && dump->pieces == pieces + 1 && dump->latest != nullptr) {
    return HandOutAgain(context, number, std::move(dump));
  }
  transfers.dumps.Return(std::to_string(number), std::move(dump));
  context.Error(wire::kNoSuchDump);
}

void ScanDump(CommandContext& context) {
  const core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  const std::optional<int64_t> cursor = ParseInteger(context.arguments[2]);
  if (!cursor) return context.Error(wire::kScanCursorNotNumeric);
  const core::FilterTypeRow& type = filter->type();
  if (type.redisbloom_form != nullptr && !type.is_cuckoo_value()) return ScanRedisBloomForm(context, *filter, *cursor);
  if (*cursor == 0) return BeginDump(context, false);
  ContinueDump(context, static_cast<uint64_t>(*cursor));
}

void Follow(CommandContext& context) {
  core::Filter* const filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  const std::optional<int64_t> cursor = ParseInteger(context.arguments[2]);
  if (!cursor) return context.Error(wire::kScanCursorNotNumeric);
  if (*cursor != 0) return ContinueDump(context, static_cast<uint64_t>(*cursor));
  context.environment.followed->Follow(*filter);
  BeginDump(context, true);
}

// Why bytes could not be read.
void RefuseBytes(CommandContext& context, const core::Error& error) {
  if (error.code == core::ErrorCode::kOutOfMemory) return context.MemoryError();
  context.Error(wire::BadData(error.message));
}

// Publishes a filter that has arrived whole.
void PublishLoaded(CommandContext& context, core::FilterDecoder& decoder) {
  core::Result<std::unique_ptr<core::Filter>> loaded = decoder.Finish();
  if (!loaded) return RefuseBytes(context, loaded.error());
  const FilterPtr filter = std::move(*loaded);
  const auto prepared = context.keyspace().Prepare(filter);
  if (!prepared) return context.Error(wire::NotLogged(prepared.error()));
  const FilterPtr now = context.keyspace().InsertIfAbsent(context.arguments[1], filter);
  if (now == nullptr) return context.MemoryError();
  if (now != filter) return context.Error(wire::kItemExists);
  NotifyNew(context, context.arguments[1]);
  NotifyChanged(context);
  context.reply.Ok();
}

// Takes the next bytes in; publishes the filter with the last ones, and else keeps `load` for the next ones.
void TakeIn(CommandContext& context, std::unique_ptr<PendingLoad> load, std::string_view bytes, uint64_t cursor) {
  const std::string_view name = context.arguments[1];
  if (const core::Status status = load->Append(bytes); !status) {
    return RefuseBytes(context, status.error());
  }
  if (load->IsWhole()) return PublishLoaded(context, *load->decoder);
  const bool begins = std::exchange(load->last_cursor, cursor) == 0;
  PendingLoads& loads = TransfersOf(context).loads;
  const bool kept = begins ? loads.Put(name, std::move(load)) : loads.Return(name, std::move(load));
  if (!kept) return context.Error(wire::kTooManyLoads);
  context.reply.Ok();
}

// From a header, which may be followed by first bytes of the body.
void BeginLoad(CommandContext& context, LoadFormat format, uint64_t cursor) {
  const std::string_view data = context.arguments[3];
  core::MemoryBudget& memory = context.keyspace().MemoryOf(context.arguments[1]);
  auto overhead = core::MemoryReservation::TryTake(memory, kNameOverheadBytes + context.arguments[1].size());
  if (!overhead.held()) return context.MemoryError();
  auto load = std::make_unique<PendingLoad>(PendingLoad{format, std::move(overhead), nullptr});
  if (format == LoadFormat::kRedisBloom) {
    const core::RedisBloomForm& form = *core::FindFilterType(core::kRedisBloomType)->redisbloom_form;
    auto decoder = form.open(data, core::ItemCounts::kSummed, memory);
    if (!decoder) return RefuseBytes(context, decoder.error());
    load->decoder = std::move(*decoder);
    return TakeIn(context, std::move(load), "", cursor);
  }
  auto dump = core::OpenFilterDump(data, memory, context.keyspace().clock());
  if (!dump) return RefuseBytes(context, dump.error());
  load->decoder = std::move(dump->decoder);
  TakeIn(context, std::move(load), data.substr(dump->head_bytes), cursor);
}

// Empty if these are the bytes that come next.
std::string_view MisplacedRedisBloom(const PendingLoad& load, int64_t cursor, uint64_t size) {
  if (cursor <= 0 || static_cast<uint64_t>(cursor) < size) return wire::kBadData;
  const uint64_t offset = static_cast<uint64_t>(cursor) - size - 1;
  const uint64_t total = load.decoder->body_bytes();
  if (offset >= total) return wire::kInvalidOffset;
  if (size > total - offset) return wire::kInvalidChunk;
  return offset == load.received ? "" : wire::kChunkNotNext;
}

std::string_view Misplaced(const PendingLoad& load, int64_t cursor, uint64_t size) {
  if (load.format == LoadFormat::kRedisCuckoo) return wire::kNotFound;  // CF.LOADCHUNK's
  if (load.format == LoadFormat::kRedisBloom) return MisplacedRedisBloom(load, cursor, size);
  return static_cast<uint64_t>(cursor) == load.last_cursor + 1 ? "" : wire::kChunkNotNext;
}

void ContinueLoad(CommandContext& context, int64_t cursor) {
  const std::string_view data = context.arguments[3];
  PendingLoads& loads = TransfersOf(context).loads;
  std::unique_ptr<PendingLoad> load = loads.Take(context.arguments[1]);
  if (load == nullptr) return context.Error(wire::kNotFound);
  if (const std::string_view error = Misplaced(*load, cursor, data.size()); !error.empty()) {
    loads.Return(context.arguments[1], std::move(load));
    return context.Error(error);
  }
  TakeIn(context, std::move(load), data, static_cast<uint64_t>(cursor));
}

void LoadChunk(CommandContext& context) {
  const std::optional<int64_t> cursor = ParseInteger(context.arguments[2]);
  if (!cursor) return context.Error(wire::kLoadCursorNotNumeric);
  const bool is_dump = core::IsFilterDump(context.arguments[3]) && (*cursor & kPieceMask) == 1;
  if (context.FindFilter() != nullptr) {
    TransfersOf(context).loads.Take(context.arguments[1]);  // the name was taken: its load has come to nothing
    return context.Error(is_dump ? wire::kItemExists : wire::kBadData);
  }
  if (is_dump) return BeginLoad(context, LoadFormat::kBitsieve, static_cast<uint64_t>(*cursor));
  if (*cursor == 1) return BeginLoad(context, LoadFormat::kRedisBloom, 1);
  ContinueLoad(context, *cursor);
}

void Dump(CommandContext& context) {
  const core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  core::DumpStream stream(filter->Capture());
  if (stream.total_bytes() > kMaxDumpBytes) {
    return context.Error(wire::DumpTooLarge(std::to_string(stream.total_bytes()), std::to_string(kMaxDumpBytes)));
  }
  if (!context.reply.Fits(stream.total_bytes())) return;
  std::string dump;
  dump.reserve(stream.total_bytes());
  if (!stream.Read(stream.total_bytes(), dump)) return context.Error(wire::kOutOfMemory);
  context.reply.BulkString(dump);
}

// Puts a filter that came as bytes under its name, with the reply; `taken` is the error if the name is not free.
void PutRestored(CommandContext& context, const FilterPtr& filter, bool replace, std::string_view taken) {
  const std::string_view name = context.arguments[1];
  const auto prepared = context.keyspace().Prepare(filter);
  if (!prepared) return context.Error(wire::NotLogged(prepared.error()));
  if (replace) {
    if (!context.keyspace().Put(name, filter, 0)) return context.MemoryError();
    Notify(context, EventClass::kGeneric, "restore", name);
    return context.reply.Ok();
  }
  const FilterPtr now = context.keyspace().InsertIfAbsent(name, filter);
  if (now == nullptr) return context.MemoryError();
  if (now != filter) return context.Error(taken);
  NotifyNew(context, name);
  Notify(context, EventClass::kGeneric, "restore", name);
  context.reply.Ok();
}

void Restore(CommandContext& context) {
  ArgumentReader reader(context.arguments, 3);
  const bool replace = !reader.AtEnd() && reader.Skip("REPLACE");
  if (!reader.AtEnd()) return context.Error(wire::kSyntax);
  const std::string_view name = context.arguments[1];
  if (!replace && context.FindFilter() != nullptr) return context.Error(wire::kItemExists);
  auto restored =
      core::RestoreFilter(context.arguments[2], context.keyspace().MemoryOf(name), context.keyspace().clock());
  if (!restored) return RefuseBytes(context, restored.error());
  PutRestored(context, std::move(*restored), replace, wire::kItemExists);
}

void RefuseValkeyBytes(CommandContext& context, const core::Error& error) {
  if (error.code == core::ErrorCode::kOutOfMemory) return context.MemoryError();
  if (error.code == core::ErrorCode::kUnsupported) return context.Error(wire::kLoadUnsupported);
  context.Error(error.code == core::ErrorCode::kCorrupt ? std::string(wire::kLoadFailed) : wire::Error(error.message));
}

void Load(CommandContext& context) {
  if (context.FindFilter() != nullptr) return context.Error(wire::kBusyKey);
  auto loaded = core::DecodeValkeyLoad(context.arguments[2], context.keyspace().MemoryOf(context.arguments[1]));
  if (!loaded) return RefuseValkeyBytes(context, loaded.error());
  PutRestored(context, std::move(*loaded), false, wire::kBusyKey);
}

void Debug(CommandContext& context) {
  const core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  const uint32_t hash_width = filter->params().hash == core::HashKind::kRedisBloom32 ? 32 : 64;
  const std::vector<core::SubFilterInfo> infos = filter->DescribeSubFilters();
  context.reply.ArrayHeader(1 + infos.size());
  context.reply.BulkString("size:" + std::to_string(filter->ItemCount()));
  for (const core::SubFilterInfo& info : infos) {
    context.reply.BulkString("bytes:" + std::to_string(info.bytes) + " bits:" + std::to_string(info.bits) +
                             " hashes:" + std::to_string(info.hash_functions) +
                             " hashwidth:" + std::to_string(hash_width) + " capacity:" + std::to_string(info.capacity) +
                             " size:" + std::to_string(info.items) + " ratio:" + core::RoundedText(info.error_rate, 6));
  }
}

constexpr CommandRow kRows[] = {
    {.name = "bf.scandump",
     .arity = 3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(bytes of the chunk)",
     .summary = "Reads the bytes of a filter chunk by chunk, for BF.LOADCHUNK. Begin with iterator 0 and continue with "
                "the iterator of each reply until it is 0.",
     .syntax = "key iterator",
     .notes = "The reply is an array of the next iterator and a chunk of at most 16 MiB. The chunks of a filter of "
              "type redisbloom are RedisBloom's own, so that RedisBloom can load them; each shows the filter as it is "
              "when the chunk is read, so no client should add items during the dump. A filter of any other type is "
              "read as a checksummed dump, as BF.DUMP returns it, in chunks that are all of one moment. Requesting the "
              "same iterator again returns the same chunk, until a later chunk has been requested. Such a dump ends if "
              "its next chunk is not requested within a minute; the server keeps 64 at a time.",
     .weigh = WeighFilter,
     .handler = ScanDump},
    {.name = "bf.follow",
     .arity = 3,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(bytes of the chunk)",
     .summary = "Reads the bytes of a filter chunk by chunk, with the position from which on BF.CHANGES returns its "
                "changes. Begin with iterator 0 and continue with the iterator of each reply until it is 0.",
     .syntax = "key iterator",
     .notes = "The reply is an array of the next iterator, a chunk of at most 16 MiB, and the position. The chunks, "
              "end to end, are the dump that BF.DUMP returns, for filters of every type, and of one moment: all "
              "changes up to the position are in it. The server keeps the latest changes of the filter in memory, "
              "within the limit of changes-memory, until no client has requested them for ten minutes.",
     .weigh = WeighFilter,
     .handler = Follow},
    {.name = "bf.loadchunk",
     .arity = 4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kContent,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(bytes of the chunk); of the last chunk O(bytes of the filter)",
     .summary = "Loads one chunk of a filter, with the iterator that BF.SCANDUMP returned with it.",
     .syntax = "key iterator data",
     .notes =
         "Chunks must come in order, and the name must be free. The filter appears with its last chunk; if another "
         "command takes its name before that, the load fails. A load ends if no chunk arrives for a minute; the server "
         "keeps 64 at a time. Dumps of all versions of RedisBloom and of Bitsieve are distinguished by their first "
         "bytes. In the module, a filter from RedisBloom appears with its header, as in RedisBloom.",
     .weigh = WeighMany,
     .handler = LoadChunk},
    {.name = "bf.dump",
     .arity = 2,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(bytes)",
     .summary = "Returns a filter as one string of bytes, for BF.RESTORE or a file.",
     .syntax = "key",
     .notes = "The string is checksummed and self-describing. It has at most 128 MiB: larger filters are read with "
              "BF.SCANDUMP, whose chunks end to end are the same bytes, except for the type redisbloom.",
     .weigh = WeighFilter,
     .handler = Dump},
    {.name = "bf.restore",
     .arity = -3,
     .max_arguments = 4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "bitsieve 1.0.0",
     .complexity = "O(bytes)",
     .summary = "Creates a filter from the bytes that BF.DUMP returned.",
     .syntax = "key data [REPLACE]",
     .notes = "The command is refused if the name is taken, unless REPLACE is given: then the filter replaces the "
              "existing one in one step. A dump does not contain an expiry.",
     .weigh = WeighArguments,
     .handler = Restore},
    {.name = "bf.load",
     .arity = 3,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .replication = Replication::kVerbatim,
     .group = CommandGroup::kBloom,
     .since = "valkey-bloom 1.0.0",
     .complexity = "O(bytes)",
     .summary = "Creates a filter of type valkeybloom from the bytes that valkey-bloom writes into its append-only "
                "file for a filter.",
     .syntax = "key data",
     .notes = "The name must be free. Bytes after the end of the filter are ignored, as in valkey-bloom.",
     .weigh = WeighArguments,
     .handler = Load},
    {.name = "bf.debug",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kBloom,
     .since = "1.0.0",
     .complexity = "O(sub-filters)",
     .summary = "Returns a line about each sub-filter of a filter, in RedisBloom's format.",
     .syntax = "key",
     .handler = Debug},
};

}  // namespace
}  // namespace dump_commands

std::span<const CommandRow> DumpCommands() { return dump_commands::kRows; }

}  // namespace bitsieve::commands
