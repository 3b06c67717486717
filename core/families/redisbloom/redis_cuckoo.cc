#include "core/families/redisbloom/redis_cuckoo.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <new>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/image_header.h"
#include "core/filter/parts_image.h"
#include "core/memory/count_bits.h"

namespace bitsieve::core {

// Of the last pairs of buckets that had no room in any sub-filter: how many there were then.
struct RedisCuckoo::FullPairs {
  static constexpr uint64_t kFromFilters = 16;  // fewer are as soon looked into

  struct Pair {
    uint64_t first = 0;
    uint64_t filters = 0;
    uint8_t fingerprint = 0;
  };

  explicit FullPairs(MemoryReservation reserved) : reservation(std::move(reserved)) {}
  Pair& Of(const CuckooFingerprint& fingerprint) { return pairs[(fingerprint.first * 0x9E3779B97F4A7C15ULL) >> 56]; }

  const MemoryReservation reservation;
  std::array<Pair, 256> pairs;
};

// How far a compaction has come.
struct RedisCuckoo::Compaction {
  bool past_stuck;
  uint64_t index;  // of the sub-filter whose fingerprints are being moved
  uint64_t slot = 0;
};

RedisCuckoo::RedisCuckoo(const RedisCuckooHeader& header, MemoryBudget& budget, MemoryReservation overhead)
    : Filter(RedisCuckooParamsFor(header), budget), overhead_(std::move(overhead)), shape_(header) {}

RedisCuckoo::~RedisCuckoo() = default;

Result<std::unique_ptr<RedisCuckoo>> RedisCuckoo::MakeBare(const RedisCuckooHeader& header, MemoryBudget& budget) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(RedisCuckoo) + 64);
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot take memory for a cuckoo filter");
  return std::unique_ptr<RedisCuckoo>(new RedisCuckoo(header, budget, std::move(overhead)));
}

Result<std::unique_ptr<Filter>> RedisCuckoo::Make(const FilterParams& params, MemoryBudget& budget) {
  const RedisCuckooHeader header = RedisCuckooHeaderFor(params);
  auto table = RedisCuckooTable::Make(header.buckets, header.bucket_size, budget);
  if (!table) return tl::unexpected(std::move(table).error());
  std::vector<std::unique_ptr<RedisCuckooTable>> tables;
  tables.push_back(std::move(*table));
  return FromTables(header, std::move(tables), budget);
}

Result<std::unique_ptr<Filter>> RedisCuckoo::FromTables(const RedisCuckooHeader& header,
                                                        std::vector<std::unique_ptr<RedisCuckooTable>> tables,
                                                        MemoryBudget& budget) {
  assert(!tables.empty() && tables.size() == header.filters);
  Result<std::unique_ptr<RedisCuckoo>> made = MakeBare(header, budget);
  if (!made) return tl::unexpected(std::move(made).error());
  std::unique_ptr<RedisCuckoo> filter = std::move(*made);
  const LockGuard lock(filter->writers());  // no other thread knows the filter yet
  uint64_t items = 0;
  for (std::unique_ptr<RedisCuckooTable>& table : tables) {
    items += table->items();
    if (Status status = filter->Append(std::move(table)); !status) return tl::unexpected(std::move(status).error());
  }
  filter->items_ = items;
  filter->deletes_ = header.deletes;
  return filter;
}

Status RedisCuckoo::Append(std::unique_ptr<RedisCuckooTable> table) {
  const Status appended = chain_.Append(std::move(table), sizeof(RedisCuckooTable) + kLineBytes, budget());
  NoteSizeBytes(chain_.size_bytes());
  return appended;
}

// ---- reading

bool RedisCuckoo::Contains(const CuckooFingerprint& fingerprint) const {
  return chain_.Holds([&fingerprint](const RedisCuckooTable& table) { return table.Contains(fingerprint); });
}

void RedisCuckoo::PrefetchLines(std::span<const KeyHash> hashes) const {
  constexpr int kMost = 32;  // of very many sub-filters the others may never be looked at
  const RedisCuckooTable* table = chain_.newest();
  for (int i = 0; table != nullptr && i < kMost; table = table->older(), ++i) {
    for (const KeyHash& hash : hashes) table->Prefetch(RedisCuckooTable::FingerprintOf(hash));
  }
}

