#include "core/families/redisbloom/redis_cuckoo_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/image_header.h"
#include "core/filter/parts_decoder.h"
#include "core/memory/count_bits.h"

namespace bitsieve::core {

namespace {

constexpr size_t kBytesOf20 = 32;  // RedisBloom 2.0
constexpr size_t kBytesOf22 = 46;  // RedisBloom 2.2, with eight bytes of an address at the end
constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 50;

constexpr std::string_view kCuckooHeaderSource = "cuckoo filter header";  // of errors

// If slots and shifts are so large that their product may not fit, a value larger than any memory.
uint64_t Shifted(uint64_t bytes, uint64_t shift) {
  const auto room = static_cast<uint64_t>(std::countl_zero(bytes));
  return shift >= room ? UINT64_MAX : bytes << shift;
}

Status CheckShape(const RedisCuckooHeader& header) {
  if (header.bucket_size < 1 || header.bucket_size > kMaxRedisCuckooBucketSize)
    return Corrupt(kCuckooHeaderSource, "its bucket size is out of range");
  if (header.max_iterations < 1) return Corrupt(kCuckooHeaderSource, "its iterations are out of range");
  if (header.expansion > kMaxExpansion || (header.expansion != 0 && !std::has_single_bit(header.expansion))) {
    return Corrupt(kCuckooHeaderSource, "its expansion is neither 0 nor a power of two");
  }
  if (header.filters < 1 || header.filters > kMaxRedisCuckooFilters) {
    return Corrupt(kCuckooHeaderSource, "its number of sub-filters is out of range");
  }
  if (header.expansion == 0 && header.filters != 1)
    return Corrupt(kCuckooHeaderSource, "it has several sub-filters, but its expansion is 0");
  if (!std::has_single_bit(header.buckets) || header.buckets > kMaxBodyBytes) {
    return Corrupt(kCuckooHeaderSource, "its number of buckets is not a power of two, or is too large");
  }
  return {};
}

// Sub-filter by sub-filter: what is within the limit so far cannot overflow with the next one.
Status CheckSize(const RedisCuckooHeader& header) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < header.filters; ++i) {
    const uint64_t more = header.TableBytes(i);
    if (more > kMaxBodyBytes || bytes + more > kMaxBodyBytes) return Corrupt(kCuckooHeaderSource, "it is too large");
    bytes += more;
  }
  if (header.items > bytes) return Corrupt(kCuckooHeaderSource, "it holds more items than it has room for");
  return {};
}

using Tables = std::vector<std::unique_ptr<RedisCuckooTable>>;

Result<Tables> MakeTables(const RedisCuckooHeader& header, MemoryBudget& budget) {
  Tables tables;
  for (uint64_t i = 0; i < header.filters; ++i) {
    const uint64_t buckets = header.TableBytes(i) / header.bucket_size;
    auto table = RedisCuckooTable::Make(buckets, header.bucket_size, budget);
    if (!table) return tl::unexpected(std::move(table).error());
    tables.push_back(std::move(*table));
  }
  return tables;
}

// Fills the sub-filters, oldest first.
class RedisCuckooDecoder final : public PartsDecoder {
 public:
  RedisCuckooDecoder(const RedisCuckooHeader& header, Tables tables, bool exact, MemoryBudget& budget)
      : header_(header), tables_(std::move(tables)), exact_(exact), budget_(budget) {
    for (const auto& table : tables_) AddPart(table->memory().bytes().first(table->slots()));
  }

 private:
  uint64_t Count(size_t, std::span<const std::byte> bytes) const override { return CountSetFields(bytes, 8); }

  Status FinishPart(size_t part, uint64_t fingerprints) override {
    tables_[part]->Restore(fingerprints);
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    uint64_t items = 0;
    for (const auto& table : tables_) items += table->items();
    if (exact_ && items != header_.items)
      return Corrupt(kCuckooHeaderSource, "its number of fingerprints differs from the header");
    return RedisCuckoo::FromTables(header_, std::move(tables_), budget_);
  }

  const RedisCuckooHeader header_;
  Tables tables_;
  const bool exact_;
  MemoryBudget& budget_;
};

