#include "core/filters/redis_cuckoo.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <mutex>
#include <new>

#include "core/filters/filter_header.h"
#include "core/filters/parts_image.h"

namespace bitsieve::core {

// Of the last pairs of buckets that had no room in any sub-filter: how many there were then.
struct RedisCuckoo::FullPairs {
  static constexpr uint64_t kFromFilters = 16;  // fewer are as soon looked into

  struct Pair {
    uint64_t first = 0;
    uint64_t filters = 0;
    uint8_t print = 0;
  };

  explicit FullPairs(MemoryReservation reserved) : reservation(std::move(reserved)) {}
  Pair& Of(const CuckooPrint& print) { return pairs[(print.first * 0x9E3779B97F4A7C15ULL) >> 56]; }

  const MemoryReservation reservation;
  std::array<Pair, 256> pairs;
};

// How far a compaction has come.
struct RedisCuckoo::Compaction {
  bool past_stuck;
  uint64_t index;  // of the sub-filter whose prints are being moved
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
  if (Status status = Validate(params); !status) return tl::unexpected(std::move(status).error());
  const RedisCuckooHeader header = RedisCuckooHeaderFor(params);
  auto table = RedisCuckooTable::Make(header.buckets, header.bucket_size, nullptr, budget);
  if (!table) return tl::unexpected(std::move(table).error());
  std::vector<std::unique_ptr<RedisCuckooTable>> tables;
  tables.push_back(std::move(*table));
  return FromTables(header, std::move(tables), budget);
}

Result<std::unique_ptr<Filter>> RedisCuckoo::FromTables(const RedisCuckooHeader& header,
                                                        std::vector<std::unique_ptr<RedisCuckooTable>> tables,
                                                        MemoryBudget& budget) {
  assert(!tables.empty() && tables.size() == header.filters);
  Result<std::unique_ptr<RedisCuckoo>> filter = MakeBare(header, budget);
  if (!filter) return tl::unexpected(std::move(filter).error());
  uint64_t items = 0;
  for (const auto& table : tables) items += table->items();
  (*filter)->tables_ = std::move(tables);
  (*filter)->items_ = items;
  (*filter)->deletes_ = header.deletes;
  (*filter)->Link((*filter)->tables_.back().get(), header.filters);
  return std::move(*filter);
}

void RedisCuckoo::Link(RedisCuckooTable* table, uint64_t filters) {
  for (uint64_t i = this->filters(); i < filters; ++i) linked_bytes_ += tables_[i]->memory().size_bytes();
  for (uint64_t i = this->filters(); i > filters; --i) linked_bytes_ -= tables_[i - 1]->memory().size_bytes();
  newest_.store(table, std::memory_order_release);
  filters_.store(filters, std::memory_order_release);
  NoteSizeBytes(linked_bytes_);
}

// ---- reading

bool RedisCuckoo::Contains(const CuckooPrint& print) const {
  for (const RedisCuckooTable* table = newest(); table != nullptr; table = table->older()) {
    if (table->Contains(print)) return true;
  }
  return false;
}

void RedisCuckoo::PrefetchLines(const KeyHash& hash) const {
  constexpr int kMost = 32;  // of very many sub-filters the others may never be looked at
  const CuckooPrint print = RedisCuckooTable::PrintOf(hash);
  const RedisCuckooTable* table = newest();
  for (int i = 0; table != nullptr && i < kMost; table = table->older(), ++i) table->Prefetch(print);
}

void RedisCuckoo::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  version_.FindEach(present, [&](size_t i) { return Contains(RedisCuckooTable::PrintOf(hashes[i])); });
}

void RedisCuckoo::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const CuckooPrint print = RedisCuckooTable::PrintOf(hashes[i]);
    counts[i] = version_.AtRest([&] {
      uint64_t count = 0;
      for (const RedisCuckooTable* table = newest(); table != nullptr; table = table->older()) {
        count += table->Count(print);
      }
      return count;
    });
  }
}

// ---- adding

