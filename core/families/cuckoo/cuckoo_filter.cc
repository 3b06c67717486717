#include "core/families/cuckoo/cuckoo_filter.h"

#include <algorithm>
#include <cassert>

#include "core/families/cuckoo/cuckoo_sizing.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/parts_image.h"

namespace bitsieve::core {

uint64_t CuckooFilter::OverheadBytes() { return sizeof(CuckooFilter) + sizeof(CuckooTable) + 64; }

Result<Forecast> CuckooFilter::ForecastOf(const FilterParams& params, uint64_t items) {
  const Result<CuckooShape> first = FirstCuckooShape(params, params.capacity, BucketSizeOf(params));
  if (!first) return tl::unexpected(first.error());
  const auto describe = [](const CuckooShape& shape, Forecast& forecast) {
    forecast.size_bytes += shape.SizeBytes() + OverheadBytes();
    forecast.hash_functions = 1;
    forecast.fingerprint_bits = shape.fingerprint_bits;
  };
  const auto rate = [](const CuckooShape& shape, double held) {
    return CuckooRate(shape.fingerprint_bits, shape.bucket_size, held / static_cast<double>(shape.Slots()));
  };
  const auto next = [&](const CuckooShape& last, const Forecast& forecast) -> std::optional<CuckooShape> {
    if (!params.scaling()) return std::nullopt;
    const Result<CuckooShape> shape = NextCuckooShape(params, last, forecast.sub_filters, forecast.capacity);
    return shape ? std::optional(*shape) : std::nullopt;
  };
  return ForecastOfChain(*first, items, describe, rate, next);
}

Result<std::unique_ptr<Filter>> CuckooFilter::Make(const FilterParams& params, MemoryBudget& budget) {
  const Result<CuckooShape> shape = FirstCuckooShape(params, params.capacity, BucketSizeOf(params));
  if (!shape) return tl::unexpected(shape.error());
  Result<std::unique_ptr<CuckooTable>> table = CuckooTable::Make(*shape, nullptr, budget);
  if (!table) return tl::unexpected(std::move(table).error());
  std::vector<std::unique_ptr<CuckooTable>> tables;
  tables.push_back(std::move(*table));
  return FromTables(params, std::move(tables), budget);
}

Result<std::unique_ptr<Filter>> CuckooFilter::FromTables(const FilterParams& params,
                                                         std::vector<std::unique_ptr<CuckooTable>> tables,
                                                         MemoryBudget& budget) {
  assert(!tables.empty());
  std::unique_ptr<CuckooFilter> filter(new CuckooFilter(params, budget));
  const LockGuard lock(filter->writers());  // no other thread knows the filter yet
  filter->oldest_ = tables.front().get();
  for (std::unique_ptr<CuckooTable>& table : tables) {
    if (Status status = filter->Append(std::move(table)); !status) return tl::unexpected(std::move(status).error());
  }
  return filter;
}

Status CuckooFilter::Append(std::unique_ptr<CuckooTable> table) {
  const Status appended = chain_.Append(std::move(table), OverheadBytes(), budget());
  SetSizeBytes(chain_.size_bytes());
  return appended;
}

void CuckooFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  for (const KeyHash& hash : hashes) {
    const CuckooKey key = KeyOf(hash);
    CuckooPair pair;
    for (const CuckooTable* table = oldest_; table != nullptr; table = table->newer()) {
      pair = table->Refine(pair, key);
      table->Prefetch(pair);
    }
  }
}

// Does what Chain::Holds does, but from the oldest table on.
bool CuckooFilter::SomeTableHolds(const CuckooKey& key) const {
  const CuckooTable* table = oldest_;
  CuckooPair pair = table->Refine({}, key);
  for (const CuckooTable* newer = table->newer(); newer != nullptr; newer = table->newer()) {
    if (table->Contains(pair, table->FingerprintOf(key))) return true;
    table = newer;
    pair = table->Refine(pair, key);
  }
  return table->Contains(pair, table->FingerprintOf(key));
}

void CuckooFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  version_.FindEach(present, [&](size_t i) { return SomeTableHolds(KeyOf(hashes[i])); });
}

uint64_t CuckooFilter::CountOnce(const CuckooKey& key) const {
  uint64_t count = 0;
  CuckooPair pair;
  for (const CuckooTable* table = oldest_; table != nullptr; table = table->newer()) {
    pair = table->Refine(pair, key);
    count += table->Count(pair, table->FingerprintOf(key));
  }
  return count;
}

// Only moves can be miscounted, so it counts again until nothing moved.
void CuckooFilter::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const CuckooKey key = KeyOf(hashes[i]);
    counts[i] = version_.AtRest([&] { return CountOnce(key); });
  }
}

