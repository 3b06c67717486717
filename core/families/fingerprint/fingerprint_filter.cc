#include "core/families/fingerprint/fingerprint_filter.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "core/base/parse.h"
#include "core/families/fingerprint/fingerprint_codec.h"
#include "core/families/fingerprint/fingerprint_sizing.h"
#include "core/filter/parts_image.h"

namespace bitsieve::core {

namespace {

std::optional<FingerprintShape> ShapeFor(uint64_t capacity, double rate) {
  const std::optional<FingerprintSize> size = FingerprintSizeFor(capacity, rate);
  if (!size) return std::nullopt;
  return FingerprintShape{capacity, rate, size->slots, size->fingerprint_bits};
}

// Returns the shape of the table that follows `tables` tables; nothing if the filter cannot grow further.
std::optional<FingerprintShape> NextShape(const FilterParams& params, const FingerprintShape& last, uint32_t tables,
                                          uint64_t total_capacity) {
  if (tables == kMaxFingerprintTables) return std::nullopt;
  return ShapeFor(CapacityOfNextSubFilter(params, last.capacity, total_capacity), RateOfSubFilter(params, tables));
}

Error TooSmallRate(const FilterParams& params) {
  // Rounded up in its last digit, so that the rate in the message can be requested.
  const double smallest = SmallestFingerprintRate() / params.first_share * 1.05;
  return {ErrorCode::kInvalidArgument,
          "error rate is too small for fingerprints of 32 bits; the smallest of a fingerprint filter such as this is " +
              RoundedText(smallest, 2)};
}

}  // namespace

uint64_t FingerprintFilter::OverheadBytes() { return sizeof(FingerprintFilter) + sizeof(FingerprintTable) + 64; }

Result<std::unique_ptr<Filter>> FingerprintFilter::Make(const FilterParams& params, MemoryBudget& budget) {
  const std::optional<FingerprintShape> shape = ShapeFor(params.capacity, RateOfSubFilter(params, 0));
  if (!shape) return tl::unexpected(TooSmallRate(params));
  Result<std::unique_ptr<FingerprintTable>> table = FingerprintTable::Make(*shape, budget);
  if (!table) return tl::unexpected(std::move(table).error());
  std::vector<std::unique_ptr<FingerprintTable>> tables;
  tables.push_back(std::move(*table));
  return FromTables(params, std::move(tables), budget);
}

Result<std::unique_ptr<Filter>> FingerprintFilter::FromTables(const FilterParams& params,
                                                              std::vector<std::unique_ptr<FingerprintTable>> tables,
                                                              MemoryBudget& budget) {
  assert(!tables.empty());
  std::unique_ptr<FingerprintFilter> filter(new FingerprintFilter(params, budget));
  const LockGuard lock(filter->writers());  // no other thread knows the filter yet
  for (std::unique_ptr<FingerprintTable>& table : tables) {
    if (Status status = filter->Append(std::move(table)); !status) return tl::unexpected(std::move(status).error());
  }
  return filter;
}

Status FingerprintFilter::Append(std::unique_ptr<FingerprintTable> table) {
  const Status appended = chain_.Append(std::move(table), OverheadBytes(), budget());
  SetSizeBytes(chain_.size_bytes());
  return appended;
}

Result<Forecast> FingerprintFilter::ForecastOf(const FilterParams& params, uint64_t items) {
  const std::optional<FingerprintShape> first = ShapeFor(params.capacity, RateOfSubFilter(params, 0));
  if (!first) return tl::unexpected(TooSmallRate(params));
  const auto describe = [](const FingerprintShape& shape, Forecast& forecast) {
    forecast.size_bytes += shape.SizeBytes() + OverheadBytes();
    forecast.hash_functions = 1;
    forecast.fingerprint_bits = shape.fingerprint_bits;
  };
  const auto rate = [](const FingerprintShape& shape, double held) {
    return FingerprintRate(shape.fingerprint_bits, held / static_cast<double>(shape.slots));
  };
  const auto next = [&](const FingerprintShape& last, const Forecast& forecast) {
    return params.scaling() ? NextShape(params, last, forecast.sub_filters, forecast.capacity) : std::nullopt;
  };
  return ForecastOfChain(*first, items, describe, rate, next);
}

void FingerprintFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  for (const FingerprintTable* table = chain_.newest(); table != nullptr; table = table->older()) {
    for (const KeyHash& hash : hashes) table->Prefetch(hash);
  }
}

