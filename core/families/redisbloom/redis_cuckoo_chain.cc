#include "core/families/redisbloom/redis_cuckoo_chain.h"

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

// The last pairs of buckets that had no room in any sub-filter, each with how many of the oldest sub-filters are known
// to have no room there: all at first, fewer once a slot becomes free.
struct RedisCuckooChain::FullPairs {
  static constexpr uint64_t kFromFilters = 16;  // looking into fewer is as fast

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

// The progress of a compaction.
struct RedisCuckooChain::Compaction {
  bool past_stuck;
  uint64_t index;  // of the sub-filter whose fingerprints are being moved
  uint64_t slot = 0;
};

RedisCuckooChain::RedisCuckooChain(const RedisCuckooHeader& header, MemoryBudget& budget, MemoryReservation overhead)
    : Filter(RedisCuckooParamsFor(header), budget), overhead_(std::move(overhead)), shape_(header) {}

RedisCuckooChain::~RedisCuckooChain() = default;

Result<std::unique_ptr<RedisCuckooChain>> RedisCuckooChain::MakeBare(const RedisCuckooHeader& header,
                                                                     MemoryBudget& budget) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(RedisCuckooChain) + 64);
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a cuckoo filter");
  return std::unique_ptr<RedisCuckooChain>(new RedisCuckooChain(header, budget, std::move(overhead)));
}

Result<std::unique_ptr<RedisCuckooChain>> RedisCuckooChain::FromTables(
    const RedisCuckooHeader& header, std::vector<std::unique_ptr<RedisCuckooTable>> tables, MemoryBudget& budget) {
  assert(!tables.empty() && tables.size() == header.filters);
  Result<std::unique_ptr<RedisCuckooChain>> made = MakeBare(header, budget);
  if (!made) return tl::unexpected(std::move(made).error());
  std::unique_ptr<RedisCuckooChain> filter = std::move(*made);
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

Status RedisCuckooChain::Append(std::unique_ptr<RedisCuckooTable> table) {
  const Status appended = chain_.Append(std::move(table), sizeof(RedisCuckooTable) + kLineBytes, budget());
  SetSizeBytes(chain_.size_bytes());
  return appended;
}

// ---- reading

bool RedisCuckooChain::Contains(const CuckooFingerprint& fingerprint) const {
  return chain_.Holds([&fingerprint](const RedisCuckooTable& table) { return table.Contains(fingerprint); });
}

void RedisCuckooChain::PrefetchLines(std::span<const KeyHash> hashes) const {
  constexpr int kMax = 32;  // of very many sub-filters the others may never be looked at
  const RedisCuckooTable* table = chain_.newest();
  for (int i = 0; table != nullptr && i < kMax; table = table->older(), ++i) {
    for (const KeyHash& hash : hashes) table->Prefetch(RedisCuckooTable::FingerprintOf(hash));
  }
}

void RedisCuckooChain::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  version_.FindEach(present, [&](size_t i) { return Contains(RedisCuckooTable::FingerprintOf(hashes[i])); });
}

void RedisCuckooChain::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const CuckooFingerprint fingerprint = RedisCuckooTable::FingerprintOf(hashes[i]);
    counts[i] = version_.AtRest(
        [&] { return chain_.Sum([&fingerprint](const RedisCuckooTable& table) { return table.Count(fingerprint); }); });
  }
}

// ---- adding

