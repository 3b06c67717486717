#include "protocol/rdb/module_value.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redis_cuckoo_codec.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_type.h"
#include "core/filter/image_header.h"
#include "protocol/rdb/valkey_value.h"

namespace bitsieve::rdb {
namespace {

constexpr std::string_view kValueSource = "filter value";  // of errors
constexpr const char* kTooShort = "it ends too early";
constexpr const char* kOutOfRange = "a number is out of range";

core::Result<core::FilterPtr> Finish(core::FilterDecoder& decoder) {
  auto filter = decoder.Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  return core::FilterPtr(std::move(*filter));
}

// Into their place, and memory of their own is given back on the way: a large filter is never resident twice.
core::Status MoveInto(core::FilterDecoder& decoder, const ValueBytes& from) {
  constexpr size_t kStep = 1 << 20;
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(from.bytes.data());
  uintptr_t kept = (begin + kPage - 1) / kPage * kPage;
  for (size_t done = 0; done < from.bytes.size();) {
    const std::string_view step = from.bytes.substr(done, kStep);
    if (core::Status status = decoder.Append(core::AsBytes(step)); !status) return status;
    done += step.size();
    const uintptr_t moved = (begin + done) / kPage * kPage;
    if (from.memory != nullptr && moved > kept) {
      madvise(reinterpret_cast<void*>(kept), moved - kept, MADV_DONTNEED);
    }
    kept = std::max(kept, moved);
  }
  return {};
}

// ---- RedisBloom's Bloom filters

// The fields that precede the sub-filters.
struct BloomFields {
  uint64_t sub_filters, options, growth;
  bool old;  // a header as of before version 2.2 has the same fields
};

struct BloomSubFilter {
  uint64_t entries, hashes, bits, n2, items;
  double error_rate, bits_per_entry;
  ValueBytes bits_bytes;
};

core::Result<BloomFields> ReadBloomFields(ValueReader& in, int version) {
  in.Unsigned();  // items: as many as the sub-filters have
  BloomFields fields{};
  fields.sub_filters = in.Unsigned();
  fields.options = version >= 2 ? in.Unsigned() : 0;
  fields.growth = version >= 4 ? in.Unsigned() : core::kOldRedisGrowth;
  fields.old = version < 4;
  if (in.failed()) return core::Corrupt(kValueSource, kTooShort);
  const bool possible = fields.sub_filters != 0 && fields.sub_filters <= core::kMaxSubFilters &&
                        fields.options <= UINT32_MAX && fields.growth <= UINT32_MAX;
  if (!possible) return core::Corrupt(kValueSource, kOutOfRange);
  return fields;
}

core::Result<BloomSubFilter> ReadBloomSubFilter(ValueReader& in, int version) {
  BloomSubFilter sub_filter{};
  sub_filter.entries = in.Unsigned();
  sub_filter.error_rate = in.Double();
  sub_filter.hashes = in.Unsigned();
  sub_filter.bits_per_entry = in.Double();
  sub_filter.bits = in.Unsigned();
  sub_filter.n2 = version >= 1 ? in.Unsigned() : 0;
  sub_filter.bits_bytes = in.Bytes();
  sub_filter.items = in.Unsigned();
  if (in.failed()) return core::Corrupt(kValueSource, kTooShort);
  const uint64_t most_entries = version < 4 ? UINT32_MAX : UINT64_MAX;
  if (sub_filter.hashes > UINT32_MAX || sub_filter.n2 > UINT8_MAX || sub_filter.entries > most_entries) {
    return core::Corrupt(kValueSource, kOutOfRange);
  }
  return sub_filter;
}

// The header of BF.SCANDUMP has the same numbers in another order; it is what the core reads.
std::string HeaderOf(const BloomFields& fields, const std::vector<BloomSubFilter>& sub_filters) {
  std::string header;
  core::ByteWriter out(header);
  out.Put(uint64_t{0});
  out.Put(static_cast<uint32_t>(fields.sub_filters));
  out.Put(static_cast<uint32_t>(fields.options));
  if (!fields.old) out.Put(static_cast<uint32_t>(fields.growth));
  for (const BloomSubFilter& each : sub_filters) {
    out.Put(static_cast<uint64_t>(each.bits_bytes.bytes.size()));
    out.Put(each.bits);
    out.Put(each.items);
    out.Put(each.error_rate);
    out.Put(each.bits_per_entry);
    out.Put(static_cast<uint32_t>(each.hashes));
    fields.old ? out.Put(static_cast<uint32_t>(each.entries)) : out.Put(each.entries);
    out.Put(static_cast<uint8_t>(each.n2));
  }
  return header;
}

// The description of a sub-filter follows the bits of the one before, so all of the value is read before the first
// sub-filter is made; the bits of each are then freed as soon as they are in their place.
core::Result<core::FilterPtr> ReadBloom(ValueReader& in, int version, core::MemoryBudget& budget) {
  const core::Result<BloomFields> fields = ReadBloomFields(in, version);
  if (!fields) return tl::unexpected(fields.error());
  std::vector<BloomSubFilter> sub_filters;
  for (uint64_t i = 0; i < fields->sub_filters; ++i) {
    core::Result<BloomSubFilter> sub_filter = ReadBloomSubFilter(in, version);
    if (!sub_filter) return tl::unexpected(sub_filter.error());
    sub_filters.push_back(std::move(*sub_filter));
  }
  const auto decoder = core::OpenRedisBloom(HeaderOf(*fields, sub_filters), core::ItemCounts::kDrifted, budget);
  if (!decoder) return tl::unexpected(decoder.error());
  for (BloomSubFilter& each : sub_filters) {
    const ValueBytes bits = std::move(each.bits_bytes);
    if (core::Status status = MoveInto(**decoder, bits); !status) return tl::unexpected(std::move(status).error());
  }
  return Finish(**decoder);
}

// ---- RedisBloom's cuckoo filters

core::Result<core::RedisCuckooHeader> ReadCuckooHeader(ValueReader& in) {
  core::RedisCuckooHeader stated;
  stated.filters = in.Unsigned();
  stated.buckets = in.Unsigned();
  in.Unsigned();  // items: as many as there are fingerprints
  stated.deletes = in.Unsigned();
  const uint64_t bucket_size = in.Unsigned();
  const uint64_t max_iterations = in.Unsigned();
  const uint64_t expansion = in.Unsigned();
  if (in.failed()) return core::Corrupt(kValueSource, kTooShort);
  if (bucket_size > UINT16_MAX || max_iterations > UINT16_MAX || expansion > UINT16_MAX) {
    return core::Corrupt(kValueSource, kOutOfRange);
  }
  stated.bucket_size = static_cast<uint16_t>(bucket_size);
  stated.max_iterations = static_cast<uint16_t>(max_iterations);
  stated.expansion = static_cast<uint16_t>(expansion);
  return core::DecodeRedisCuckooHeader(core::EncodeRedisCuckooHeader(stated));
}

// Reads the fingerprints of a sub-filter of `bytes` bytes; their number of buckets precedes them.
core::Result<ValueBytes> ReadCuckooTable(ValueReader& in, const core::RedisCuckooHeader& header, uint64_t bytes) {
  const uint64_t buckets = in.Unsigned();
  ValueBytes table = in.Bytes();
  if (in.failed()) return core::Corrupt(kValueSource, kTooShort);
  if (buckets != bytes / header.bucket_size || table.bytes.size() != bytes) {
    return core::Corrupt(kValueSource, "the size of a sub-filter differs from its header");
  }
  return table;
}

// The header may claim any size: memory for the filter is taken when all fingerprints are known to be there.
core::Result<core::FilterPtr> ReadCuckoo(ValueReader& in, int version, core::MemoryBudget& budget) {
  if (version < 4) {
    return core::Fail(
        core::ErrorCode::kUnsupported,
        "filter value: a cuckoo filter of a version before RedisBloom 2.2, which hashed items differently");
  }
  const core::Result<core::RedisCuckooHeader> header = ReadCuckooHeader(in);
  if (!header) return tl::unexpected(header.error());
  std::vector<ValueBytes> tables;
  for (uint64_t i = 0; i < header->filters; ++i) {
    core::Result<ValueBytes> table = ReadCuckooTable(in, *header, header->TableBytes(i));
    if (!table) return tl::unexpected(table.error());
    tables.push_back(std::move(*table));
  }
  const auto decoder = core::OpenRedisCuckooDump(*header, budget);
  if (!decoder) return tl::unexpected(decoder.error());
  for (ValueBytes& each : tables) {
    const ValueBytes table = std::move(each);
    if (core::Status status = MoveInto(**decoder, table); !status) return tl::unexpected(std::move(status).error());
  }
  return Finish(**decoder);
}

// ---- values of bitsieve.so

// The next piece of a dump, of which `left` bytes are to come.
core::Result<ValueBytes> ReadPiece(ValueReader& in, uint64_t left) {
  ValueBytes piece = in.Bytes();
  if (in.failed() || piece.bytes.empty()) return core::Corrupt(kValueSource, kTooShort);
  if (piece.bytes.size() > left) return core::Corrupt(kValueSource, "it is longer than its stated length");
  return piece;
}

core::Result<core::FilterPtr> ReadDump(ValueReader& in, uint64_t total, core::MemoryBudget& budget,
                                       const core::Clock& clock) {
  core::Result<ValueBytes> piece = ReadPiece(in, total);
  if (!piece) return tl::unexpected(piece.error());
  const auto dump = core::OpenFilterDump(piece->bytes, budget, clock);
  if (!dump) return tl::unexpected(dump.error());
  if (dump->head_bytes + dump->decoder->body_bytes() != total) {
    return core::Corrupt(kValueSource, "its length does not match its filter");
  }
  std::string_view bytes = piece->bytes.substr(dump->head_bytes);
  for (uint64_t left = total;;) {
    if (core::Status status = dump->decoder->Append(core::AsBytes(bytes)); !status) {
      return tl::unexpected(std::move(status).error());
    }
    left -= piece->bytes.size();
    if (left == 0) return Finish(*dump->decoder);
    piece = ReadPiece(in, left);
    if (!piece) return tl::unexpected(piece.error());
    bytes = piece->bytes;
  }
}

core::Result<ModuleValue> ReadOwn(ValueReader& in, core::MemoryBudget& budget, const core::Clock& clock) {
  const uint64_t format = in.Unsigned();
  const uint64_t marks = in.Unsigned();
  const uint64_t total = in.Unsigned();
  if (in.failed()) return core::Corrupt(kValueSource, kTooShort);
  if (format != kOwnValueFormat) {
    return core::Fail(core::ErrorCode::kUnsupported,
                      "filter value: its format " + std::to_string(format) + " is unknown");
  }
  core::Result<core::FilterPtr> filter = ReadDump(in, total, budget, clock);
  if (!filter) return tl::unexpected(std::move(filter).error());
  return ModuleValue{.filter = std::move(*filter), .was_freezing = (marks & kFreezingMark) != 0};
}

core::Result<core::FilterPtr> ReadOthers(ValueReader& in, std::string_view name, int version,
                                         core::MemoryBudget& budget) {
  if (name == core::kValkeyBloomValueName) return ReadValkeyBloom(in, version, budget);
  return name == core::kCuckooValueName ? ReadCuckoo(in, version, budget) : ReadBloom(in, version, budget);
}

core::Result<ModuleValue> ReadAny(ValueReader& in, std::string_view name, int version, core::MemoryBudget& budget,
                                  const core::Clock& clock) {
  if (version == kOwnValueVersion) return ReadOwn(in, budget, clock);
  if (version > kNewestRedisBloomVersion) {
    return core::Fail(core::ErrorCode::kUnsupported,
                      "filter value: its encoding " + std::to_string(version) + " is unknown");
  }
  core::Result<core::FilterPtr> filter = ReadOthers(in, name, version, budget);
  if (!filter) return tl::unexpected(std::move(filter).error());
  return ModuleValue{.filter = std::move(*filter)};
}

}  // namespace

bool IsFilterName(std::string_view name) {
  return name == core::kBloomValueName || name == core::kCuckooValueName || name == core::kValkeyBloomValueName;
}

core::Result<ModuleValue> ReadModuleValue(ValueReader& fields, std::string_view name, int version,
                                          core::MemoryBudget& budget, const core::Clock& clock) {
  core::Result<ModuleValue> value = ReadAny(fields, name, version, budget, clock);
  if (value && value->filter->type().value_name != name) {
    return core::Corrupt(kValueSource, "a filter of another data type");
  }
  return value;
}

}  // namespace bitsieve::rdb
