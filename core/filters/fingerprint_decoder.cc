#include "core/filters/fingerprint_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/filters/fingerprint_filter.h"
#include "core/filters/fingerprint_header.h"

namespace bitsieve::core {

namespace {

tl::unexpected<Error> Corrupt(const char* what) {
  return Fail(ErrorCode::kCorrupt, std::string("filter body: ") + what);
}

// Fills the tables of a chain, oldest first.
class FingerprintDecoder final : public FilterDecoder {
 public:
  FingerprintDecoder(FingerprintHeader header, std::vector<std::unique_ptr<FingerprintTable>> tables,
                     MemoryBudget& budget)
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
    return FingerprintFilter::FromTables(header_.params, std::move(tables_), budget_);
  }

 private:
  // That as many slots are taken as the header says also means that one is empty: the header was asked for that.
  Status FinishTable() {
    FingerprintTable& table = *tables_[current_];
    if (!table.SpareBitsAreClear()) return Corrupt("bits behind the last slot of a table are set");
    table.Restore(header_.tables[current_].items);
    if (table.taken() != header_.tables[current_].taken) return Corrupt("a table holds other than the header says");
    ++current_;
    filled_ = 0;
    return {};
  }

  const FingerprintHeader header_;
  std::vector<std::unique_ptr<FingerprintTable>> tables_;
  MemoryBudget& budget_;
  uint64_t body_bytes_ = 0;
  size_t current_ = 0;   // the table being filled
  uint64_t filled_ = 0;  // bytes of it that are there
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