Result<std::unique_ptr<FilterDecoder>> Open(const RedisCuckooHeader& header, bool exact, MemoryBudget& budget) {
  Result<Tables> tables = MakeTables(header, budget);
  if (!tables) return tl::unexpected(std::move(tables).error());
  return std::make_unique<RedisCuckooDecoder>(header, std::move(*tables), exact, budget);
}

}  // namespace

uint64_t RedisCuckooHeader::TableBytes(uint64_t index) const {
  const auto doublings = expansion == 0 ? 0 : static_cast<uint64_t>(std::countr_zero(expansion));
  return Shifted(buckets * bucket_size, doublings * index);
}

uint64_t RedisCuckooHeader::BodyBytes() const {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < filters; ++i) bytes += TableBytes(i);
  return bytes;
}

RedisCuckooHeader RedisCuckooHeaderFor(const FilterParams& params) {
  const RedisCuckooParams own = RedisCuckooParamsOf(params);
  RedisCuckooHeader header;
  header.buckets = std::bit_ceil(std::max<uint64_t>(1, params.capacity / own.bucket_size));
  header.bucket_size = static_cast<uint16_t>(own.bucket_size);
  header.max_iterations = static_cast<uint16_t>(own.max_iterations);
  header.expansion = static_cast<uint16_t>(params.expansion == 0 ? 0 : std::bit_ceil(params.expansion));
  return header;
}

FilterParams RedisCuckooParamsFor(const RedisCuckooHeader& header) {
  FilterParams params;
  params.type = kRedisCuckooType;
  params.hash = HashKind::kRedisCuckoo;
  params.capacity = header.buckets * header.bucket_size;
  SetRedisCuckooParams(params, {header.bucket_size, header.max_iterations});
  params.expansion = header.expansion;
  // One of 255 fingerprints, compared with two full buckets.
  params.error_rate = 1 - std::pow(254.0 / 255.0, 2.0 * header.bucket_size);
  return params;
}

std::string EncodeRedisCuckooHeader(const RedisCuckooHeader& header) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Put(header.items);
  out.Put(header.buckets);
  out.Put(header.deletes);
  out.Put(header.filters);
  out.Put(header.bucket_size);
  out.Put(header.max_iterations);
  out.Put(header.expansion);
  return bytes;
}

bool IsRedisCuckooHeaderSize(size_t size) { return size == kRedisCuckooHeaderBytes || size == kBytesOf22; }

Result<RedisCuckooHeader> DecodeRedisCuckooHeader(std::string_view bytes) {
  if (bytes.size() == kBytesOf20) {
    return Fail(
        ErrorCode::kUnsupported,
        "cuckoo filter header: RedisBloom 2.0 wrote it, and it hashed items differently from all later versions");
  }
  if (!IsRedisCuckooHeaderSize(bytes.size())) {
    return Corrupt(kCuckooHeaderSource, "it must have 38 bytes, not " + std::to_string(bytes.size()));
  }
  ByteReader in(bytes);
  RedisCuckooHeader header;
  header.items = in.Get<uint64_t>();
  header.buckets = in.Get<uint64_t>();
  header.deletes = in.Get<uint64_t>();
  header.filters = in.Get<uint64_t>();
  header.bucket_size = in.Get<uint16_t>();
  header.max_iterations = in.Get<uint16_t>();
  header.expansion = in.Get<uint16_t>();
  if (Status status = CheckShape(header); !status) return tl::unexpected(std::move(status).error());
  if (Status status = CheckSize(header); !status) return tl::unexpected(std::move(status).error());
  return header;
}

Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckoo(std::string_view fields, MemoryBudget& budget) {
  if (fields.size() != kRedisCuckooHeaderBytes) {
    return CorruptHeader("the fields of a cuckoo filter must have 38 bytes");
  }
  const Result<RedisCuckooHeader> header = DecodeRedisCuckooHeader(fields);
  if (!header) return tl::unexpected(header.error());
  return Open(*header, true, budget);
}

Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckooDump(const RedisCuckooHeader& header, MemoryBudget& budget) {
  return Open(header, false, budget);
}

}  // namespace bitsieve::core
