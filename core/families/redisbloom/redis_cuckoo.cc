#include "core/families/redisbloom/redis_cuckoo.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/copied_image.h"
#include "core/filter/image_header.h"
#include "core/memory/count_bits.h"

namespace bitsieve::core {

namespace {

// Bits of RedisCuckoo::place_.
constexpr uint8_t kLarge = 0x40;
constexpr uint8_t kSlotsApart = 0x80;  // the slots have a block of their own

// Bits of Filter::own_word() that hold an address; addresses take no more.
constexpr int kAddressBits = 48;
constexpr uint64_t kAddress = (uint64_t{1} << kAddressBits) - 1;

// Returns the bytes of the slots, rounded up to whole words.
uint64_t DataBytes(uint64_t slots) { return (slots + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t); }

std::string ImageHeader(const RedisCuckooHeader& header) {
  std::string bytes;
  BeginHeader(bytes, kRedisCuckooType);
  bytes += EncodeRedisCuckooHeader(header);
  SealHeader(bytes);
  return bytes;
}

}  // namespace

struct RedisCuckoo::Large {
  std::unique_ptr<RedisCuckooChain> chain;
  uint64_t changes;  // before it became large
  uint8_t* slots;    // the small filter's, if they have a block of their own
};

// ---- making

RedisCuckoo::RedisCuckoo(const RedisCuckooHeader& header, MemoryBudget& budget, uint8_t place)
    : Filter(RedisCuckooParamsFor(header), budget), place_(place) {
  SetSizeBytes(0);
}

bool RedisCuckoo::IsSmall(const RedisCuckooHeader& header) {
  return header.filters == 1 && header.deletes <= UINT32_MAX / 2 && header.TableBytes(0) <= kMaxSmallBytes;
}

Result<std::unique_ptr<RedisCuckoo>> RedisCuckoo::MakeSmall(const RedisCuckooHeader& header, MemoryBudget& budget) {
  const uint64_t bytes = DataBytes(header.TableBytes(0));
  const uint64_t in_one = BlockBytes(sizeof(RedisCuckoo) + bytes);
  const uint64_t in_two = BlockBytes(sizeof(RedisCuckoo)) + core::BlockBytes(bytes);
  const bool apart = in_two < in_one;
  MemoryReservation own = MemoryReservation::TryTake(budget, std::min(in_one, in_two));
  if (!own.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a cuckoo filter");
  std::unique_ptr<uint8_t[]> slots(apart ? new uint8_t[bytes]() : nullptr);
  const uint64_t further = apart ? 0 : bytes;
  const auto log2_buckets = static_cast<uint8_t>(std::countr_zero(header.buckets));
  const auto place = static_cast<uint8_t>(log2_buckets | (apart ? kSlotsApart : 0));
  std::unique_ptr<RedisCuckoo> filter(new (Further{further}) RedisCuckoo(header, budget, place));
  own.Detach();
  std::memset(static_cast<void*>(filter.get() + 1), 0, further);
  filter->own_word() = reinterpret_cast<uintptr_t>(slots.release());
  return filter;
}

Result<std::unique_ptr<Filter>> RedisCuckoo::Make(const FilterParams& params, MemoryBudget& budget) {
  const RedisCuckooHeader header = RedisCuckooHeaderFor(params);
  if (IsSmall(header)) {
    auto made = MakeSmall(header, budget);
    if (!made) return tl::unexpected(std::move(made).error());
    return std::move(*made);
  }
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
  if (IsSmall(header)) {
    auto made = MakeSmall(header, budget);
    if (!made) return tl::unexpected(std::move(made).error());
    const LockGuard lock((*made)->writers());  // no other thread knows the filter yet
    tables[0]->memory().CopyOut(0, std::as_writable_bytes(std::span((*made)->data(), (*made)->slot_count())));
    (*made)->items_ = static_cast<uint32_t>(tables[0]->items());
    (*made)->deletes_ = static_cast<uint32_t>(header.deletes);
    return std::move(*made);
  }
  auto chain = RedisCuckooChain::FromTables(header, std::move(tables), budget);
  if (!chain) return tl::unexpected(std::move(chain).error());
  MemoryReservation own = MemoryReservation::TryTake(budget, BlockBytes(sizeof(RedisCuckoo)));
  if (!own.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a cuckoo filter");
  auto large = std::make_unique<Large>(Large{std::move(*chain), 0, nullptr});
  std::unique_ptr<RedisCuckoo> filter(new RedisCuckoo(header, budget, kLarge));
  own.Detach();
  filter->own_word() = reinterpret_cast<uintptr_t>(large.release()) + 1;
  filter->SetSizeBytes(UINT64_MAX);  // the chain knows better
  return filter;
}

RedisCuckoo::~RedisCuckoo() {
  budget().GiveBack(OwnBlocks());
  const std::unique_ptr<uint8_t[]> slots((place_ & kSlotsApart) != 0 ? data() : nullptr);  // outlives the chain
  delete large();
}

// ---- where it lies

const RedisCuckoo::Large* RedisCuckoo::large() const {
  const uint64_t word = own_word().load(std::memory_order_acquire);
  return word % 2 == 0 ? nullptr : reinterpret_cast<const Large*>(word - 1);
}
RedisCuckooChain* RedisCuckoo::ChainOf(const Large& large) { return large.chain.get(); }

uint64_t RedisCuckoo::mask() const { return (uint64_t{1} << (place_ & ~(kLarge | kSlotsApart))) - 1; }
uint32_t RedisCuckoo::bucket_size() const { return RedisCuckooParamsOf(shared_params()).bucket_size; }
uint8_t* RedisCuckoo::data() const {
  if ((place_ & kSlotsApart) == 0) return reinterpret_cast<uint8_t*>(const_cast<RedisCuckoo*>(this + 1));
  const uint64_t word = own_word().load(std::memory_order_acquire);
  return word % 2 == 0 ? reinterpret_cast<uint8_t*>(word & kAddress) : reinterpret_cast<const Large*>(word - 1)->slots;
}
BitMemory RedisCuckoo::Lend() const {
  return BitMemory::Lent(std::as_writable_bytes(std::span(data(), DataBytes(slot_count()))));
}

// Returns the bytes of the filter's own blocks, without those of the chain.
uint64_t RedisCuckoo::OwnBlocks() const {
  if (place_ == kLarge) return BlockBytes(sizeof(RedisCuckoo));
  const uint64_t bytes = DataBytes(slot_count());
  if ((place_ & kSlotsApart) == 0) return BlockBytes(sizeof(RedisCuckoo) + bytes);
  return BlockBytes(sizeof(RedisCuckoo)) + core::BlockBytes(bytes);
}

// Returns how many bytes of the chain, if there is one, are in the filter's own blocks.
uint64_t RedisCuckoo::LentBytes() const { return place_ == kLarge ? 0 : DataBytes(slot_count()); }

// ---- reading

// Looks an item up while a writer may run: retries until it finds the item, nothing moved, or the filter has grown.
bool RedisCuckoo::Holds(const KeyHash& hash) const {
  constexpr int kPatience = 64;  // then the writer may have been put to sleep amid a move
  for (int tries = 1;; ++tries) {
    if (const RedisCuckooChain* const chain = this->chain()) {
      uint8_t present = 0;
      chain->MayContain({&hash, 1}, {&present, 1});
      return present != 0;
    }
    const uint32_t seen = version_.Current();
    if (Slots().Contains(RedisCuckooSlots::FingerprintOf(hash))) return true;
    if (version_.Unchanged(seen)) return false;
    if (tries % kPatience == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void RedisCuckoo::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  if (const RedisCuckooChain* const chain = this->chain()) return chain->MayContain(hashes, present);
  for (size_t i = 0; i < hashes.size(); ++i) present[i] = Holds(hashes[i]) ? 1 : 0;
}

void RedisCuckoo::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  if (const RedisCuckooChain* const chain = this->chain()) return chain->Count(hashes, counts);
  const LockGuard lock(writers());
  if (const RedisCuckooChain* const chain = this->chain()) return chain->Count(hashes, counts);
  const RedisCuckooSlots slots = Slots();
  for (size_t i = 0; i < hashes.size(); ++i) counts[i] = slots.Count(RedisCuckooSlots::FingerprintOf(hashes[i]));
}

void RedisCuckoo::PrefetchLines(std::span<const KeyHash> hashes) const {
  if (const RedisCuckooChain* const chain = this->chain()) chain->Prefetch(hashes);
}

uint64_t RedisCuckoo::ItemCount() const {
  const RedisCuckooChain* const chain = this->chain();
  return chain == nullptr ? items_.load(std::memory_order_relaxed) : chain->ItemCount();
}

// Each addition and removal makes it larger by one; other changes by more than those could have added up to.
uint64_t RedisCuckoo::ChangeCount() const {
  constexpr int kOtherChange = 34;  // log2
  const uint64_t word = own_word().load(std::memory_order_acquire);
  if (word % 2 != 0) {
    const auto& large = *reinterpret_cast<const Large*>(word - 1);
    return large.changes + large.chain->ChangeCount();
  }
  return (word >> kAddressBits << kOtherChange) + uint64_t{2} * deletes_.load(std::memory_order_acquire) +
         items_.load(std::memory_order_acquire);
}

uint32_t RedisCuckoo::SubFilters() const {
  const RedisCuckooChain* const chain = this->chain();
  return chain == nullptr ? 1 : chain->SubFilters();
}

uint64_t RedisCuckoo::size_bytes() const {
  const RedisCuckooChain* const chain = this->chain();
  return OwnBlocks() + (chain == nullptr ? 0 : chain->size_bytes() - LentBytes());
}

uint64_t RedisCuckoo::heap_bytes() const {
  const RedisCuckooChain* const chain = this->chain();
  return OwnBlocks() + (chain == nullptr ? 0 : core::BlockBytes(sizeof(Large)) + chain->heap_bytes());
}

std::optional<FilterUse> RedisCuckoo::Use() const {
  const RedisCuckooChain* const chain = this->chain();
  return chain == nullptr ? std::nullopt : chain->Use();
}

UseCounters* RedisCuckoo::use_counters() {
  RedisCuckooChain* const chain = this->chain();
  return chain == nullptr ? nullptr : chain->use_counters();
}

FilterInfo RedisCuckoo::Info() const {
  FilterInfo info;
  if (const RedisCuckooChain* const chain = this->chain()) {
    info = chain->Info();
    info.size_bytes += OwnBlocks() - LentBytes();
    return info;
  }
  info.size_bytes = OwnBlocks();
  info.capacity = slot_count();
  info.sub_filters = 1;
  info.items = ItemCount();
  info.fill_ratio = static_cast<double>(info.items) / static_cast<double>(info.capacity);
  info.hash_functions = 1;
  info.bits_per_item = 8;
  return info;
}

std::optional<double> RedisCuckoo::EstimatedErrorRate() const {
  if (const RedisCuckooChain* const chain = this->chain()) return chain->EstimatedErrorRate();
  return 1 - std::pow(1 - 1.0 / RedisCuckooChain::kFingerprints, RedisCuckooChain::Compared(mask() + 1, ItemCount()));
}

RedisCuckooHeader RedisCuckoo::CurrentHeader() const {
  RedisCuckooHeader header = RedisCuckooHeaderFor(shared_params());
  header.items = ItemCount();
  header.deletes = deletes_;
  return header;
}

RedisCuckooHeader RedisCuckoo::Header() const {
  const LockGuard lock(writers());
  const RedisCuckooChain* const chain = this->chain();
  return chain == nullptr ? CurrentHeader() : chain->Header();
}

std::string RedisCuckoo::ReadChunk(uint64_t offset, uint64_t most) const {
  const LockGuard lock(writers());
  if (const RedisCuckooChain* const chain = this->chain()) return chain->ReadChunk(offset, most);
  const uint64_t slots = slot_count();
  if (offset >= slots) return {};
  return {reinterpret_cast<const char*>(data()) + offset, std::min(slots - offset, most)};
}

std::unique_ptr<FilterImage> RedisCuckoo::DoCapture(const ImagePool& pool) const {
  if (const RedisCuckooChain* const chain = this->chain()) return chain->Capture(pool);
  return std::make_unique<CopiedImage>(ImageHeader(CurrentHeader()),
                                       std::string(reinterpret_cast<const char*>(data()), slot_count()));
}

// ---- changing

size_t RedisCuckoo::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) {
    outcomes[i] = AddOne(RedisCuckooSlots::FingerprintOf(hashes[i]), Presence::kReported);
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
    outcomes[done] = AddOne(RedisCuckooSlots::FingerprintOf(hashes[done]), presence);
  }
  ReportAdded(hashes.first(done), outcomes.first(done), presence != Presence::kSkipped, hashes.size());
  return done;
}

AddOutcome RedisCuckoo::AddOne(const CuckooFingerprint& fingerprint, Presence presence) {
  if (RedisCuckooChain* const chain = this->chain()) {
    const LockGuard lock(chain->writers());
    return chain->AddOne(fingerprint, presence);
  }
  const bool present = presence != Presence::kIgnored && Slots().Contains(fingerprint);
  if (present && presence == Presence::kSkipped) return AddOutcome::kPresent;
  const AddOutcome outcome = Store(fingerprint);
  if (outcome != AddOutcome::kAdded) return outcome;
  return present ? AddOutcome::kPresent : AddOutcome::kAdded;
}

// And counts it.
AddOutcome RedisCuckoo::Store(const CuckooFingerprint& fingerprint) {
  const RedisCuckooSlots slots = Slots();
  bool placed = slots.Place(fingerprint);
  if (!placed) {
    const BasicMoveVersion<uint32_t>::Move move(version_);
    placed = slots.Kick(fingerprint, RedisCuckooParamsOf(shared_params()).max_iterations);
  }
  if (placed) {
    items_.fetch_add(1, std::memory_order_release);
    return AddOutcome::kAdded;
  }
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const AddOutcome grown = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return BecomeLarge(); });
  return grown == AddOutcome::kAdded ? AddOne(fingerprint, Presence::kIgnored) : grown;
}