void RedisCuckoo::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  version_.FindEach(present, [&](size_t i) { return Contains(RedisCuckooTable::FingerprintOf(hashes[i])); });
}

void RedisCuckoo::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const CuckooFingerprint fingerprint = RedisCuckooTable::FingerprintOf(hashes[i]);
    counts[i] = version_.AtRest(
        [&] { return chain_.Sum([&fingerprint](const RedisCuckooTable& table) { return table.Count(fingerprint); }); });
  }
}

// ---- adding

size_t RedisCuckoo::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) {
    outcomes[i] = AddOne(RedisCuckooTable::FingerprintOf(hashes[i]), Presence::kReported);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

size_t RedisCuckoo::Insert(std::span<const KeyHash> hashes, Presence presence, uint64_t most_filters,
                           std::span<AddOutcome> outcomes) {
  const LockGuard lock(writers());
  if (!ReserveReport(hashes.size())) {
    std::fill_n(outcomes.begin(), hashes.size(), AddOutcome::kOutOfMemory);
    return hashes.size();
  }
  size_t done = 0;
  for (; done < hashes.size() && filters() < most_filters; ++done) {
    outcomes[done] = AddOne(RedisCuckooTable::FingerprintOf(hashes[done]), presence);
  }
  ReportAdded(hashes.first(done), outcomes.first(done), presence != Presence::kSkipped, hashes.size());
  return done;
}

AddOutcome RedisCuckoo::AddOne(const CuckooFingerprint& fingerprint, Presence presence) {
  const bool present = presence != Presence::kIgnored && Contains(fingerprint);
  if (present && presence == Presence::kSkipped) return AddOutcome::kPresent;
  const AddOutcome outcome = Store(fingerprint);
  if (outcome != AddOutcome::kAdded) return outcome;
  items_.store(ItemCount() + 1, std::memory_order_relaxed);
  BumpChangeCount();
  return present ? AddOutcome::kPresent : AddOutcome::kAdded;
}

AddOutcome RedisCuckoo::Store(const CuckooFingerprint& fingerprint) {
  const uint64_t full = FullBefore(fingerprint);
  for (RedisCuckooTable* table = chain_.newest(); table != nullptr && table->index() >= full; table = table->older()) {
    if (table->Place(fingerprint)) return AddOutcome::kAdded;
  }
  NoteFull(fingerprint);
  {
    const MoveVersion::Move move(version_);
    if (chain_.newest()->Kick(fingerprint, shape_.max_iterations)) return AddOutcome::kAdded;
  }
  if (const AddOutcome grown = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return Grow(); });
      grown != AddOutcome::kAdded)
    return grown;
  const bool placed = chain_.newest()->Place(fingerprint);
  assert(placed && "it is empty");
  return placed ? AddOutcome::kAdded : AddOutcome::kFull;
}

// So many of the oldest sub-filters are known to have no room for it.
uint64_t RedisCuckoo::FullBefore(const CuckooFingerprint& fingerprint) const {
  if (full_ == nullptr) return 0;
  const FullPairs::Pair& pair = full_->Of(fingerprint);
  return pair.first == fingerprint.first && pair.fingerprint == fingerprint.fingerprint ? pair.filters : 0;
}

// Kicks leave a bucket as full as it was.
void RedisCuckoo::NoteFull(const CuckooFingerprint& fingerprint) {
  if (filters() < FullPairs::kFromFilters) return;
  if (full_ == nullptr) {
    MemoryReservation reservation = MemoryReservation::TryTake(budget(), sizeof(FullPairs));
    if (reservation.held()) full_.reset(new (std::nothrow) FullPairs(std::move(reservation)));
    if (full_ == nullptr) return;
  }
  full_->Of(fingerprint) = {fingerprint.first, filters(), fingerprint.fingerprint};
}

// A slot of the sub-filter became free.
void RedisCuckoo::NoteRoom(uint64_t index) {
  if (full_ == nullptr) return;
  for (FullPairs::Pair& pair : full_->pairs) pair.filters = std::min(pair.filters, index);
}