size_t RedisCuckooChain::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) {
    outcomes[i] = AddOne(RedisCuckooTable::FingerprintOf(hashes[i]), Presence::kReported);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

AddOutcome RedisCuckooChain::AddOne(const CuckooFingerprint& fingerprint, Presence presence) {
  const bool present = presence != Presence::kIgnored && Contains(fingerprint);
  if (present && presence == Presence::kSkipped) return AddOutcome::kPresent;
  const AddOutcome outcome = Store(fingerprint);
  if (outcome != AddOutcome::kAdded) return outcome;
  items_.store(ItemCount() + 1, std::memory_order_relaxed);
  BumpChangeCount();
  return present ? AddOutcome::kPresent : AddOutcome::kAdded;
}

AddOutcome RedisCuckooChain::Store(const CuckooFingerprint& fingerprint) {
  const uint64_t full = FullBefore(fingerprint);
  for (RedisCuckooTable* table = chain_.newest(); table != nullptr && table->index() >= full; table = table->older()) {
    if (table->Place(fingerprint)) return AddOutcome::kAdded;
  }
  MarkFull(fingerprint);
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

// Returns how many of the oldest sub-filters are known to have no room for the fingerprint.
uint64_t RedisCuckooChain::FullBefore(const CuckooFingerprint& fingerprint) const {
  if (full_ == nullptr) return 0;
  const FullPairs::Pair& pair = full_->Of(fingerprint);
  return pair.first == fingerprint.first && pair.fingerprint == fingerprint.fingerprint ? pair.filters : 0;
}

// Kicks leave a bucket as full as it was.
void RedisCuckooChain::MarkFull(const CuckooFingerprint& fingerprint) {
  if (filters() < FullPairs::kFromFilters) return;
  if (full_ == nullptr) {
    MemoryReservation reservation = MemoryReservation::TryTake(budget(), sizeof(FullPairs));
    if (reservation.held()) full_.reset(new (std::nothrow) FullPairs(std::move(reservation)));
    if (full_ == nullptr) return;
  }
  full_->Of(fingerprint) = {fingerprint.first, filters(), fingerprint.fingerprint};
}

// A slot of the sub-filter became free.
void RedisCuckooChain::MarkRoom(uint64_t index) {
  if (full_ == nullptr) return;
  for (FullPairs::Pair& pair : full_->pairs) pair.filters = std::min(pair.filters, index);
}

AddOutcome RedisCuckooChain::Grow() {
  constexpr uint64_t kMaxTableBytes = uint64_t{1} << 50;
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const uint64_t index = filters();
  const uint64_t bytes = shape_.TableBytes(index);
  if (index >= kMaxRedisCuckooFilters || bytes > kMaxTableBytes) return AddOutcome::kCannotGrow;
  if (!chain_.Regrow()) {
    auto table = RedisCuckooTable::Make(bytes / shape_.bucket_size, shape_.bucket_size, budget());
    if (!table || !Append(std::move(*table))) return AddOutcome::kOutOfMemory;
  }
  SetSizeBytes(chain_.size_bytes());
  return AddOutcome::kAdded;
}

// ---- removing

void RedisCuckooChain::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) removed[i] = RemoveOne(RedisCuckooTable::FingerprintOf(hashes[i])) ? 1 : 0;
}

bool RedisCuckooChain::RemoveOne(const CuckooFingerprint& fingerprint) {
  RedisCuckooTable* table = chain_.newest();
  while (table != nullptr && !table->Take(fingerprint)) table = table->older();
  if (table == nullptr) return false;
  MarkRoom(table->index());
  const uint64_t items = ItemCount() - 1;
  items_.store(items, std::memory_order_relaxed);
  ++deletes_;
  BumpChangeCount();
  CompactIfDue(items);
  return true;
}