// With the same slots. Readers that see no chain yet see it before they take anything for missing.
AddOutcome RedisCuckoo::BecomeLarge() {
  const RedisCuckooHeader header = CurrentHeader();
  std::vector<std::unique_ptr<RedisCuckooTable>> tables;
  tables.push_back(std::make_unique<RedisCuckooTable>(header.buckets, bucket_size(), Lend(), header.items));
  auto chain = RedisCuckooChain::FromTables(header, std::move(tables), budget());
  if (!chain) return AddOutcome::kOutOfMemory;
  auto large =
      std::make_unique<Large>(Large{std::move(*chain), ChangeCount(), (place_ & kSlotsApart) != 0 ? data() : nullptr});
  own_word().store(reinterpret_cast<uintptr_t>(large.release()) + 1, std::memory_order_release);
  version_.Close();
  SetSizeBytes(UINT64_MAX);  // the chain knows better
  return AddOutcome::kAdded;
}

bool RedisCuckoo::CountOtherChange() {
  if (own_word().load(std::memory_order_relaxed) >> kAddressBits != UINT16_MAX) {
    own_word().fetch_add(uint64_t{1} << kAddressBits, std::memory_order_release);
    return true;
  }
  (void)UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return BecomeLarge(); });
  return false;
}

void RedisCuckoo::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) removed[i] = RemoveOne(RedisCuckooSlots::FingerprintOf(hashes[i])) ? 1 : 0;
}

