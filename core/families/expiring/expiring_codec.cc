#include "core/families/expiring/expiring_codec.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/families/expiring/expiring_filter.h"
#include "core/families/expiring/expiring_table.h"
#include "core/families/expiring/expiring_type.h"
#include "core/filter/image_header.h"
#include "core/filter/parts_decoder.h"

namespace bitsieve::core {

namespace {

Status CheckItems(const ExpiringHeader& header) {
  const Epochs epochs = EpochsOf(header.params);
  for (size_t i = 0; i < header.tables.size(); ++i) {
    const CuckooRecord& table = header.tables[i];
    if (table.items > epochs.SlotsFor(table.shape.capacity)) {
      return CorruptHeader("table " + std::to_string(i) + " holds more items than it can");
    }
  }
  return {};
}

// Fills the tables of a chain, oldest first.
class ExpiringDecoder final : public PartsDecoder {
 public:
  ExpiringDecoder(ExpiringHeader header, std::vector<std::unique_ptr<ExpiringTable>> tables, MemoryBudget& budget,
                  const Clock& clock)
      : header_(std::move(header)), tables_(std::move(tables)), budget_(budget), clock_(clock) {
    for (const auto& table : tables_) AddPart(table->memory().bytes());
  }

 private:
  Status FinishPart(size_t part, uint64_t) override {
    ExpiringTable& table = *tables_[part];
    if (!IsClearBetween(table)) return CorruptBody("bits after the last slot of a table, or its last tag, are set");
    if (Status status = table.Restore(EpochsOf(header_.params).At(header_.newest_ms)); !status) return status;
    if (table.live() != header_.tables[part].items) {
      return CorruptBody("the number of live items in a table differs from the header");
    }
    return {};
  }

  // Returns whether all bits are clear but those of slots and of tags.
  bool IsClearBetween(const ExpiringTable& table) const {
    const Epochs epochs = EpochsOf(header_.params);
    const CuckooShape& shape = table.shape();
    const std::span<const std::byte> bytes = table.memory().bytes();
    const uint64_t tags = ExpiringTable::TagsOffset(shape, epochs);
    const uint64_t tags_end = tags + ExpiringTable::Segments(shape) * sizeof(uint64_t);
    return IsClearFrom(bytes.first(tags), shape.Slots() * (shape.fingerprint_bits + epochs.number_bits())) &&
           IsClearFrom(bytes, tags_end * 8);
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return ExpiringFilter::FromTables(header_.params, header_.newest_ms, std::move(tables_), budget_, clock_);
  }

  const ExpiringHeader header_;
  std::vector<std::unique_ptr<ExpiringTable>> tables_;
  MemoryBudget& budget_;
  const Clock& clock_;
};

}  // namespace

std::string EncodeExpiringHeader(const ExpiringHeader& header) {
  std::string bytes;
  BeginHeader(bytes, kExpiringType);
  ByteWriter out(bytes);
  PutParams(out, header.params);
  out.Put(header.newest_ms);
  PutCuckooTables(out, header.tables);
  SealHeader(bytes);
  return bytes;
}

Result<ExpiringHeader> DecodeExpiringHeader(std::string_view fields) {
  ByteReader in(fields);
  ExpiringHeader header{GetParams(in, kExpiringType), in.Get<uint64_t>(), {}};
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(header.params); !status) return CorruptHeader(status.error().message);
  if (header.newest_ms > Epochs::kMaxMs) return CorruptHeader("the time of the latest change is impossible");
  Result<std::vector<CuckooRecord>> tables = GetCuckooTables(in, ExpiringTable::kBucketSize);
  if (!tables) return tl::unexpected(std::move(tables).error());
  header.tables = std::move(*tables);
  if (Status status = CheckItems(header); !status) return tl::unexpected(std::move(status).error());
  return header;
}

Result<std::unique_ptr<FilterDecoder>> OpenExpiring(std::string_view fields, MemoryBudget& budget, const Clock& clock) {
  Result<ExpiringHeader> header = DecodeExpiringHeader(fields);
  if (!header) return tl::unexpected(std::move(header).error());
  std::vector<std::unique_ptr<ExpiringTable>> tables;
  for (const CuckooRecord& record : header->tables) {
    const ExpiringTable* const older = tables.empty() ? nullptr : tables.back().get();
    auto table = ExpiringTable::Make(record.shape, EpochsOf(header->params), older, budget);
    if (!table) return tl::unexpected(std::move(table).error());
    tables.push_back(std::move(*table));
  }
  return std::make_unique<ExpiringDecoder>(std::move(*header), std::move(tables), budget, clock);
}

}  // namespace bitsieve::core
