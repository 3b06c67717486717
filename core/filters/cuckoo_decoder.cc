#include "core/filters/cuckoo_decoder.h"

#include <utility>
#include <vector>

#include "core/filters/cuckoo_filter.h"
#include "core/filters/cuckoo_header.h"
#include "core/filters/parts_decoder.h"

namespace bitsieve::core {

namespace {

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
      return Corrupt("bits behind the last slot of a table are set");
    }
    table.Recount();
    if (table.items() != header_.tables[part].items) return Corrupt("a table holds other than the header says");
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

}  // namespace bitsieve::core