size_t RedisCuckoo::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) {
    outcomes[i] = AddOne(RedisCuckooTable::PrintOf(hashes[i]), Presence::kTold);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

size_t RedisCuckoo::Insert(std::span<const KeyHash> hashes, Presence presence, uint64_t most_filters,
                           std::span<AddOutcome> outcomes) {
  const std::lock_guard lock(writers());
  if (!ReserveReport(hashes.size())) {
    std::fill_n(outcomes.begin(), hashes.size(), AddOutcome::kOutOfMemory);
    return hashes.size();
  }
  size_t done = 0;
  for (; done < hashes.size() && filters() < most_filters; ++done) {
    outcomes[done] = AddOne(RedisCuckooTable::PrintOf(hashes[done]), presence);
  }
  ReportAdded(hashes.first(done), outcomes.first(done), presence != Presence::kSkipped, hashes.size());
  return done;
}

AddOutcome RedisCuckoo::AddOne(const CuckooPrint& print, Presence presence) {
  const bool present = presence != Presence::kIgnored && Contains(print);
  if (present && presence == Presence::kSkipped) return AddOutcome::kPresent;
  const AddOutcome outcome = Store(print);
  if (outcome != AddOutcome::kAdded) return outcome;
  items_.store(ItemCount() + 1, std::memory_order_relaxed);
  TellChange();
  return present ? AddOutcome::kPresent : AddOutcome::kAdded;
}

AddOutcome RedisCuckoo::Store(const CuckooPrint& print) {
  const uint64_t full = FullBefore(print);
  for (uint64_t i = filters(); i > full; --i) {
    if (tables_[i - 1]->Place(print)) return AddOutcome::kAdded;
  }
  NoteFull(print);
  {
    const MoveVersion::Move move(version_);
    if (newest()->Kick(print, shape_.max_iterations)) return AddOutcome::kAdded;
  }
  if (const AddOutcome grown = UnlessMemoryIsRefused([this] { return Grow(); }); grown != AddOutcome::kAdded)
    return grown;
  const bool placed = newest()->Place(print);
  assert(placed && "it is empty");
  return placed ? AddOutcome::kAdded : AddOutcome::kFull;
}

// So many of the oldest sub-filters are known to have no room for it.
uint64_t RedisCuckoo::FullBefore(const CuckooPrint& print) const {
  if (full_ == nullptr) return 0;
  const FullPairs::Pair& pair = full_->Of(print);
  return pair.first == print.first && pair.print == print.print ? pair.filters : 0;
}

// Kicks leave a bucket as full as it was.
void RedisCuckoo::NoteFull(const CuckooPrint& print) {
  if (filters() < FullPairs::kFromFilters) return;
  if (full_ == nullptr) {
    MemoryReservation reservation = MemoryReservation::TryTake(budget(), sizeof(FullPairs));
    if (reservation.held()) full_.reset(new (std::nothrow) FullPairs(std::move(reservation)));
    if (full_ == nullptr) return;
  }
  full_->Of(print) = {print.first, filters(), print.print};
}

// A slot of the sub-filter became free.
void RedisCuckoo::NoteRoom(uint64_t index) {
  if (full_ == nullptr) return;
  for (FullPairs::Pair& pair : full_->pairs) pair.filters = std::min(pair.filters, index);
}

AddOutcome RedisCuckoo::Grow() {
  constexpr uint64_t kMaxTableBytes = uint64_t{1} << 50;
  if (!params().scaling()) return AddOutcome::kFull;
  const uint64_t index = filters();
  const uint64_t bytes = shape_.TableBytes(index);
  if (index >= kMaxRedisCuckooFilters || bytes > kMaxTableBytes) return AddOutcome::kCannotGrow;
  if (index == tables_.size()) {
    auto table = RedisCuckooTable::Make(bytes / shape_.bucket_size, shape_.bucket_size, newest(), budget());
    if (!table) return AddOutcome::kOutOfMemory;
    tables_.push_back(std::move(*table));
  }
  Link(tables_[index].get(), index + 1);
  return AddOutcome::kAdded;
}

// ---- removing

void RedisCuckoo::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) removed[i] = RemoveOne(RedisCuckooTable::PrintOf(hashes[i])) ? 1 : 0;
}

bool RedisCuckoo::RemoveOne(const CuckooPrint& print) {
  uint64_t index = filters();
  while (index > 0 && !tables_[index - 1]->Take(print)) --index;
  if (index == 0) return false;
  NoteRoom(index - 1);
  const uint64_t items = ItemCount() - 1;
  items_.store(items, std::memory_order_relaxed);
  ++deletes_;
  TellChange();
  CompactIfDue(items);
  return true;
}

