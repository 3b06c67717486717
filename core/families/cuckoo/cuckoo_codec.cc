#include "core/families/cuckoo/cuckoo_codec.h"

#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/families/cuckoo/cuckoo_filter.h"
#include "core/families/cuckoo/cuckoo_sizing.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/image_header.h"
#include "core/filter/mapped_body.h"
#include "core/filter/parts_decoder.h"

namespace bitsieve::core {

namespace {

CuckooRecord GetTable(ByteReader& in, uint32_t bucket_size) {
  CuckooRecord table{};
  table.shape.capacity = in.Get<uint64_t>();
  table.shape.error_rate = in.GetDouble();
  table.shape.buckets = in.Get<uint64_t>();
  table.shape.bucket_size = bucket_size;
  table.shape.fingerprint_bits = in.GetClamped();
  table.items = in.Get<uint64_t>();
  return table;
}

// Checks one table by itself, without regard to the others.
Status CheckTable(const CuckooRecord& table, const std::string& which) {
  const CuckooShape& shape = table.shape;
  if (shape.buckets == 0 || shape.buckets > kMaxCuckooSlots / shape.bucket_size) {
    return CorruptHeader("the number of buckets of " + which + " is out of range");
  }
  if (shape.fingerprint_bits < 1 || shape.fingerprint_bits > kMaxFingerprintBits) {
    return CorruptHeader("the fingerprints of " + which + " are not of 1 to 32 bits");
  }
  if (!(shape.error_rate > 0 && shape.error_rate < 1))
    return CorruptHeader("the error rate of " + which + " is impossible");
  if (shape.capacity == 0 || shape.capacity > shape.Slots()) {
    return CorruptHeader("the capacity of " + which + " is out of range");
  }
  return {};
}

Status CheckNesting(const CuckooShape& older, const CuckooShape& newer, const std::string& which) {
  if (newer.buckets % older.buckets != 0)
    return CorruptHeader("the buckets of " + which + " are not a multiple of the older ones");
  if (newer.fingerprint_bits < older.fingerprint_bits) {
    return CorruptHeader("the fingerprints of " + which + " are narrower than the older ones");
  }
  return {};
}

// Fills the tables of a chain, oldest first. Any fingerprint may lie in any bucket: its partner is always one.
class CuckooDecoder final : public PartsDecoder {
 public:
  CuckooDecoder(CuckooHeader header, std::vector<std::unique_ptr<CuckooTable>> tables, MemoryBudget& budget)
      : header_(std::move(header)), tables_(std::move(tables)), budget_(budget) {
    for (const auto& table : tables_) AddPart(table->memory().bytes());
  }

 private:
  Status FinishPart(size_t part, uint64_t) override {
    CuckooTable& table = *tables_[part];
    const CuckooShape& shape = table.shape();
    if (!IsClearFrom(table.memory().bytes(), shape.Slots() * shape.fingerprint_bits)) {
      return CorruptBody("bits after the last slot of a table are set");
    }
    table.Recount();
    if (table.items() != header_.tables[part].items)
      return CorruptBody("the number of items in a table differs from the header");
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return CuckooFilter::FromTables(header_.params, std::move(tables_), budget_);
  }

  const CuckooHeader header_;
  std::vector<std::unique_ptr<CuckooTable>> tables_;
  MemoryBudget& budget_;
};

}  // namespace

void PutCuckooTables(ByteWriter& out, std::span<const CuckooRecord> tables) {
  out.Put(static_cast<uint32_t>(tables.size()));
  for (const CuckooRecord& table : tables) {
    out.Put(table.shape.capacity);
    out.Put(table.shape.error_rate);
    out.Put(table.shape.buckets);
    out.Put(uint64_t{table.shape.fingerprint_bits});
    out.Put(table.items);
  }
}

Result<std::vector<CuckooRecord>> GetCuckooTables(ByteReader& in, uint32_t bucket_size) {
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > kMaxCuckooTables) return CorruptHeader("the number of tables is out of range");
  std::vector<CuckooRecord> tables;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string which = "table " + std::to_string(i);
    const CuckooRecord table = GetTable(in, bucket_size);
    if (!in.ok()) return CorruptHeader("it ends within " + which);
    if (Status status = CheckTable(table, which); !status) return tl::unexpected(status.error());
    if (i > 0) {
      const Status nested = CheckNesting(tables.back().shape, table.shape, which);
      if (!nested) return tl::unexpected(nested.error());
    }
    tables.push_back(table);
  }
  if (!in.AtEnd()) return CorruptHeader("bytes follow the last table");
  return tables;
}

ImageSummary CuckooHeader::Summary() const { return SummaryOfParts(tables); }

std::string EncodeCuckooHeader(const CuckooHeader& header) {
  std::string bytes;
  BeginHeader(bytes, kCuckooType);
  ByteWriter out(bytes);
  PutParams(out, header.params);
  PutCuckooTables(out, header.tables);
  SealHeader(bytes);
  return bytes;
}

Result<CuckooHeader> DecodeCuckooHeader(std::string_view fields) {
  ByteReader in(fields);
  CuckooHeader header{GetParams(in, kCuckooType), {}};
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(header.params); !status) return CorruptHeader(status.error().message);
  Result<std::vector<CuckooRecord>> tables = GetCuckooTables(in, BucketSizeOf(header.params));
  if (!tables) return tl::unexpected(std::move(tables).error());
  for (size_t i = 0; i < tables->size(); ++i) {
    const CuckooRecord& table = (*tables)[i];
    if (table.items > table.shape.capacity) {
      return CorruptHeader("table " + std::to_string(i) + " holds more items than it can");
    }
  }
  header.tables = std::move(*tables);
  return header;
}

Result<std::unique_ptr<FilterDecoder>> OpenCuckoo(std::string_view fields, MemoryBudget& budget) {
  Result<CuckooHeader> header = DecodeCuckooHeader(fields);
  if (!header) return tl::unexpected(std::move(header).error());
  std::vector<std::unique_ptr<CuckooTable>> tables;
  for (const CuckooRecord& record : header->tables) {
    const CuckooTable* const older = tables.empty() ? nullptr : tables.back().get();
    Result<std::unique_ptr<CuckooTable>> table = CuckooTable::Make(record.shape, older, budget);
    if (!table) return tl::unexpected(std::move(table).error());
    tables.push_back(std::move(*table));
  }
  return std::make_unique<CuckooDecoder>(std::move(*header), std::move(tables), budget);
}

Result<std::unique_ptr<Filter>> MapCuckoo(std::string_view fields, std::span<const std::byte> body,
                                          MemoryBudget& budget) {
  const Result<CuckooHeader> header = DecodeCuckooHeader(fields);
  if (!header) return tl::unexpected(header.error());
  MappedBody rest(body);
  std::vector<std::unique_ptr<CuckooTable>> tables;
  for (const CuckooRecord& record : header->tables) {
    Result<BitMemory> memory = rest.Take(record.shape.SizeBytes());
    if (!memory) return tl::unexpected(std::move(memory).error());
    const CuckooTable* const older = tables.empty() ? nullptr : tables.back().get();
    tables.push_back(CuckooTable::Of(record.shape, older, std::move(*memory), record.items));
  }
  if (Status status = rest.CheckAtEnd(); !status) return tl::unexpected(std::move(status).error());
  return CuckooFilter::FromTables(header->params, std::move(tables), budget);
}

}  // namespace bitsieve::core