AddOutcome RedisCuckoo::Grow() {
  constexpr uint64_t kMaxTableBytes = uint64_t{1} << 50;
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const uint64_t index = filters();
  const uint64_t bytes = shape_.TableBytes(index);
  if (index >= kMaxRedisCuckooFilters || bytes > kMaxTableBytes) return AddOutcome::kCannotGrow;
  if (!chain_.Regrow()) {
    auto table = RedisCuckooTable::Make(bytes / shape_.bucket_size, shape_.bucket_size, budget());
    if (!table || !Append(std::move(*table))) return AddOutcome::kOutOfMemory;
  }
  NoteSizeBytes(chain_.size_bytes());
  return AddOutcome::kAdded;
}

// ---- removing

void RedisCuckoo::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) removed[i] = RemoveOne(RedisCuckooTable::FingerprintOf(hashes[i])) ? 1 : 0;
}

bool RedisCuckoo::RemoveOne(const CuckooFingerprint& fingerprint) {
  RedisCuckooTable* table = chain_.newest();
  while (table != nullptr && !table->Take(fingerprint)) table = table->older();
  if (table == nullptr) return false;
  NoteRoom(table->index());
  const uint64_t items = ItemCount() - 1;
  items_.store(items, std::memory_order_relaxed);
  ++deletes_;
  BumpChangeCount();
  CompactIfDue(items);
  return true;
}

// Once more than a tenth of what is left was removed; written so that no number in a header can overflow it.
void RedisCuckoo::CompactIfDue(uint64_t items) {
  constexpr uint64_t kSmallBytes = 32 * 1024;  // a millisecond at most
  if (filters() == 1 || deletes_ <= items / 10) return;
  if (chain_.size_bytes() <= kSmallBytes) {
    Compaction compaction{.past_stuck = false, .index = filters() - 1};
    Compact(compaction, std::numeric_limits<uint64_t>::max());
    return;
  }
  Due due = Due::kNo;
  due_.compare_exchange_strong(due, Due::kYes);
}

void RedisCuckoo::Compact() { CompactInSlices(true); }

void RedisCuckoo::CompactAfterRemovals() {
  CompactInSlices(false);
  ForgetDueCompaction();
}

void RedisCuckoo::CompactInSlices(bool past_stuck) {
  constexpr uint64_t kSteps = 1000;
  Compaction compaction{.past_stuck = past_stuck, .index = std::numeric_limits<uint64_t>::max()};
  for (bool more = true; more;) {
    writers().GiveWay();
    const LockGuard lock(writers());
    more = Compact(compaction, kSteps);
    BumpChangeCount();
    NoteChanged();
  }
}

// Newest first. Only a newest sub-filter can be taken off, so that one that keeps a fingerprint keeps all older ones,
// too. False once it has come to the end; after about `steps` slots looked into otherwise.
bool RedisCuckoo::Compact(Compaction& compaction, uint64_t steps) {
  if (compaction.index >= filters()) compaction = {compaction.past_stuck, filters() - 1};  // others took some off
  NoteRoom(0);
  for (; compaction.index > 0; --compaction.index, compaction.slot = 0) {
    RedisCuckooTable& table = *chain_.tables()[compaction.index];
    for (; table.items() != 0 && compaction.slot < table.slots(); ++compaction.slot) {
      if (steps == 0) return true;
      steps -= std::min(steps, 1 + MoveInto(table, compaction.slot, compaction.index));
    }
    const bool empty = table.items() == 0;
    if (empty && compaction.index + 1 == filters()) {
      chain_.TakeOffNewest();
      NoteSizeBytes(chain_.size_bytes());
    }
    if (!empty && !compaction.past_stuck) break;
  }
  deletes_ = 0;
  return false;
}

