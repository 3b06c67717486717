#include "core/families/expiring/expiring_filter.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/families/cuckoo/cuckoo_sizing.h"
#include "core/families/expiring/expiring_type.h"
#include "core/filter/parts_image.h"

namespace bitsieve::core {

namespace {

// The shapes are those of cuckoo tables that hold what waits for the end of its epoch besides the live items; their
// capacity is the number of live items.
Result<CuckooShape> ForLiveItems(Result<CuckooShape> shape, const Epochs& epochs) {
  if (shape) shape->capacity = epochs.ItemsIn(shape->capacity);
  return shape;
}

Result<CuckooShape> FirstExpiringShape(const FilterParams& params) {
  const Epochs epochs = EpochsOf(params);
  return ForLiveItems(FirstCuckooShape(params, epochs.SlotsFor(params.capacity), ExpiringTable::kBucketSize), epochs);
}

Result<CuckooShape> NextExpiringShape(const FilterParams& params, const CuckooShape& last, uint32_t tables,
                                      uint64_t total_capacity) {
  return ForLiveItems(NextCuckooShape(params, last, tables, total_capacity), EpochsOf(params));
}

uint64_t OverheadBytes(const Epochs& epochs) { return sizeof(ExpiringFilter) + ExpiringTable::OverheadBytes(epochs); }

}  // namespace

ExpiringFilter::ExpiringFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock)
    : Filter(params, budget), epochs_(EpochsOf(params)), clock_(clock) {}

Result<Forecast> ExpiringFilter::ForecastOf(const FilterParams& params, uint64_t items) {
  const Result<CuckooShape> first = FirstExpiringShape(params);
  if (!first) return tl::unexpected(first.error());
  const Epochs epochs = EpochsOf(params);
  const auto describe = [&](const CuckooShape& shape, Forecast& forecast) {
    forecast.size_bytes += ExpiringTable::SizeBytes(shape, epochs) + OverheadBytes(epochs);
    forecast.hash_functions = 1;
    forecast.fingerprint_bits = shape.fingerprint_bits;
  };
  const auto rate = [&](const CuckooShape& shape, double held) {
    return CuckooRate(shape.fingerprint_bits, shape.bucket_size, held / static_cast<double>(shape.Slots()));
  };
  const auto next = [&](const CuckooShape& last, const Forecast& forecast) -> std::optional<CuckooShape> {
    if (!params.scaling()) return std::nullopt;
    const Result<CuckooShape> shape = NextExpiringShape(params, last, forecast.sub_filters, forecast.capacity);
    return shape ? std::optional(*shape) : std::nullopt;
  };
  return ForecastOfChain(*first, items, describe, rate, next);
}

Result<std::unique_ptr<Filter>> ExpiringFilter::Make(const FilterParams& params, MemoryBudget& budget,
                                                     const Clock& clock) {
  const Result<CuckooShape> shape = FirstExpiringShape(params);
  if (!shape) return tl::unexpected(shape.error());
  Result<std::unique_ptr<ExpiringTable>> table = ExpiringTable::Make(*shape, EpochsOf(params), nullptr, budget);
  if (!table) return tl::unexpected(std::move(table).error());
  std::vector<std::unique_ptr<ExpiringTable>> tables;
  tables.push_back(std::move(*table));
  return FromTables(params, 0, std::move(tables), budget, clock);
}

Result<std::unique_ptr<Filter>> ExpiringFilter::FromTables(const FilterParams& params, uint64_t newest_ms,
                                                           std::vector<std::unique_ptr<ExpiringTable>> tables,
                                                           MemoryBudget& budget, const Clock& clock) {
  assert(!tables.empty());
  std::unique_ptr<ExpiringFilter> filter(new ExpiringFilter(params, budget, clock));
  const LockGuard lock(filter->writers());  // no other thread knows the filter yet
  filter->oldest_ = tables.front().get();
  filter->newest_ms_ = newest_ms;
  filter->now_ = filter->epochs_.At(newest_ms);
  for (std::unique_ptr<ExpiringTable>& table : tables) {
    if (Status status = filter->Append(std::move(table)); !status) return tl::unexpected(std::move(status).error());
  }
  return filter;
}