// Once more than a tenth of what is left was removed; written so that no number in a header can overflow it.
void RedisCuckoo::CompactIfDue(uint64_t items) {
  constexpr uint64_t kSmallBytes = 32 * 1024;  // a millisecond at most
  if (filters() == 1 || deletes_ <= items / 10) return;
  if (linked_bytes_ <= kSmallBytes) {
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
    const std::lock_guard lock(writers());
    more = Compact(compaction, kSteps);
    TellChange();
    NoteChanged();
  }
}

// Newest first. Only a newest sub-filter can be taken off, so that one that keeps a print keeps all older ones, too.
// False once it has come to the end; after about `steps` slots looked into otherwise.
bool RedisCuckoo::Compact(Compaction& compaction, uint64_t steps) {
  if (compaction.index >= filters()) compaction = {compaction.past_stuck, filters() - 1};  // others took some off
  NoteRoom(0);
  for (; compaction.index > 0; --compaction.index, compaction.slot = 0) {
    RedisCuckooTable& table = *tables_[compaction.index];
    for (; table.items() != 0 && compaction.slot < table.slots(); ++compaction.slot) {
      if (steps == 0) return true;
      steps -= std::min(steps, 1 + MoveInto(table, compaction.slot, compaction.index));
    }
    const bool empty = table.items() == 0;
    if (empty && compaction.index + 1 == filters()) Link(tables_[compaction.index - 1].get(), compaction.index);
    if (!empty && !compaction.past_stuck) break;
  }
  deletes_ = 0;
  return false;
}

// To the oldest sub-filter before `index` that has room. Returns how many it looked into.
uint64_t RedisCuckoo::MoveInto(RedisCuckooTable& from, uint64_t slot, uint64_t index) {
  const std::optional<CuckooPrint> print = from.PrintAt(slot);
  if (!print) return 0;
  const MoveVersion::Move move(version_);
  for (uint64_t i = 0; i < index; ++i) {
    if (!tables_[i]->Place(*print)) continue;
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
  const std::lock_guard lock(writers());
  return CurrentHeader();
}

std::string RedisCuckoo::ReadChunk(uint64_t offset) const {
  const std::lock_guard lock(writers());
  std::string chunk;
  for (uint64_t i = 0; i < filters(); ++i) {
    const RedisCuckooTable& table = *tables_[i];
    if (offset >= table.slots()) {
      offset -= table.slots();
      continue;
    }
    chunk.resize(std::min(table.slots() - offset, kChunkBytes));
    table.memory().CopyOut(offset, std::as_writable_bytes(std::span(chunk)));
    break;
  }
  return chunk;
}

FilterInfo RedisCuckoo::Info() const {
  const std::lock_guard lock(writers());
  FilterInfo info;
  info.size_bytes = overhead_.bytes();
  for (const auto& table : tables_) info.size_bytes += table->memory_bytes();
  if (full_ != nullptr) info.size_bytes += full_->reservation.bytes();
  for (uint64_t i = 0; i < filters(); ++i) {
    info.capacity += tables_[i]->slots();
  }
  info.links = static_cast<uint32_t>(filters());
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
  const std::lock_guard lock(writers());
  double compared = 0;
  for (uint64_t i = 0; i < filters(); ++i) {
    const uint64_t buckets = tables_[i]->buckets();
    const double distinct = 2 - static_cast<double>(kFingerprints / buckets) / kFingerprints;
    compared += distinct * static_cast<double>(tables_[i]->items()) / static_cast<double>(buckets);
  }
  return 1 - std::pow(1 - 1.0 / kFingerprints, compared);
}

// ---- images

std::unique_ptr<FilterImage> RedisCuckoo::DoCapture(const ImagePool& pool) const {
  std::string header;
  BeginHeader(header, FilterKind::kRedisCuckoo);
  header += EncodeRedisCuckooHeader(CurrentHeader());
  SealHeader(header);
  auto image = std::make_unique<PartsImage>(std::move(header), writers());
  for (uint64_t i = 0; i < filters(); ++i) image->AddPart(tables_[i]->memory(), tables_[i]->slots(), pool);
  return image;
}

}  // namespace bitsieve::core