// To the oldest sub-filter before `index` that has room. Returns how many it looked into.
uint64_t RedisCuckoo::MoveInto(RedisCuckooTable& from, uint64_t slot, uint64_t index) {
  const std::optional<CuckooFingerprint> fingerprint = from.FingerprintAt(slot);
  if (!fingerprint) return 0;
  const MoveVersion::Move move(version_);
  for (uint64_t i = 0; i < index; ++i) {
    if (!chain_.tables()[i]->Place(*fingerprint)) continue;
    from.Free(slot);
    return i + 1;
  }
  return index;
}

// ---- telling

RedisCuckooHeader RedisCuckoo::CurrentHeader() const {
  RedisCuckooHeader header = shape_;
  header.items = ItemCount();
  header.deletes = deletes_;
  header.filters = filters();
  return header;
}

RedisCuckooHeader RedisCuckoo::Header() const {
  const LockGuard lock(writers());
  return CurrentHeader();
}

std::string RedisCuckoo::ReadChunk(uint64_t offset) const {
  const LockGuard lock(writers());
  std::string chunk;
  for (const auto& table : chain_.tables()) {
    if (offset >= table->slots()) {
      offset -= table->slots();
      continue;
    }
    chunk.resize(std::min(table->slots() - offset, kChunkBytes));
    table->memory().CopyOut(offset, std::as_writable_bytes(std::span(chunk)));
    break;
  }
  return chunk;
}

bool RedisCuckoo::WriteChunk(uint64_t offset, std::string_view bytes) {
  const LockGuard lock(writers());
  for (const auto& table : chain_.tables()) {
    if (offset >= table->slots()) {
      offset -= table->slots();
      continue;
    }
    if (bytes.size() > table->slots() - offset) return false;
    const std::span there = table->memory().bytes().subspan(offset, bytes.size());
    const uint64_t before = CountSetFields(there, 8);
    {
      const MoveVersion::Move move(version_);
      table->memory().CopyIn(offset, AsBytes(bytes));
    }
    const uint64_t more = CountSetFields(there, 8) - before;  // modulo 2^64
    table->Restore(table->items() + more);
    items_.store(ItemCount() + more, std::memory_order_relaxed);
    NoteRoom(0);
    BumpChangeCount();
    NoteChanged();
    return true;
  }
  return false;
}

uint64_t RedisCuckoo::HeldBytes() const {
  return overhead_.bytes() + chain_.held_bytes() + (full_ == nullptr ? 0 : full_->reservation.bytes());
}

uint64_t RedisCuckoo::size_bytes() const {
  const LockGuard lock(writers());
  return HeldBytes();
}

FilterInfo RedisCuckoo::Info() const {
  const LockGuard lock(writers());
  FilterInfo info;
  info.size_bytes = HeldBytes();
  info.capacity = chain_.newest()->total_capacity();
  info.sub_filters = static_cast<uint32_t>(filters());
  info.items = ItemCount();
  info.fill_ratio = static_cast<double>(info.items) / static_cast<double>(info.capacity);
  info.hash_functions = 1;
  info.bits_per_item = 8;
  return info;
}

// An absent item is compared with the fingerprints in its two buckets of each sub-filter. They are one bucket for as
// many of the 255 fingerprints as are multiples of the number of buckets, a power of two.
std::optional<double> RedisCuckoo::EstimatedErrorRate() const {
  constexpr uint64_t kFingerprints = 255;
  const LockGuard lock(writers());
  double compared = 0;
  for (const auto& table : chain_.tables()) {
    const uint64_t buckets = table->buckets();
    const double distinct = 2 - static_cast<double>(kFingerprints / buckets) / kFingerprints;
    compared += distinct * static_cast<double>(table->items()) / static_cast<double>(buckets);
  }
  return 1 - std::pow(1 - 1.0 / kFingerprints, compared);
}

// ---- images

std::unique_ptr<FilterImage> RedisCuckoo::DoCapture(const ImagePool& pool) const {
  std::string header;
  BeginHeader(header, kRedisCuckooType, kFilterFormatVersion);
  header += EncodeRedisCuckooHeader(CurrentHeader());
  SealHeader(header);
  auto image = std::make_unique<PartsImage>(std::move(header), writers());
  for (const auto& table : chain_.tables()) image->AddPart(table->memory(), table->slots(), pool);
  return image;
}

}  // namespace bitsieve::core
