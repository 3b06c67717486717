#include "core/filters/redis_cuckoo_decoder.h"

#include <utility>
#include <vector>

#include "core/bits/count_bits.h"
#include "core/filters/parts_decoder.h"
#include "core/filters/redis_cuckoo.h"

namespace bitsieve::core {

namespace {

using Tables = std::vector<std::unique_ptr<RedisCuckooTable>>;

Result<Tables> MakeTables(const RedisCuckooHeader& header, MemoryBudget& budget) {
  Tables tables;
  for (uint64_t i = 0; i < header.filters; ++i) {
    RedisCuckooTable* const older = i == 0 ? nullptr : tables.back().get();
    const uint64_t buckets = header.TableBytes(i) / header.bucket_size;
    auto table = RedisCuckooTable::Make(buckets, header.bucket_size, older, budget);
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

  Status FinishPart(size_t part, uint64_t prints) override {
    tables_[part]->Restore(prints);
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    uint64_t items = 0;
    for (const auto& table : tables_) items += table->items();
    if (exact_ && items != header_.items) return Corrupt("it has not as many prints as the header says");
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

Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckoo(std::string_view fields, MemoryBudget& budget) {
  if (fields.size() != kRedisCuckooHeaderBytes) {
    return Fail(ErrorCode::kCorrupt, "filter header: a cuckoo filter's must have 38 bytes of fields");
  }
  const Result<RedisCuckooHeader> header = DecodeRedisCuckooHeader(fields);
  if (!header) return tl::unexpected(header.error());
  return Open(*header, true, budget);
}

Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckooDump(const RedisCuckooHeader& header, MemoryBudget& budget) {
  return Open(header, false, budget);
}

}  // namespace bitsieve::core