bool FingerprintFilter::SomeTableHolds(const KeyHash& hash) const {
  return chain_.Holds([&hash](const FingerprintTable& table) { return table.Contains(hash); });
}

void FingerprintFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  version_.FindEach(present, [&](size_t i) { return SomeTableHolds(hashes[i]); });
}

size_t FingerprintFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  constexpr size_t kAhead = 8;              // items whose slots are loaded in advance
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) chain_.newest()->Prefetch(hashes[i + kAhead]);
    outcomes[i] = AddOne(hashes[i], refusal);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

AddOutcome FingerprintFilter::AddOne(const KeyHash& hash, AddOutcome& refusal) {
  if (SomeTableHolds(hash)) return AddOutcome::kPresent;
  if (!chain_.newest()->HasRoom()) {
    if (refusal == AddOutcome::kAdded)
      refusal = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return Grow(); });
    if (refusal != AddOutcome::kAdded) return refusal;
  }
  const MoveVersion::Move move(version_);
  chain_.newest()->Insert(hash);
  return AddOutcome::kAdded;
}

AddOutcome FingerprintFilter::Grow() {
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const FingerprintTable& last = *chain_.newest();
  const std::optional<FingerprintShape> shape =
      NextShape(shared_params(), last.shape(), chain_.size(), last.total_capacity());
  if (!shape) return AddOutcome::kCannotGrow;
  Result<std::unique_ptr<FingerprintTable>> table = FingerprintTable::Make(*shape, budget());
  if (!table || !Append(std::move(*table))) return AddOutcome::kOutOfMemory;
  return AddOutcome::kAdded;
}

uint64_t FingerprintFilter::ItemCount() const {
  return chain_.Sum([](const FingerprintTable& table) { return table.items(); });
}

uint64_t FingerprintFilter::heap_bytes() const {
  const LockGuard lock(writers());
  return BlockBytes(sizeof(FingerprintFilter)) + chain_.HeapBytes() + chain_.Sum([](const FingerprintTable& table) {
    return core::BlockBytes(sizeof(FingerprintTable)) + ContentBytes(table.size_bytes());
  });
}

FilterInfo FingerprintFilter::Info() const {
  FilterInfo info;
  uint64_t slots = 0;
  uint64_t taken = 0;
  uint64_t bits = 0;
  const FingerprintTable* const newest = chain_.newest();
  info.capacity = newest->total_capacity();
  info.size_bytes = newest->total_bytes();
  info.sub_filters = newest->index() + 1;
  info.hash_functions = 1;
  info.fingerprint_bits = newest->shape().fingerprint_bits;
  for (const FingerprintTable* table = newest; table != nullptr; table = table->older()) {
    const FingerprintShape& shape = table->shape();
    info.items += table->items();
    slots += shape.slots;
    taken += table->taken();
    bits += shape.slots * shape.fingerprint_bits;
  }
  info.fill_ratio = static_cast<double>(taken) / static_cast<double>(slots);
  info.bits_per_item = static_cast<double>(bits) / static_cast<double>(info.capacity);
  return info;
}

std::optional<double> FingerprintFilter::EstimatedErrorRate() const {
  return chain_.ErrorRate([](const FingerprintTable& table) { return table.EstimatedRate(); });
}

std::unique_ptr<FilterImage> FingerprintFilter::DoCapture(const ImagePool& pool) const {
  FingerprintHeader header{params(), {}};
  for (const auto& table : chain_.tables()) {
    header.tables.push_back({table->shape(), table->items(), table->taken()});
  }
  auto image = std::make_unique<PartsImage>(EncodeFingerprintHeader(header), writers());
  for (const auto& table : chain_.tables()) image->AddPart(table->memory(), table->memory().size_bytes(), pool);
  return image;
}

}  // namespace bitsieve::core