// Once more than a tenth of what is left was removed; written so that no number in a header can overflow it.
void RedisCuckooChain::CompactIfDue(uint64_t items) {
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

void RedisCuckooChain::Compact() { CompactInSlices(true); }

void RedisCuckooChain::CompactAfterRemovals() {
  CompactInSlices(false);
  ForgetDueCompaction();
}

void RedisCuckooChain::CompactInSlices(bool past_stuck) {
  constexpr uint64_t kSteps = 1000;
  Compaction compaction{.past_stuck = past_stuck, .index = std::numeric_limits<uint64_t>::max()};
  for (bool more = true; more;) {
    writers().GiveWay();
    const LockGuard lock(writers());
    more = Compact(compaction, kSteps);
    BumpChangeCount();
    MarkChanged();
  }
}

// Newest first. Only a newest sub-filter can be taken off, so that one that keeps a fingerprint keeps all older ones,
// too. False once it has come to the end; after about `steps` slots looked into otherwise.
bool RedisCuckooChain::Compact(Compaction& compaction, uint64_t steps) {
  if (compaction.index >= filters()) compaction = {compaction.past_stuck, filters() - 1};  // others took some off
  MarkRoom(0);
  for (; compaction.index > 0; --compaction.index, compaction.slot = 0) {
    RedisCuckooTable& table = *chain_.tables()[compaction.index];
    for (; table.items() != 0 && compaction.slot < table.slots(); ++compaction.slot) {
      if (steps == 0) return true;
      steps -= std::min(steps, 1 + MoveInto(table, compaction.slot, compaction.index));
    }
    const bool empty = table.items() == 0;
    if (empty && compaction.index + 1 == filters()) {
      chain_.TakeOffNewest();
      SetSizeBytes(chain_.size_bytes());
    }
    if (!empty && !compaction.past_stuck) break;
  }
  deletes_ = 0;
  return false;
}

// To the oldest sub-filter before `index` that has room. Returns how many it looked into.
uint64_t RedisCuckooChain::MoveInto(RedisCuckooTable& from, uint64_t slot, uint64_t index) {
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

// ---- reporting

RedisCuckooHeader RedisCuckooChain::CurrentHeader() const {
  RedisCuckooHeader header = shape_;
  header.items = ItemCount();
  header.deletes = deletes_;
  header.filters = filters();
  return header;
}

RedisCuckooHeader RedisCuckooChain::Header() const {
  const LockGuard lock(writers());
  return CurrentHeader();
}

std::string RedisCuckooChain::ReadChunk(uint64_t offset, uint64_t most) const {
  const LockGuard lock(writers());
  std::string chunk;
  for (const auto& table : chain_.tables()) {
    if (offset >= table->slots()) {
      offset -= table->slots();
      continue;
    }
    chunk.resize(std::min(table->slots() - offset, most));
    table->memory().CopyOut(offset, std::as_writable_bytes(std::span(chunk)));
    break;
  }
  return chunk;
}

bool RedisCuckooChain::WriteChunk(uint64_t offset, std::string_view bytes) {
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
    MarkRoom(0);
    BumpChangeCount();
    MarkChanged();
    return true;
  }
  return false;
}

uint64_t RedisCuckooChain::HeldBytes() const {
  return overhead_.bytes() + chain_.held_bytes() + (full_ == nullptr ? 0 : full_->reservation.bytes());
}

uint64_t RedisCuckooChain::size_bytes() const {
  const LockGuard lock(writers());
  return HeldBytes();
}

uint64_t RedisCuckooChain::heap_bytes() const {
  const LockGuard lock(writers());
  uint64_t bytes = BlockBytes(sizeof(RedisCuckooChain)) + chain_.HeapBytes();
  if (full_ != nullptr) bytes += core::BlockBytes(sizeof(FullPairs));
  for (const auto& table : chain_.all_tables()) {
    bytes += core::BlockBytes(sizeof(RedisCuckooTable));
    if (table->memory().is_own()) bytes += ContentBytes(table->size_bytes());
  }
  return bytes;
}

FilterInfo RedisCuckooChain::Info() const {
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

double RedisCuckooChain::Compared(uint64_t buckets, uint64_t items) {
  const double distinct = 2 - static_cast<double>(kFingerprints / buckets) / static_cast<double>(kFingerprints);
  return distinct * static_cast<double>(items) / static_cast<double>(buckets);
}

std::optional<double> RedisCuckooChain::EstimatedErrorRate() const {
  const LockGuard lock(writers());
  double compared = 0;
  for (const auto& table : chain_.tables()) compared += Compared(table->buckets(), table->items());
  return 1 - std::pow(1 - 1.0 / kFingerprints, compared);
}

// ---- images

std::unique_ptr<FilterImage> RedisCuckooChain::DoCapture(const ImagePool& pool) const {
  std::string header;
  BeginHeader(header, kRedisCuckooType);
  header += EncodeRedisCuckooHeader(CurrentHeader());
  SealHeader(header);
  auto image = std::make_unique<PartsImage>(std::move(header), writers());
  for (const auto& table : chain_.tables()) image->AddPart(table->memory(), table->slots(), pool);
  return image;
}

}  // namespace bitsieve::core