Status ExpiringFilter::Append(std::unique_ptr<ExpiringTable> table) {
  const Status appended = chain_.Append(std::move(table), OverheadBytes(epochs_), budget());
  PublishSizes();
  return appended;
}

void ExpiringFilter::PublishSizes() {
  SetSizeBytes(chain_.size_bytes());
  sub_filters_.store(chain_.size(), std::memory_order_relaxed);
  size_bytes_.store(chain_.newest() == nullptr ? 0 : chain_.newest()->total_bytes(), std::memory_order_relaxed);
}

uint64_t ExpiringFilter::Now() const {
  const auto clock_ms = static_cast<uint64_t>(std::clamp<int64_t>(clock_.WallMs(), 0, Epochs::kMaxMs));
  return std::max(clock_ms, newest_ms_.load(std::memory_order_relaxed));
}

// The oldest table is never freed: while there is no other one, a lookup needs no pin.
template <class Look>
auto ExpiringFilter::WithTables(const Look& look) const {
  if (chain_.newest() == oldest_) return look(oldest_);
  const ReaderPins::Pin pin(pins_);
  return look(chain_.PinnedNewest());
}

template <class Visit>
void ExpiringFilter::ForEachTable(const ExpiringTable* last, const CuckooKey& key, const Visit& visit) const {
  CuckooPair pair;
  for (const ExpiringTable* table = oldest_; table != nullptr; table = table->newer()) {
    pair = table->geometry().Refine(pair, key);
    visit(*table, pair);
    if (table == last) return;
  }
}

void ExpiringFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  WithTables([&](const ExpiringTable* last) {
    for (const KeyHash& hash : hashes) {
      ForEachTable(last, KeyOf(hash), [](const ExpiringTable& table, const CuckooPair& pair) { table.Prefetch(pair); });
    }
  });
}

uint64_t ExpiringFilter::LastEpochOf(const KeyHash& hash, const ExpiringTable* last, uint64_t now) const {
  const CuckooKey key = KeyOf(hash);
  uint64_t epoch = kNotFound;
  ForEachTable(last, key, [&](const ExpiringTable& table, const CuckooPair& pair) {
    const ExpiringTable::Place place = table.FindLive(pair, table.geometry().FingerprintOf(key), now);
    if (place.found()) epoch = std::max(epoch, place.epoch);
  });
  return epoch;
}

// Ends at the first table that holds the item, while LastEpochOf has to look into all of them.
bool ExpiringFilter::SomeTableHolds(const CuckooKey& key, const ExpiringTable* last, uint64_t now) const {
  const ExpiringTable* table = oldest_;
  CuckooPair pair = table->geometry().Refine({}, key);
  while (true) {
    if (table->HoldsLive(pair, table->geometry().FingerprintOf(key), now)) return true;
    if (table == last || (table = table->newer()) == nullptr) return false;
    pair = table->geometry().Refine(pair, key);
  }
}

void ExpiringFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  const uint64_t now = epochs_.At(Now());
  WithTables([&](const ExpiringTable* last) {
    version_.FindEach(present, [&](size_t i) { return SomeTableHolds(KeyOf(hashes[i]), last, now); });
  });
}

// Looks again if anything was moved, renewed or removed during the lookup.
void ExpiringFilter::TimeToLive(std::span<const KeyHash> hashes, std::span<int64_t> left_ms) const {
  const uint64_t now_ms = Now();
  const uint64_t now = epochs_.At(now_ms);
  WithTables([&](const ExpiringTable* last) {
    for (size_t i = 0; i < hashes.size(); ++i) {
      const uint64_t epoch = version_.AtRest([&] { return LastEpochOf(hashes[i], last, now); });
      left_ms[i] = epoch == kNotFound ? kNoTimeToLive : static_cast<int64_t>(epochs_.EndMs(epoch) - now_ms);
    }
  });
}

void ExpiringFilter::BeginChange() {
  now_ms_ = std::max(Now(), now_ms_);
  now_ = epochs_.At(now_ms_);
  for (const auto& table : chain_.tables()) table->Advance(now_);
}

