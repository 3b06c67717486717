#include "core/filters/redis_cuckoo_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/filters/redis_cuckoo.h"

namespace bitsieve::core {

namespace {

tl::unexpected<Error> Corrupt(const char* what) {
  return Fail(ErrorCode::kCorrupt, std::string("filter body: ") + what);
}

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
class RedisCuckooDecoder final : public FilterDecoder {
 public:
  RedisCuckooDecoder(const RedisCuckooHeader& header, Tables tables, bool exact, MemoryBudget& budget)
      : header_(header), tables_(std::move(tables)), exact_(exact), budget_(budget) {}

  uint64_t body_bytes() const override { return body_bytes_; }

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (current_ == tables_.size()) return Corrupt("it is longer than the header says");
      RedisCuckooTable& table = *tables_[current_];
      const size_t count = std::min<uint64_t>(bytes.size(), table.slots() - filled_);
      std::memcpy(table.memory().data() + filled_, bytes.data(), count);
      bytes = bytes.subspan(count);
      filled_ += count;
      if (filled_ < table.slots()) continue;
      table.CountItems();
      ++current_;
      filled_ = 0;
    }
    return {};
  }

  Result<std::unique_ptr<Filter>> Finish() override {
    if (current_ != tables_.size()) return Corrupt("it is shorter than the header says");
    uint64_t items = 0;
    for (const auto& table : tables_) items += table->items();
    if (exact_ && items != header_.items) return Corrupt("it has not as many prints as the header says");
    return RedisCuckoo::FromTables(header_, std::move(tables_), budget_);
  }

 private:
  const RedisCuckooHeader header_;
  const uint64_t body_bytes_ = header_.BodyBytes();
  Tables tables_;
  const bool exact_;
  MemoryBudget& budget_;
  size_t current_ = 0;   // the sub-filter being filled
  uint64_t filled_ = 0;  // bytes of it that are there
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
