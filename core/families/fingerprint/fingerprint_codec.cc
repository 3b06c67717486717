#include "core/families/fingerprint/fingerprint_codec.h"

#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/families/fingerprint/fingerprint_filter.h"
#include "core/families/fingerprint/fingerprint_sizing.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/filter/image_header.h"
#include "core/filter/mapped_body.h"
#include "core/filter/parts_decoder.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxSlots = uint64_t{1} << 48;  // so that no product with their width overflows

FingerprintRecord GetTable(ByteReader& in) {
  FingerprintRecord table{};
  table.shape.capacity = in.Get<uint64_t>();
  table.shape.error_rate = in.GetDouble();
  table.shape.slots = in.Get<uint64_t>();
  table.shape.fingerprint_bits = in.GetClamped();
  table.items = in.Get<uint64_t>();
  table.taken = in.Get<uint64_t>();
  return table;
}

Status CheckTable(const FingerprintRecord& table, const std::string& which) {
  const FingerprintShape& shape = table.shape;
  if (shape.fingerprint_bits < 1 || shape.fingerprint_bits > kMaxSlotFingerprintBits) {
    return CorruptHeader("the fingerprints of " + which + " are not of 1 to 32 bits");
  }
  if (!(shape.error_rate > 0 && shape.error_rate < 1))
    return CorruptHeader("the error rate of " + which + " is impossible");
  // One slot is always empty: else a lookup might never end.
  if (shape.slots > kMaxSlots || shape.capacity == 0 || shape.capacity >= shape.slots) {
    return CorruptHeader("the capacity or the slots of " + which + " are out of range");
  }
  if (table.items > shape.capacity || table.taken > table.items)
    return CorruptHeader(which + " holds more items than it can");
  return {};
}

Result<FingerprintHeader> GetTables(ByteReader& in, FingerprintHeader header) {
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > kMaxFingerprintTables)
    return CorruptHeader("the number of tables is out of range");
  for (uint32_t i = 0; i < count; ++i) {
    const std::string which = "table " + std::to_string(i);
    const FingerprintRecord table = GetTable(in);
    if (!in.ok()) return CorruptHeader("it ends within " + which);
    if (Status status = CheckTable(table, which); !status) return tl::unexpected(status.error());
    header.tables.push_back(table);
  }
  if (!in.AtEnd()) return CorruptHeader("bytes follow the last table");
  return header;
}

// Fills the tables of a chain, oldest first.
class FingerprintDecoder final : public PartsDecoder {
 public:
  FingerprintDecoder(FingerprintHeader header, std::vector<std::unique_ptr<FingerprintTable>> tables,
                     MemoryBudget& budget)
      : header_(std::move(header)), tables_(std::move(tables)), budget_(budget) {
    for (const auto& table : tables_) AddPart(table->memory().bytes());
  }

 private:
  // If as many slots are taken as the header gives, one is empty: that was checked in the header.
  Status FinishPart(size_t part, uint64_t) override {
    FingerprintTable& table = *tables_[part];
    const FingerprintShape& shape = table.shape();
    if (!IsClearFrom(table.memory().bytes(), shape.slots * shape.fingerprint_bits)) {
      return CorruptBody("bits after the last slot of a table are set");
    }
    table.Restore(header_.tables[part].items);
    if (table.taken() != header_.tables[part].taken)
      return CorruptBody("the number of items in a table differs from the header");
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return FingerprintFilter::FromTables(header_.params, std::move(tables_), budget_);
  }

  const FingerprintHeader header_;
  std::vector<std::unique_ptr<FingerprintTable>> tables_;
  MemoryBudget& budget_;
};

}  // namespace

ImageSummary FingerprintHeader::Summary() const { return SummaryOfParts(tables); }

std::string EncodeFingerprintHeader(const FingerprintHeader& header) {
  std::string bytes;
  BeginHeader(bytes, kFingerprintType);
  ByteWriter out(bytes);
  PutParams(out, header.params);
  out.Put(static_cast<uint32_t>(header.tables.size()));
  for (const FingerprintRecord& table : header.tables) {
    out.Put(table.shape.capacity);
    out.Put(table.shape.error_rate);
    out.Put(table.shape.slots);
    out.Put(uint64_t{table.shape.fingerprint_bits});
    out.Put(table.items);
    out.Put(table.taken);
  }
  SealHeader(bytes);
  return bytes;
}

Result<FingerprintHeader> DecodeFingerprintHeader(std::string_view fields) {
  ByteReader in(fields);
  FingerprintHeader header{GetParams(in, kFingerprintType), {}};
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(header.params); !status) return CorruptHeader(status.error().message);
  return GetTables(in, std::move(header));
}

Result<std::unique_ptr<FilterDecoder>> OpenFingerprint(std::string_view fields, MemoryBudget& budget) {
  Result<FingerprintHeader> header = DecodeFingerprintHeader(fields);
  if (!header) return tl::unexpected(std::move(header).error());
  std::vector<std::unique_ptr<FingerprintTable>> tables;
  for (const FingerprintRecord& record : header->tables) {
    Result<std::unique_ptr<FingerprintTable>> table = FingerprintTable::Make(record.shape, budget);
    if (!table) return tl::unexpected(std::move(table).error());
    tables.push_back(std::move(*table));
  }
  return std::make_unique<FingerprintDecoder>(std::move(*header), std::move(tables), budget);
}

Result<std::unique_ptr<Filter>> MapFingerprint(std::string_view fields, std::span<const std::byte> body,
                                               MemoryBudget& budget) {
  const Result<FingerprintHeader> header = DecodeFingerprintHeader(fields);
  if (!header) return tl::unexpected(header.error());
  MappedBody rest(body);
  std::vector<std::unique_ptr<FingerprintTable>> tables;
  for (const FingerprintRecord& record : header->tables) {
    Result<BitMemory> memory = rest.Take(record.shape.SizeBytes());
    if (!memory) return tl::unexpected(std::move(memory).error());
    tables.push_back(FingerprintTable::Of(record.shape, std::move(*memory), record.items, record.taken));
  }
  if (Status status = rest.CheckAtEnd(); !status) return tl::unexpected(std::move(status).error());
  return FingerprintFilter::FromTables(header->params, std::move(tables), budget);
}

}  // namespace bitsieve::core
