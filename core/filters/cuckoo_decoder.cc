#include "core/filters/cuckoo_decoder.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/filters/cuckoo_filter.h"
#include "core/filters/cuckoo_header.h"

namespace bitsieve::core {

namespace {

tl::unexpected<Error> Corrupt(const char* what) {
  return Fail(ErrorCode::kCorrupt, std::string("filter body: ") + what);
}

bool SpareBitsAreClear(const CuckooTable& table) {
  const BitMemory& memory = table.memory();
  for (uint64_t bit = table.shape().Slots() * table.shape().fingerprint_bits; bit < memory.size_bytes() * 8; ++bit) {
    if ((std::to_integer<unsigned>(memory.data()[bit / 8]) >> (bit % 8) & 1) != 0) return false;
  }
  return true;
}

// Fills the tables of a chain, oldest first. Any fingerprint may lie in any bucket: its partner is always one.
class CuckooDecoder final : public FilterDecoder {
 public:
  CuckooDecoder(CuckooHeader header, std::vector<std::unique_ptr<CuckooTable>> tables, MemoryBudget& budget)
      : header_(std::move(header)), tables_(std::move(tables)), budget_(budget) {
    for (const auto& table : tables_) body_bytes_ += table->memory().size_bytes();
  }

  uint64_t body_bytes() const override { return body_bytes_; }

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (current_ == tables_.size()) return Corrupt("it is longer than the header says");
      const BitMemory& memory = tables_[current_]->memory();
      const size_t count = std::min<uint64_t>(bytes.size(), memory.size_bytes() - filled_);
      std::memcpy(memory.data() + filled_, bytes.data(), count);
      bytes = bytes.subspan(count);
      filled_ += count;
      if (filled_ < memory.size_bytes()) continue;
      if (Status status = FinishTable(); !status) return status;
    }
    return {};
  }

  Result<std::unique_ptr<Filter>> Finish() override {
    if (current_ != tables_.size()) return Corrupt("it is shorter than the header says");
    return CuckooFilter::FromTables(header_.params, std::move(tables_), budget_);
  }

 private:
  Status FinishTable() {
    CuckooTable& table = *tables_[current_];
    if (!SpareBitsAreClear(table)) return Corrupt("bits behind the last slot of a table are set");
    table.Recount();
    if (table.items() != header_.tables[current_].items) return Corrupt("a table holds other than the header says");
    ++current_;
    filled_ = 0;
    return {};
  }

  const CuckooHeader header_;
  std::vector<std::unique_ptr<CuckooTable>> tables_;
  MemoryBudget& budget_;
  uint64_t body_bytes_ = 0;
  size_t current_ = 0;   // the table being filled
  uint64_t filled_ = 0;  // bytes of it that are there
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