size_t CuckooFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  constexpr size_t kAhead = 8;              // items whose buckets are loaded in advance
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) newest().Prefetch(PairIn(*oldest_, newest(), KeyOf(hashes[i + kAhead])));
    outcomes[i] = AddOne(KeyOf(hashes[i]), refusal);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

AddOutcome CuckooFilter::AddOne(const CuckooKey& key, AddOutcome& refusal) {
  if (newest().IsSaturated(PairIn(*oldest_, newest(), key), newest().FingerprintOf(key))) return AddOutcome::kPresent;
  const bool present = SomeTableHolds(key);
  const auto store = [&]() BITSIEVE_REQUIRES(writers()) { return Store(key); };
  const auto grow = [this]() BITSIEVE_REQUIRES(writers()) { return Grow(); };
  if (const AddOutcome stored = StoreOrGrow(store, grow, refusal); IsRefused(stored)) return stored;
  BumpChangeCount();
  return present ? AddOutcome::kPresent : AddOutcome::kAdded;
}

bool CuckooFilter::Store(const CuckooKey& key) {
  for (CuckooTable* table = &newest(); table != nullptr; table = table->older()) {
    if (!table->HasRoom()) continue;
    const CuckooPair pair = PairIn(*oldest_, *table, key);
    if (table->Insert(pair, table->FingerprintOf(key), MaxIterationsOf(shared_params()), version_)) return true;
  }
  return false;
}

AddOutcome CuckooFilter::Grow() {
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const Result<CuckooShape> shape =
      NextCuckooShape(shared_params(), newest().shape(), chain_.size(), newest().total_capacity());
  if (!shape) {
    return shape.error().code == ErrorCode::kOutOfMemory ? AddOutcome::kOutOfMemory : AddOutcome::kCannotGrow;
  }
  Result<std::unique_ptr<CuckooTable>> table = CuckooTable::Make(*shape, &newest(), budget());
  return table && Append(std::move(*table)) ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

void CuckooFilter::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) removed[i] = RemoveOne(KeyOf(hashes[i])) ? 1 : 0;
}

bool CuckooFilter::RemoveOne(const CuckooKey& key) {
  CuckooTable* holder = nullptr;
  CuckooPair pair, pair_in_holder;
  for (const auto& table : chain_.tables()) {
    pair = table->Refine(pair, key);
    if (!table->Contains(pair, table->FingerprintOf(key))) continue;
    holder = table.get();
    pair_in_holder = pair;
  }
  if (holder == nullptr) return false;
  const uint64_t fingerprint = holder->FingerprintOf(key);
  if (holder->IsSaturated(pair_in_holder, fingerprint)) return false;
  holder->Remove(pair_in_holder, fingerprint, version_);
  BumpChangeCount();
  return true;
}

uint64_t CuckooFilter::ItemCount() const {
  return chain_.Sum([](const CuckooTable& table) { return table.items(); });
}

uint64_t CuckooFilter::heap_bytes() const {
  const LockGuard lock(writers());
  return BlockBytes(sizeof(CuckooFilter)) + chain_.HeapBytes() + chain_.Sum([](const CuckooTable& table) {
    return core::BlockBytes(sizeof(CuckooTable)) + ContentBytes(table.size_bytes());
  });
}

FilterInfo CuckooFilter::Info() const {
  FilterInfo info;
  uint64_t slots = 0;
  uint64_t bits = 0;
  for (const CuckooTable* table = oldest_; table != nullptr; table = table->newer()) {
    const CuckooShape& shape = table->shape();
    ++info.sub_filters;
    info.capacity += shape.capacity;
    info.size_bytes = table->total_bytes();
    info.items += table->items();
    info.fingerprint_bits = shape.fingerprint_bits;
    slots += shape.Slots();
    bits += shape.Slots() * shape.fingerprint_bits;
  }
  info.hash_functions = 1;
  info.fill_ratio = static_cast<double>(info.items) / static_cast<double>(slots);
  info.bits_per_item = static_cast<double>(bits) / static_cast<double>(info.capacity);
  return info;
}

std::optional<double> CuckooFilter::EstimatedErrorRate() const {
  return chain_.ErrorRate([](const CuckooTable& table) { return table.EstimatedRate(); });
}

std::unique_ptr<FilterImage> CuckooFilter::DoCapture(const ImagePool& pool) const {
  CuckooHeader header{params(), {}};
  for (const auto& table : chain_.tables()) header.tables.push_back({table->shape(), table->items()});
  auto image = std::make_unique<PartsImage>(EncodeCuckooHeader(header), writers());
  for (const auto& table : chain_.tables()) image->AddPart(table->memory(), table->memory().size_bytes(), pool);
  return image;
}

}  // namespace bitsieve::core