void ExpiringFilter::EndChange(uint64_t before) {
  if (ChangeCount() == before) return;
  newest_ms_.store(now_ms_, std::memory_order_relaxed);
  DropDeadTables();
}

// A table of which an image is being read stays until a later change.
void ExpiringFilter::DropDeadTables() {
  while (chain_.newest() != oldest_ && chain_.newest()->live() == 0 && !chain_.newest()->memory().has_images()) {
    const std::unique_ptr<ExpiringTable> dead = chain_.Detach();
    pins_.AwaitNone();
    PublishSizes();
  }
}

void ExpiringFilter::SetItemTime(const ItemTime& time) {
  BeginChange();
  const uint64_t longest_ms = now_ms_ + epochs_.ttl_ms();
  until_ms_ = longest_ms;
  if (time.ttl_ms != 0) until_ms_ = now_ms_ + std::min(time.ttl_ms, epochs_.ttl_ms());
  if (time.until_ms != 0) until_ms_ = std::clamp(time.until_ms, now_ms_, longest_ms);
  until_ = epochs_.At(until_ms_);
}

size_t ExpiringFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  constexpr size_t kAhead = 8;              // items whose buckets are loaded in advance
  const uint64_t before = ChangeCount();
  size_t done = 0;
  while (done < hashes.size()) {
    if (done + kAhead < hashes.size()) oldest_->Prefetch(oldest_->geometry().Refine({}, KeyOf(hashes[done + kAhead])));
    outcomes[done] = AddOne(KeyOf(hashes[done]), refusal);
    if (outcomes[done++] == AddOutcome::kFull) break;
  }
  EndChange(before);
  return done;
}

ExpiringFilter::Holder ExpiringFilter::NewestHolder(const CuckooKey& key) const {
  Holder holder;
  CuckooPair pair;
  for (const auto& table : chain_.tables()) {
    pair = table->geometry().Refine(pair, key);
    const ExpiringTable::Place place = table->FindLive(pair, table->geometry().FingerprintOf(key), now_);
    if (place.found()) holder = {table.get(), place};
  }
  return holder;
}

AddOutcome ExpiringFilter::AddOne(const CuckooKey& key, AddOutcome& refusal) {
  if (const Holder holder = NewestHolder(key); holder.table != nullptr) {
    const bool renewed = RenewsItems(shared_params()) && Renew(holder);
    return renewed ? AddOutcome::kRenewed : AddOutcome::kPresent;
  }
  const auto store = [&]() BITSIEVE_REQUIRES(writers()) { return Store(key); };
  const auto grow = [this]() BITSIEVE_REQUIRES(writers()) { return Grow(); };
  if (const AddOutcome stored = StoreOrGrow(store, grow, refusal); IsRefused(stored)) return stored;
  BumpChangeCount();
  return AddOutcome::kAdded;
}

bool ExpiringFilter::Store(const CuckooKey& key) {
  CuckooPair pair;
  for (const auto& table : chain_.tables()) {
    pair = table->geometry().Refine(pair, key);
    if (table->HasRoom() && table->Insert(pair, table->geometry().FingerprintOf(key), until_, version_)) return true;
  }
  return false;
}

bool ExpiringFilter::Renew(const Holder& holder) {
  if (holder.place.epoch >= until_) return false;
  holder.table->Renew(holder.place, until_, version_);
  BumpChangeCount();
  return true;
}

AddOutcome ExpiringFilter::Grow() {
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const ExpiringTable& newest = *chain_.newest();
  const Result<CuckooShape> shape =
      NextExpiringShape(shared_params(), newest.shape(), chain_.size(), newest.total_capacity());
  if (!shape) {
    return shape.error().code == ErrorCode::kOutOfMemory ? AddOutcome::kOutOfMemory : AddOutcome::kCannotGrow;
  }
  Result<std::unique_ptr<ExpiringTable>> table = ExpiringTable::Make(*shape, epochs_, &newest, budget());
  if (!table) return AddOutcome::kOutOfMemory;
  (*table)->Advance(now_);
  return Append(std::move(*table)) ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

void ExpiringFilter::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  BeginChange();
  const uint64_t before = ChangeCount();
  for (size_t i = 0; i < hashes.size(); ++i) {
    const Holder holder = NewestHolder(KeyOf(hashes[i]));
    removed[i] = holder.table != nullptr;
    if (holder.table == nullptr) continue;
    holder.table->Remove(holder.place, version_);
    BumpChangeCount();
  }
  EndChange(before);
}

