#include "cli/migrate/content_reader.h"

#include <utility>

#include "cli/migrate/filter_source.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_type.h"
#include "protocol/rdb/rdb_file.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kLocalPieceBytes = size_t{1} << 20;

std::string TypeNameOf(core::FilterType type) { return std::string(core::FindFilterType(type)->name); }

}  // namespace

ContentDigest DigestOfFilter(const core::Filter& filter) {
  ContentDigest digest{.type = std::string(filter.type().name)};
  core::RunningChecksum checksum;
  const auto add = [&digest, &checksum](std::string_view bytes) {
    checksum.Add(bytes);
    digest.bytes += bytes.size();
    return !bytes.empty();
  };
  const core::RedisBloomForm* const form = filter.type().redisbloom_form;
  if (form != nullptr) {
    // Servers return nothing for a cuckoo filter without items, as RedisBloom does.
    const bool is_empty = filter.type().is_cuckoo_value() && filter.ItemCount() == 0;
    if (!is_empty) {
      add(form->header(filter));
      for (uint64_t offset = 0;;) {
        const std::string piece = form->read(filter, offset, kLocalPieceBytes);
        if (!add(piece)) break;
        offset += piece.size();
      }
    }
  } else {
    core::DumpStream stream(filter.Capture());
    while (!stream.AtEnd()) {
      std::string piece;
      if (!stream.Read(kLocalPieceBytes, piece)) {
        digest.problem = "out of memory";
        break;
      }
      add(piece);
    }
  }
  digest.checksum = checksum.Value();
  return digest;
}

std::optional<std::string> TypeIn(const Reply& reply) {
  if (reply.kind == Reply::kString) return reply.text;  // valkeybloom, alone as valkey-bloom returns all fields
  const bool is_list = reply.kind == Reply::kArray && reply.elements.size() == 1;
  return is_list ? std::optional(reply.elements[0].text) : std::nullopt;
}

uint64_t ServerContent::SizeOf(const FoundFilter& filter) { return filter.bytes; }

void ServerContent::Begin(std::span<const FoundFilter* const> filters) {
  entries_.clear();
  for (const FoundFilter* each : filters) {
    entries_.push_back({.filter = each, .step = each->is_cuckoo ? Step::kChunks : Step::kType});
    if (each->is_cuckoo) entries_.back().digest.type = TypeNameOf(core::kRedisCuckooType);
  }
}

core::Outcome<bool> ServerContent::Request() {
  std::string bytes;
  for (const Entry& each : entries_) {
    const std::string& name = each.filter->name;
    if (each.step == Step::kType) AppendCommand(bytes, {"BF.INFO", name, "TYPE"});
    if (each.step == Step::kWhole) AppendCommand(bytes, {"BF.DUMP", name});
    if (each.step == Step::kEngineDump) AppendCommand(bytes, {"DUMP", name});
    if (each.step == Step::kChunks) {
      AppendCommand(bytes, {each.filter->is_cuckoo ? "CF.SCANDUMP" : "BF.SCANDUMP", name, each.cursor});
    }
  }
  if (bytes.empty()) return false;
  if (auto sent = client_.Send(bytes); !sent) return tl::unexpected(sent.error());
  return true;
}

core::Outcome<void> ServerContent::Receive() {
  for (Entry& each : entries_) {
    if (each.step == Step::kDone) continue;
    const auto reply = client_.Receive();
    if (!reply) return tl::unexpected(reply.error());
    Take(each, *reply);
  }
  return {};
}

void ServerContent::Take(Entry& entry, const Reply& reply) {
  if (entry.step == Step::kType) return TakeType(entry, reply);
  if (entry.filter->is_cuckoo && reply.text.starts_with("WRONGTYPE")) {
    entry.step = Step::kType;
    return;
  }
  if (reply.is_error()) return TakeError(entry, reply.text);
  if (entry.step == Step::kEngineDump) return TakeEngineDump(entry, reply);
  if (entry.step == Step::kWhole) {
    TakeBytes(entry, reply.text);
    return End(entry);
  }
  if (reply.elements.size() != 2) return TakeError(entry, "its reply is not a chunk of a dump");
  const int64_t next = reply.elements[0].integer;
  if (next == 0) return End(entry);
  TakeBytes(entry, reply.elements[1].text);
  entry.cursor = std::to_string(next);
}

// RedisBloom and valkey-bloom have no field TYPE, and one type. If the old server has a cuckoo filter, any of these
// types is a difference in itself. Small filters of types that RedisBloom lacks are read whole, since a server keeps
// only a few dumps open that are read in chunks.
void ServerContent::TakeType(Entry& entry, const Reply& reply) {
  const std::string redis_type = TypeNameOf(core::kRedisBloomType);
  const bool is_there = !reply.is_error() || (reply.text.find("not found") == std::string::npos &&
                                              !reply.text.starts_with("WRONGTYPE") && !reply.text.starts_with("NO"));
  if (!is_there) return TakeError(entry, reply.text);
  const std::optional<std::string> type = TypeIn(reply);
  if (!type && entry.filter->is_valkeys) {
    entry.step = Step::kEngineDump;
    return;
  }
  entry.digest.type = type.value_or(redis_type);
  if (entry.filter->is_cuckoo) return End(entry);
  const bool is_whole = entry.digest.type != redis_type && entry.filter->bytes <= kMaxSmallContentBytes;
  entry.step = is_whole ? Step::kWhole : Step::kChunks;
}

void ServerContent::TakeEngineDump(Entry& entry, const Reply& reply) {
  if (reply.kind != Reply::kString) return TakeError(entry, "not found");
  core::MemoryBudget memory;
  const auto payload = rdb::OpenDumpPayload(reply.text);
  if (!payload) return TakeError(entry, payload.error().message);
  const auto value = rdb::ReadFilter(*payload, memory, core::SystemClock());
  if (!value) return TakeError(entry, value.error().message);
  entry.digest = DigestOfFilter(*value->filter);
  entry.step = Step::kDone;
}

void ServerContent::TakeError(Entry& entry, const std::string& error) {
  entry.digest.is_missing = error.find("not found") != std::string::npos;
  if (!entry.digest.is_missing) entry.digest.problem = error;
  End(entry);
}

void ServerContent::TakeBytes(Entry& entry, std::string_view bytes) {
  entry.checksum.Add(bytes);
  entry.digest.bytes += bytes.size();
}

void ServerContent::End(Entry& entry) {
  entry.digest.checksum = entry.checksum.Value();
  entry.step = Step::kDone;
}

}  // namespace bitsieve::cli