bool RedisCuckoo::RemoveOne(const CuckooFingerprint& fingerprint) {
  if (RedisCuckooChain* const chain = this->chain()) {
    const LockGuard lock(chain->writers());
    return chain->RemoveOne(fingerprint);
  }
  if (!Slots().Take(fingerprint)) return false;
  deletes_.fetch_add(1, std::memory_order_release);
  items_.fetch_sub(1, std::memory_order_release);
  return true;
}

void RedisCuckoo::Compact() {
  {
    const LockGuard lock(writers());
    if (chain() == nullptr && CountOtherChange()) {
      deletes_ = 0;
      return MarkChanged();
    }
  }
  if (chain() != nullptr) chain()->Compact();
  const LockGuard lock(writers());
  MarkChanged();
}

void RedisCuckoo::CompactAfterRemovals() {
  if (chain() == nullptr) return;
  chain()->CompactAfterRemovals();
  const LockGuard lock(writers());
  MarkChanged();
}

bool RedisCuckoo::WriteChunk(uint64_t offset, std::string_view bytes) {
  const LockGuard lock(writers());
  if (RedisCuckooChain* const chain = this->chain()) {
    if (!chain->WriteChunk(offset, bytes)) return false;
    MarkChanged();
    return true;
  }
  const uint64_t slots = slot_count();
  if (offset >= slots || bytes.size() > slots - offset) return false;
  if (!CountOtherChange()) return chain() != nullptr && chain()->WriteChunk(offset, bytes);
  {
    const BasicMoveVersion<uint32_t>::Move move(version_);
    Lend().CopyIn(offset, AsBytes(bytes));
  }
  items_ = static_cast<uint32_t>(CountSetFields(std::as_bytes(std::span(data(), slots)), 8));
  MarkChanged();
  return true;
}

}  // namespace bitsieve::core
