#include "core/filters/fingerprint_filter.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "core/filters/fingerprint_header.h"
#include "core/filters/fingerprint_sizing.h"
#include "core/filters/parts_image.h"

namespace bitsieve::core {

namespace {

std::optional<FingerprintShape> ShapeFor(uint64_t capacity, double rate) {
  const std::optional<FingerprintSize> size = FingerprintSizeFor(capacity, rate);
  if (!size) return std::nullopt;
  return FingerprintShape{capacity, rate, size->slots, size->signature_bits};
}

Error TooSmallRate(const FilterParams& params) {
  char smallest[32];  // rounded up in its last digit, so that what is told can be asked for
  std::snprintf(smallest, sizeof smallest, "%.2g", SmallestFingerprintRate() / params.first_link_share * 1.05);
  return {ErrorCode::kInvalidArgument,
          "error rate is too small for signatures of 32 bits; the smallest of a fingerprint filter such as this is " +
              std::string(smallest)};
}

}  // namespace

uint64_t FingerprintFilter::OverheadBytes() {
  return sizeof(FingerprintFilter) + sizeof(Node) + sizeof(FingerprintTable) + 64;
}

Result<std::unique_ptr<Filter>> FingerprintFilter::Make(const FilterParams& params, MemoryBudget& budget) {
  if (Status status = Validate(params); !status) return tl::unexpected(std::move(status).error());
  const std::optional<FingerprintShape> shape = ShapeFor(params.capacity, RateOfLink(params, 0));
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
  for (std::unique_ptr<FingerprintTable>& table : tables) {
    if (Status status = filter->Append(std::move(table)); !status) return tl::unexpected(std::move(status).error());
  }
  return filter;
}

Status FingerprintFilter::Append(std::unique_ptr<FingerprintTable> table) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget(), OverheadBytes());
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot take memory for a further table");
  Node* const older = nodes_.empty() ? nullptr : nodes_.back().get();
  const auto index = static_cast<uint32_t>(nodes_.size());
  const uint64_t total = (older == nullptr ? 0 : older->total_capacity) + table->shape().capacity;
  nodes_.push_back(std::make_unique<Node>(Node{std::move(table), std::move(overhead), older, index, total}));
  newest_.store(nodes_.back().get(), std::memory_order_release);
  uint64_t bytes = 0;
  for (const auto& node : nodes_) bytes += node->table->shape().SizeBytes();
  NoteSizeBytes(bytes);
  return {};
}

void FingerprintFilter::PrefetchLines(const KeyHash& hash) const {
  for (const Node* node = newest(); node != nullptr; node = node->older) node->table->Prefetch(hash);
}

bool FingerprintFilter::SomeTableHolds(const KeyHash& hash) const {
  for (const Node* node = newest(); node != nullptr; node = node->older) {
    if (node->table->Contains(hash)) return true;
  }
  return false;
}

void FingerprintFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  version_.FindEach(present, [&](size_t i) { return SomeTableHolds(hashes[i]); });
}

size_t FingerprintFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  for (size_t i = 0; i < hashes.size(); ++i) {
    outcomes[i] = AddOne(hashes[i], refusal);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

AddOutcome FingerprintFilter::AddOne(const KeyHash& hash, AddOutcome& refusal) {
  if (SomeTableHolds(hash)) return AddOutcome::kPresent;
  if (!newest()->table->HasRoom()) {
    if (refusal == AddOutcome::kAdded) refusal = UnlessMemoryIsRefused([this] { return Grow(); });
    if (refusal != AddOutcome::kAdded) return refusal;
  }
  const MoveVersion::Move move(version_);
  newest()->table->Insert(hash);
  return AddOutcome::kAdded;
}

AddOutcome FingerprintFilter::Grow() {
  if (!params().scaling()) return AddOutcome::kFull;
  const Node& last = *nodes_.back();
  const uint64_t capacity = CapacityOfNextLink(params(), last.table->shape().capacity, last.total_capacity);
  const std::optional<FingerprintShape> shape = ShapeFor(capacity, RateOfLink(params(), last.index + 1));
  if (!shape || nodes_.size() == kMaxFingerprintTables) return AddOutcome::kCannotGrow;
  Result<std::unique_ptr<FingerprintTable>> table = FingerprintTable::Make(*shape, budget());
  if (!table || !Append(std::move(*table))) return AddOutcome::kOutOfMemory;
  return AddOutcome::kAdded;
}

uint64_t FingerprintFilter::ItemCount() const {
  uint64_t items = 0;
  for (const Node* node = newest(); node != nullptr; node = node->older) items += node->table->items();
  return items;
}

FilterInfo FingerprintFilter::Info() const {
  FilterInfo info;
  uint64_t slots = 0;
  uint64_t taken = 0;
  uint64_t bits = 0;
  const Node* const first = newest();
  info.capacity = first->total_capacity;
  info.links = first->index + 1;
  info.hash_functions = 1;
  info.fingerprint_bits = first->table->shape().signature_bits;
  for (const Node* node = first; node != nullptr; node = node->older) {
    const FingerprintShape& shape = node->table->shape();
    info.size_bytes += shape.SizeBytes() + OverheadBytes();
    info.items += node->table->items();
    slots += shape.slots;
    taken += node->table->taken();
    bits += shape.slots * shape.signature_bits;
  }
  info.fill_ratio = static_cast<double>(taken) / static_cast<double>(slots);
  info.bits_per_item = static_cast<double>(bits) / static_cast<double>(info.capacity);
  return info;
}

std::optional<double> FingerprintFilter::EstimatedErrorRate() const {
  double none = 1;  // the chance that no table is wrong
  for (const Node* node = newest(); node != nullptr; node = node->older) none *= 1 - node->table->EstimatedRate();
  return 1 - none;
}

std::unique_ptr<FilterImage> FingerprintFilter::DoCapture(const ImagePool& pool) const {
  FingerprintHeader header{params(), {}};
  for (const auto& node : nodes_) {
    header.tables.push_back({node->table->shape(), node->table->items(), node->table->taken()});
  }
  auto image = std::make_unique<PartsImage>(EncodeFingerprintHeader(header), writers());
  for (const auto& node : nodes_) {
    image->AddPart(node->table->memory(), node->table->memory().size_bytes(), pool);
  }
  return image;
}

}  // namespace bitsieve::core
