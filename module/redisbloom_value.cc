#include "module/redisbloom_value.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redis_cuckoo_codec.h"

namespace bitsieve::module {
namespace {

using core::Result;

constexpr uint64_t kOldGrowth = 2;  // of before there was a field for it

tl::unexpected<core::Error> Corrupt(const char* what) {
  return core::Fail(core::ErrorCode::kCorrupt, std::string("RedisBloom's value: ") + what);
}
constexpr const char* kTooShort = "it ends too early";
constexpr const char* kOutOfRange = "a number is out of range";

Result<FilterPtr> Finish(core::FilterDecoder& decoder) {
  auto filter = decoder.Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  return FilterPtr(std::move(*filter));
}

// Into their place, and their own memory is given back on the way: a large filter is never resident twice.
core::Status MoveInto(core::FilterDecoder& decoder, const LoadedBytes& bytes) {
  constexpr size_t kStep = 1 << 20;
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.memory.get());
  uintptr_t kept = (begin + kPage - 1) / kPage * kPage;
  for (size_t done = 0; done < bytes.size;) {
    const std::string_view step = bytes.view().substr(done, kStep);
    if (core::Status status = decoder.Append(core::AsBytes(step)); !status) return status;
    done += step.size();
    const uintptr_t moved = (begin + done) / kPage * kPage;
    if (moved > kept) madvise(reinterpret_cast<void*>(kept), moved - kept, MADV_DONTNEED);
    kept = std::max(kept, moved);
  }
  return {};
}

// What precedes the sub-filters.
struct BloomFields {
  uint64_t sub_filters, options, growth;
  bool old;  // a header as of before version 2.2 has the same fields
};

struct BloomSubFilter {
  uint64_t entries, hashes, bits, n2, items;
  double error_rate, bits_per_entry;
  LoadedBytes bytes;
};

Result<BloomFields> LoadBloomFields(engine::Io* io, int version) {
  engine::LoadUnsigned(io);  // items: as many as the sub-filters have
  BloomFields fields{};
  fields.sub_filters = engine::LoadUnsigned(io);
  fields.options = version >= 2 ? engine::LoadUnsigned(io) : 0;
  fields.growth = version >= 4 ? engine::LoadUnsigned(io) : kOldGrowth;
  fields.old = version < 4;
  if (engine::IsIOError(io)) return Corrupt(kTooShort);
  const bool possible = fields.sub_filters != 0 && fields.sub_filters <= core::kMaxSubFilters &&
                        fields.options <= UINT32_MAX && fields.growth <= UINT32_MAX;
  if (!possible) return Corrupt(kOutOfRange);
  return fields;
}

Result<BloomSubFilter> LoadBloomSubFilter(engine::Io* io, int version) {
  BloomSubFilter sub_filter{};
  sub_filter.entries = engine::LoadUnsigned(io);
  sub_filter.error_rate = engine::LoadDouble(io);
  sub_filter.hashes = engine::LoadUnsigned(io);
  sub_filter.bits_per_entry = engine::LoadDouble(io);
  sub_filter.bits = engine::LoadUnsigned(io);
  sub_filter.n2 = version >= 1 ? engine::LoadUnsigned(io) : 0;
  sub_filter.bytes = LoadBytes(io);
  sub_filter.items = engine::LoadUnsigned(io);
  if (engine::IsIOError(io)) return Corrupt(kTooShort);
  const uint64_t most_entries = version < 4 ? UINT32_MAX : UINT64_MAX;
  if (sub_filter.hashes > UINT32_MAX || sub_filter.n2 > UINT8_MAX || sub_filter.entries > most_entries) {
    return Corrupt(kOutOfRange);
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
    out.Put(static_cast<uint64_t>(each.bytes.size));
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

Result<core::RedisCuckooHeader> LoadCuckooHeader(engine::Io* io) {
  core::RedisCuckooHeader stated;
  stated.filters = engine::LoadUnsigned(io);
  stated.buckets = engine::LoadUnsigned(io);
  engine::LoadUnsigned(io);  // items: as many as there are fingerprints
  stated.deletes = engine::LoadUnsigned(io);
  const uint64_t bucket_size = engine::LoadUnsigned(io);
  const uint64_t max_iterations = engine::LoadUnsigned(io);
  const uint64_t expansion = engine::LoadUnsigned(io);
  if (engine::IsIOError(io)) return Corrupt(kTooShort);
  if (bucket_size > UINT16_MAX || max_iterations > UINT16_MAX || expansion > UINT16_MAX) return Corrupt(kOutOfRange);
  stated.bucket_size = static_cast<uint16_t>(bucket_size);
  stated.max_iterations = static_cast<uint16_t>(max_iterations);
  stated.expansion = static_cast<uint16_t>(expansion);
  return core::DecodeRedisCuckooHeader(core::EncodeRedisCuckooHeader(stated));
}

// The buckets and the fingerprints of a sub-filter of so many bytes.
Result<LoadedBytes> LoadCuckooTable(engine::Io* io, const core::RedisCuckooHeader& header, uint64_t bytes) {
  const uint64_t buckets = engine::LoadUnsigned(io);
  LoadedBytes table = LoadBytes(io);
  if (engine::IsIOError(io)) return Corrupt(kTooShort);
  if (buckets != bytes / header.bucket_size || table.size != bytes) {
    return Corrupt("a sub-filter has another size than its header says");
  }
  return table;
}

}  // namespace

LoadedBytes LoadBytes(engine::Io* io) {
  LoadedBytes bytes{.memory = {nullptr, engine::Free}};
  bytes.memory.reset(engine::LoadStringBuffer(io, &bytes.size));
  if (bytes.memory == nullptr) bytes.size = 0;
  return bytes;
}

// What describes a sub-filter follows the bits of the one before, so all of it is read before the first is made; each
// is then freed as soon as it is in its place.
Result<FilterPtr> LoadRedisBloom(engine::Io* io, int version) {
  const Result<BloomFields> fields = LoadBloomFields(io, version);
  if (!fields) return tl::unexpected(fields.error());
  std::vector<BloomSubFilter> sub_filters;
  for (uint64_t i = 0; i < fields->sub_filters; ++i) {
    Result<BloomSubFilter> sub_filter = LoadBloomSubFilter(io, version);
    if (!sub_filter) return tl::unexpected(sub_filter.error());
    sub_filters.push_back(std::move(*sub_filter));
  }
  const auto decoder = core::OpenRedisBloom(HeaderOf(*fields, sub_filters), core::ItemCounts::kDrifted, Budget());
  if (!decoder) return tl::unexpected(decoder.error());
  for (BloomSubFilter& each : sub_filters) {
    const LoadedBytes bytes = std::move(each.bytes);
    if (core::Status status = MoveInto(**decoder, bytes); !status) return tl::unexpected(std::move(status).error());
  }
  return Finish(**decoder);
}

Result<FilterPtr> LoadRedisCuckoo(engine::Io* io, int version) {
  if (version < 4) {
    return core::Fail(core::ErrorCode::kUnsupported,
                      "RedisBloom's value: a cuckoo filter of before 2.2, which hashed items otherwise");
  }
  const Result<core::RedisCuckooHeader> header = LoadCuckooHeader(io);
  if (!header) return tl::unexpected(header.error());
  const auto decoder = core::OpenRedisCuckooDump(*header, Budget());
  if (!decoder) return tl::unexpected(decoder.error());
  for (uint64_t i = 0; i < header->filters; ++i) {
    const Result<LoadedBytes> table = LoadCuckooTable(io, *header, header->TableBytes(i));
    if (!table) return tl::unexpected(table.error());
    if (core::Status status = MoveInto(**decoder, *table); !status) return tl::unexpected(std::move(status).error());
  }
  return Finish(**decoder);
}

}  // namespace bitsieve::module