void ExpiringFilter::DoTouch(std::span<const KeyHash> hashes, std::span<uint8_t> touched) noexcept {
  const uint64_t before = ChangeCount();
  for (size_t i = 0; i < hashes.size(); ++i) {
    const Holder holder = NewestHolder(KeyOf(hashes[i]));
    touched[i] = holder.table != nullptr;
    if (holder.table != nullptr) Renew(holder);
  }
  EndChange(before);
}

uint64_t ExpiringFilter::ItemCount() const {
  const LockGuard lock(writers());
  const uint64_t now = epochs_.At(Now());
  uint64_t items = 0;
  for (const auto& table : chain_.tables()) items += table->LiveFrom(now);
  return items;
}

uint64_t ExpiringFilter::heap_bytes() const {
  const LockGuard lock(writers());
  uint64_t bytes = BlockBytes(sizeof(ExpiringFilter)) + chain_.HeapBytes();
  for (const auto& table : chain_.tables()) {
    bytes += core::BlockBytes(sizeof(ExpiringTable)) + core::BlockBytes(epochs_.numbers() * sizeof(uint64_t)) +
             ContentBytes(table->size_bytes());
  }
  return bytes;
}

std::optional<FilterUse> ExpiringFilter::Use() const {
  FilterUse use;
  use_.Collect(use);
  return use;
}

FilterInfo ExpiringFilter::Info() const {
  const LockGuard lock(writers());
  FilterInfo info;
  const uint64_t now_ms = Now();
  const uint64_t now = epochs_.At(now_ms);
  uint64_t slots = 0;
  uint64_t bits = 0;
  info.expiry.items_by_epoch.resize(epochs_.per_ttl() + 1);
  for (const auto& table : chain_.tables()) {
    const CuckooShape& shape = table->shape();
    ++info.sub_filters;
    info.capacity += shape.capacity;
    info.items += table->LiveFrom(now);
    info.fingerprint_bits = shape.fingerprint_bits;
    slots += shape.Slots();
    bits += shape.Slots() * (shape.fingerprint_bits + epochs_.number_bits());
    for (uint64_t i = 0; i <= epochs_.per_ttl(); ++i) info.expiry.items_by_epoch[i] += table->LiveIn(now + i);
  }
  info.size_bytes = size_bytes();
  info.hash_functions = 1;
  info.fill_ratio = static_cast<double>(info.items) / static_cast<double>(slots);
  info.bits_per_item = static_cast<double>(bits) / static_cast<double>(info.capacity);
  info.expiry.epoch_left_ms = epochs_.EndMs(now) - now_ms;
  const auto& by_epoch = info.expiry.items_by_epoch;
  const auto first = std::ranges::find_if(by_epoch, [](uint64_t items) { return items != 0; });
  if (first != by_epoch.end()) {
    info.expiry.next_left_ms = epochs_.EndMs(now + static_cast<uint64_t>(first - by_epoch.begin())) - now_ms;
  }
  return info;
}

std::optional<double> ExpiringFilter::EstimatedErrorRate() const {
  const LockGuard lock(writers());
  const uint64_t now = epochs_.At(Now());
  double none = 1;
  for (const auto& table : chain_.tables()) none *= 1 - table->RateWith(table->LiveFrom(now));
  return 1 - none;
}

std::unique_ptr<FilterImage> ExpiringFilter::DoCapture(const ImagePool& pool) const {
  ExpiringHeader header{params(), newest_ms_.load(std::memory_order_relaxed), {}};
  const uint64_t now = epochs_.At(header.newest_ms);
  for (const auto& table : chain_.tables()) header.tables.push_back({table->shape(), table->LiveFrom(now)});
  auto image = std::make_unique<PartsImage>(EncodeExpiringHeader(header), writers());
  for (const auto& table : chain_.tables()) image->AddPart(table->memory(), table->memory().size_bytes(), pool);
  return image;
}

}  // namespace bitsieve::core
