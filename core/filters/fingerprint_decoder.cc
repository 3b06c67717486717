#include "core/filters/fingerprint_decoder.h"

#include <utility>
#include <vector>

#include "core/filters/fingerprint_filter.h"
#include "core/filters/fingerprint_header.h"
#include "core/filters/parts_decoder.h"

namespace bitsieve::core {

namespace {

// Fills the tables of a chain, oldest first.
class FingerprintDecoder final : public PartsDecoder {
 public:
  FingerprintDecoder(FingerprintHeader header, std::vector<std::unique_ptr<FingerprintTable>> tables,
                     MemoryBudget& budget)
      : header_(std::move(header)), tables_(std::move(tables)), budget_(budget) {
    for (const auto& table : tables_) AddPart(table->memory().bytes());
  }

 private:
  // That as many slots are taken as the header says also means that one is empty: the header was asked for that.
  Status FinishPart(size_t part, uint64_t) override {
    FingerprintTable& table = *tables_[part];
    const FingerprintShape& shape = table.shape();
    if (!IsClearFrom(table.memory().bytes(), shape.slots * shape.signature_bits)) {
      return Corrupt("bits behind the last slot of a table are set");
    }
    table.Restore(header_.tables[part].items);
    if (table.taken() != header_.tables[part].taken) return Corrupt("a table holds other than the header says");
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

}  // namespace bitsieve::core
