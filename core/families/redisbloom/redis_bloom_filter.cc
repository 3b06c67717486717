#include "core/families/redisbloom/redis_bloom_filter.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/bloom/positions.h"
#include "core/families/redisbloom/redis_bloom.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/memory/count_bits.h"

namespace bitsieve::core {

namespace {

constexpr uint32_t kBitsApart = uint32_t{1} << 31;  // the bits have a block of their own

uint32_t BitsWithout(uint32_t bits) { return bits & ~kBitsApart; }

uint64_t* WordsAfter(const void* end, bool apart) {
  auto* const after = reinterpret_cast<uint64_t*>(const_cast<void*>(end));
  return apart ? *reinterpret_cast<uint64_t* const*>(after) : after;
}

// In one block or in two.
struct Placing {
  bool apart;
  uint64_t further;  // bytes after the object

  // `block_bytes` says what a block takes that has the object and so many further bytes.
  template <class BlockBytesWith>
  static Placing Of(uint64_t bytes, const BlockBytesWith& block_bytes) {
    const bool apart = block_bytes(bytes) > block_bytes(sizeof(void*)) + BlockBytes(bytes);
    return {apart, apart ? sizeof(void*) : bytes};
  }
};

// All 0. May throw std::bad_alloc.
uint64_t* NewWords(uint64_t bytes) {
  void* const words = ::operator new(bytes);
  std::memset(words, 0, bytes);
  return static_cast<uint64_t*>(words);
}
struct DeleteWords {
  void operator()(uint64_t* words) const { ::operator delete(words); }
};

// Takes from no account that limits anything: for chains of the moment.
MemoryBudget& Unlimited() {
  static MemoryBudget& budget = *new MemoryBudget;
  return budget;
}

}  // namespace

// A sub-filter after the first, in front of its bits.
struct RedisBloomFilter::Link {
  const Link* older;  // null: the filter's first sub-filter is
  uint32_t capacity;
  mutable std::atomic<uint32_t> items{0};  // released after an item's bits are set
  uint32_t bits;                           // with kBitsApart
  uint16_t index;                          // 1 for the filter's second sub-filter
  uint8_t hashes;
};

struct RedisBloomFilter::Large {
  const Link* links;  // from before it was large: the bits are in the chain
  std::unique_ptr<RedisBloomChain> chain;
};

// ---- bits

bool RedisBloomFilter::Bits::Contain(const KeyHash& hash) const {
  SteppedPositions positions(hash, Modulus(count));
  for (uint32_t i = 0; i < hashes; ++i) {
    const uint64_t at = positions.Next();
    const uint64_t word = __atomic_load_n(words + at / 64, __ATOMIC_RELAXED);
    if ((word >> (at % 64) & 1) == 0) return false;
  }
  return true;
}

bool RedisBloomFilter::Bits::Add(const KeyHash& hash) const {
  SteppedPositions positions(hash, Modulus(count));
  uint64_t missing = 0;
  for (uint32_t i = 0; i < hashes; ++i) {
    const uint64_t at = positions.Next();
    const uint64_t bit = uint64_t{1} << (at % 64);
    const uint64_t before = __atomic_load_n(words + at / 64, __ATOMIC_RELAXED);
    missing |= bit & ~before;
    __atomic_store_n(words + at / 64, before | bit, __ATOMIC_RELAXED);
  }
  return missing != 0;
}

// ---- the parts

const RedisBloomFilter::Link* RedisBloomFilter::newest_link() const {
  const uint64_t word = own_word().load(std::memory_order_acquire);
  if (word % 2 != 0) return large()->links;
  return reinterpret_cast<const Link*>(word);
}

const RedisBloomFilter::Large* RedisBloomFilter::large() const {
  const uint64_t word = own_word().load(std::memory_order_acquire);
  return word % 2 == 0 ? nullptr : reinterpret_cast<const Large*>(word - 1);
}

RedisBloomChain* RedisBloomFilter::chain() const {
  const Large* const large = this->large();
  return large == nullptr ? nullptr : large->chain.get();
}

RedisBloomFilter::Bits RedisBloomFilter::FirstBits() const {
  return {WordsAfter(this + 1, (bits_ & kBitsApart) != 0), BitsWithout(bits_), hashes_};
}
RedisBloomFilter::Bits RedisBloomFilter::BitsOf(const Link& link) {
  return {WordsAfter(&link + 1, (link.bits & kBitsApart) != 0), BitsWithout(link.bits), link.hashes};
}

RedisBloomFilter::Bits RedisBloomFilter::NewestBits() const {
  const Link* const newest = newest_link();
  return newest == nullptr ? FirstBits() : BitsOf(*newest);
}
std::atomic<uint32_t>& RedisBloomFilter::NewestItems() {
  const Link* const newest = newest_link();
  return newest == nullptr ? items_ : newest->items;
}

bool RedisBloomFilter::Holds(const KeyHash& hash) const {
  for (const Link* link = newest_link(); link != nullptr; link = link->older) {
    if (BitsOf(*link).Contain(hash)) return true;
  }
  return FirstBits().Contain(hash);
}

uint32_t RedisBloomFilter::PartCount() const {
  const Link* const newest = newest_link();
  return newest == nullptr ? 1 : newest->index + 1U;
}

std::vector<RedisBloomFilter::Part> RedisBloomFilter::Parts() const {
  std::vector<Part> parts(PartCount());
  for (const Link* link = newest_link(); link != nullptr; link = link->older) {
    parts[link->index] = {BitsOf(*link), link->items.load(std::memory_order_relaxed)};
  }
  parts.front() = {FirstBits(), items_.load(std::memory_order_relaxed)};
  return parts;
}

Result<std::unique_ptr<RedisBloomChain>> RedisBloomFilter::LendChain(MemoryBudget& budget) const {
  const std::vector<Part> parts = Parts();
  const std::vector<SubFilterRecord> records = Records();
  std::vector<std::unique_ptr<SubFilter>> sub_filters;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::span words(parts[i].bits.words, parts[i].bits.count / 64);
    sub_filters.push_back(kRedisBloomLayout.make(records[i].shape, BitMemory::Lent(std::as_writable_bytes(words))));
    sub_filters.back()->Restore(parts[i].items, sub_filters.back()->CountSet(std::as_bytes(words)));
  }
  auto chain = ScalableFilter::MakeChain(kRedisBloomChain, params(), std::move(sub_filters), budget);
  if (!chain) return tl::unexpected(std::move(chain).error());
  return std::unique_ptr<RedisBloomChain>(static_cast<RedisBloomChain*>(chain->release()));
}

template <class Ask>
auto RedisBloomFilter::AskChain(const Ask& ask) const {
  if (const RedisBloomChain* const chain = this->chain()) return ask(*chain);
  const LockGuard lock(writers());
  if (const RedisBloomChain* const chain = this->chain()) return ask(*chain);
  const auto lent = LendChain(Unlimited());
  return ask(**lent);
}

// ---- making

RedisBloomFilter::RedisBloomFilter(const FilterParams& params, MemoryBudget& budget, uint32_t bits, uint32_t hashes)
    : Filter(params, budget), hashes_(static_cast<uint8_t>(hashes)), bits_(bits) {
  SetSizeBytes(0);
}

bool RedisBloomFilter::IsSmall(const SubFilterShape& shape) {
  return shape.BodyBytes() <= kMaxSmallBytes && shape.hash_functions <= kMaxSmallHashes && shape.log2_positions == 0 &&
         shape.bits % 64 == 0 && shape.capacity < UINT32_MAX;
}

Result<std::unique_ptr<RedisBloomFilter>> RedisBloomFilter::MakeEmpty(const FilterParams& params,
                                                                      const SubFilterShape* shape,
                                                                      MemoryBudget& budget) {
  const uint64_t bytes = shape == nullptr ? 0 : shape->BodyBytes();
  const auto block_bytes = [](uint64_t further) { return Filter::BlockBytes(sizeof(RedisBloomFilter) + further); };
  const Placing placing = Placing::Of(bytes, block_bytes);
  const uint64_t all = block_bytes(placing.further) + (placing.apart ? core::BlockBytes(bytes) : 0);
  MemoryReservation own = MemoryReservation::TryTake(budget, all);
  if (!own.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter");
  const auto bits = static_cast<uint32_t>(bytes * 8) | (placing.apart ? kBitsApart : 0);
  const uint32_t hashes = shape == nullptr ? 0 : shape->hash_functions;
  std::unique_ptr<uint64_t, DeleteWords> words(placing.apart ? NewWords(bytes) : nullptr);
  std::unique_ptr<RedisBloomFilter> filter(new (Further{placing.further})
                                               RedisBloomFilter(params, budget, bits, hashes));
  own.Detach();
  void* const after = filter.get() + 1;
  std::memset(after, 0, placing.further);
  if (placing.apart) *static_cast<uint64_t**>(after) = words.release();
  return filter;
}

Result<std::unique_ptr<Filter>> RedisBloomFilter::Make(const FilterParams& params, MemoryBudget& budget) {
  const Result<SubFilterShape> shape = RedisBloomChain::FirstShape(kRedisBloomChain, params);
  if (!shape) return tl::unexpected(shape.error());
  if (!IsSmall(*shape)) return ScalableFilter::Make(kRedisBloomChain, params, budget);
  auto made = MakeEmpty(params, &*shape, budget);
  if (!made) return tl::unexpected(std::move(made).error());
  return std::move(*made);
}

Result<std::unique_ptr<Filter>> RedisBloomFilter::Of(std::unique_ptr<ScalableFilter> made, MemoryBudget& budget) {
  std::unique_ptr<RedisBloomChain> chain(static_cast<RedisBloomChain*>(made.release()));
  const bool small = CanBeSmall(*chain);
  auto filter = MakeEmpty(chain->params(), small ? &chain->AllSubFilters()[0]->shape() : nullptr, budget);
  if (!filter) return tl::unexpected(std::move(filter).error());
  const LockGuard lock((*filter)->writers());  // no other thread has the filter yet
  if (!small) {
    (*filter)->Hold(std::move(chain));
    return std::move(*filter);
  }
  if (Status status = (*filter)->CopyFrom(*chain); !status) return tl::unexpected(std::move(status).error());
  return std::move(*filter);
}

// Whether its sub-filters are few and small, and their shapes those that its parameters give.
bool RedisBloomFilter::CanBeSmall(const RedisBloomChain& chain) {
  const FilterParams params = chain.params();
  const std::vector<const SubFilter*> sub_filters = chain.AllSubFilters();
  if (sub_filters.size() > kMaxSmallSubFilters) return false;
  uint64_t bytes = 0;
  for (size_t i = 0; i < sub_filters.size(); ++i) {
    const SubFilterShape& shape = sub_filters[i]->shape();
    bytes += shape.BodyBytes();
    if (!IsSmall(shape) || bytes > kMaxSmallBytes || sub_filters[i]->items() > UINT32_MAX) return false;
    if (ShapeAfter(params, i == 0 ? nullptr : &sub_filters[i - 1]->shape(), i) != shape) return false;
  }
  return true;
}

// Returns the shape of the sub-filter of this index, after one of `older` shape.
std::optional<SubFilterShape> RedisBloomFilter::ShapeAfter(const FilterParams& params, const SubFilterShape* older,
                                                           size_t index) {
  if (older != nullptr) {
    return RedisBloomChain::NextShape(kRedisBloomChain, params, {*older, static_cast<uint32_t>(index), 0, 0});
  }
  const Result<SubFilterShape> first = RedisBloomChain::FirstShape(kRedisBloomChain, params);
  return first ? std::optional(*first) : std::nullopt;
}

Status RedisBloomFilter::CopyFrom(const RedisBloomChain& chain) {
  const std::vector<const SubFilter*> sub_filters = chain.AllSubFilters();
  for (size_t i = 0; i < sub_filters.size(); ++i) {
    const SubFilter& from = *sub_filters[i];
    if (i != 0) {
      if (Status status = AppendLink(from.shape()); !status) return status;
    }
    const Bits bits = NewestBits();
    from.memory().CopyOut(0, std::as_writable_bytes(std::span(bits.words, bits.count / 64)));
    NewestItems().store(static_cast<uint32_t>(from.items()), std::memory_order_release);
  }
  return {};
}

Status RedisBloomFilter::AppendLink(const SubFilterShape& shape) {
  const uint64_t bytes = shape.BodyBytes();
  const auto block_bytes = [](uint64_t further) { return core::BlockBytes(sizeof(Link) + further); };
  const Placing placing = Placing::Of(bytes, block_bytes);
  const uint64_t all = block_bytes(placing.further) + (placing.apart ? core::BlockBytes(bytes) : 0);
  MemoryReservation taken = MemoryReservation::TryTake(budget(), all);
  if (!taken.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a further sub-filter");
  std::unique_ptr<uint64_t, DeleteWords> words(placing.apart ? NewWords(bytes) : nullptr);
  Link* const link = new (::operator new(sizeof(Link) + placing.further))
      Link{.older = newest_link(),
           .capacity = static_cast<uint32_t>(shape.capacity),
           .bits = static_cast<uint32_t>(bytes * 8) | (placing.apart ? kBitsApart : 0),
           .index = static_cast<uint16_t>(PartCount()),
           .hashes = static_cast<uint8_t>(shape.hash_functions)};
  std::memset(static_cast<void*>(link + 1), 0, placing.further);
  if (placing.apart) *reinterpret_cast<uint64_t**>(link + 1) = words.release();
  taken.Detach();
  own_word().store(reinterpret_cast<uintptr_t>(link), std::memory_order_release);
  return {};
}

uint64_t RedisBloomFilter::BlocksOf(const Link& link) {
  const uint64_t bytes = BitsOf(link).bytes();
  if ((link.bits & kBitsApart) == 0) return core::BlockBytes(sizeof(Link) + bytes);
  return core::BlockBytes(sizeof(Link) + sizeof(void*)) + core::BlockBytes(bytes);
}

// Without those of the chain.
uint64_t RedisBloomFilter::OwnBlocks() const {
  const uint64_t bytes = BitsWithout(bits_) / 8;
  const bool apart = (bits_ & kBitsApart) != 0;
  uint64_t blocks = BlockBytes(sizeof(RedisBloomFilter) + (apart ? sizeof(void*) : bytes));
  if (apart) blocks += core::BlockBytes(bytes);
  for (const Link* link = newest_link(); link != nullptr; link = link->older) blocks += BlocksOf(*link);
  return blocks;
}

RedisBloomFilter::~RedisBloomFilter() {
  budget().GiveBack(OwnBlocks());
  const Link* link = newest_link();
  delete large();
  while (link != nullptr) {
    const Link* const older = link->older;
    if ((link->bits & kBitsApart) != 0) ::operator delete(BitsOf(*link).words);
    ::operator delete(const_cast<Link*>(link));
    link = older;
  }
  if ((bits_ & kBitsApart) != 0) ::operator delete(FirstBits().words);
}

// ---- reading

void RedisBloomFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  if (const RedisBloomChain* const chain = this->chain()) return chain->MayContain(hashes, present);
  for (size_t i = 0; i < hashes.size(); ++i) present[i] = Holds(hashes[i]) ? 1 : 0;
}

void RedisBloomFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  if (const RedisBloomChain* const chain = this->chain()) chain->Prefetch(hashes);
}

uint64_t RedisBloomFilter::ItemCount() const {
  if (const RedisBloomChain* const chain = this->chain()) return chain->ItemCount();
  uint64_t items = items_.load(std::memory_order_acquire);
  for (const Link* link = newest_link(); link != nullptr; link = link->older) {
    items += link->items.load(std::memory_order_acquire);
  }
  return items;
}

uint64_t RedisBloomFilter::ChangeCount() const { return ItemCount() + united_.load(std::memory_order_acquire); }

uint32_t RedisBloomFilter::SubFilters() const {
  const RedisBloomChain* const chain = this->chain();
  return chain == nullptr ? PartCount() : chain->SubFilters();
}

uint64_t RedisBloomFilter::size_bytes() const {
  if (const RedisBloomChain* const chain = this->chain()) return chain->size_bytes();
  constexpr uint64_t kOfSubFilter = 64;  // as RedisBloomChain::ReportedBytesOf
  uint64_t bytes = RedisBloomChain::ReportedBytes() + kOfSubFilter + FirstBits().bytes();
  for (const Link* link = newest_link(); link != nullptr; link = link->older) {
    bytes += kOfSubFilter + BitsOf(*link).bytes();
  }
  return bytes;
}

uint64_t RedisBloomFilter::heap_bytes() const {
  const Large* const large = this->large();
  return OwnBlocks() + (large == nullptr ? 0 : core::BlockBytes(sizeof(Large)) + large->chain->heap_bytes());
}

FilterInfo RedisBloomFilter::Info() const {
  return AskChain([](const RedisBloomChain& chain) { return chain.Info(); });
}
std::vector<SubFilterInfo> RedisBloomFilter::DescribeSubFilters() const {
  return AskChain([](const RedisBloomChain& chain) { return chain.DescribeSubFilters(); });
}
std::optional<double> RedisBloomFilter::EstimatedErrorRate() const {
  return AskChain([](const RedisBloomChain& chain) { return chain.EstimatedErrorRate(); });
}
bool RedisBloomFilter::TouchesFreshPages(uint64_t items) const {
  const RedisBloomChain* const chain = this->chain();
  return chain != nullptr && chain->TouchesFreshPages(items);
}
bool RedisBloomFilter::HasRoomForOne() const {
  if (const RedisBloomChain* const chain = this->chain()) return chain->HasRoomForOne();
  const Link* const newest = newest_link();
  if (newest == nullptr) return items_.load(std::memory_order_relaxed) < shared_params().capacity;
  return newest->items.load(std::memory_order_relaxed) < newest->capacity;
}
std::optional<FilterUse> RedisBloomFilter::Use() const {
  FilterUse use;
  use_.Collect(use);
  return use;
}

std::string RedisBloomFilter::ReadPiece(uint64_t offset, size_t most) const {
  return AskChain([&](const RedisBloomChain& chain) { return chain.ReadPiece(offset, most); });
}

// ---- changing

size_t RedisBloomFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (RedisBloomChain* const chain = this->chain()) {
      return i + AddToChain(*chain, hashes.subspan(i), outcomes.subspan(i));
    }
    outcomes[i] = AddOne(hashes[i], refusal);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

size_t RedisBloomFilter::AddToChain(RedisBloomChain& chain, std::span<const KeyHash> hashes,
                                    std::span<AddOutcome> outcomes) {
  const LockGuard lock(chain.writers());
  return chain.DoAdd(hashes, outcomes);
}

AddOutcome RedisBloomFilter::AddOne(const KeyHash& hash, AddOutcome& refusal) {
  const Link* const newest = newest_link();
  if (newest != nullptr) {
    for (const Link* link = newest->older; link != nullptr; link = link->older) {
      if (BitsOf(*link).Contain(hash)) return AddOutcome::kPresent;
    }
    if (FirstBits().Contain(hash)) return AddOutcome::kPresent;
  }
  const uint64_t capacity = newest == nullptr ? shared_params().capacity : newest->capacity;
  const Bits bits = NewestBits();
  if (NewestItems().load(std::memory_order_relaxed) < capacity) {
    if (!bits.Add(hash)) return AddOutcome::kPresent;
    NewestItems().fetch_add(1, std::memory_order_release);
    return AddOutcome::kAdded;
  }
  if (bits.Contain(hash)) return AddOutcome::kPresent;
  if (refusal == AddOutcome::kAdded) {
    refusal = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return Grow(); });
  }
  if (refusal != AddOutcome::kAdded) return refusal;
  AddOutcome outcome;
  if (RedisBloomChain* const chain = this->chain()) {
    AddToChain(*chain, {&hash, 1}, {&outcome, 1});
    return outcome;
  }
  NewestBits().Add(hash);
  NewestItems().fetch_add(1, std::memory_order_release);
  return AddOutcome::kAdded;
}

AddOutcome RedisBloomFilter::Grow() {
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const std::vector<SubFilterRecord> records = Records();
  const auto shape = ShapeAfter(shared_params(), &records.back().shape, records.size());
  if (!shape) return AddOutcome::kCannotGrow;
  uint64_t bytes = shape->BodyBytes();
  for (const SubFilterRecord& record : records) bytes += record.shape.BodyBytes();
  const bool small = IsSmall(*shape) && bytes <= kMaxSmallBytes && records.size() < kMaxSmallSubFilters;
  if (!small) return BecomeLarge();
  return AppendLink(*shape) ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

// With the same sub-filters; it is the chain that grows next.
AddOutcome RedisBloomFilter::BecomeLarge() {
  Result<std::unique_ptr<RedisBloomChain>> chain = LendChain(budget());
  if (!chain) return AddOutcome::kOutOfMemory;
  Hold(std::move(*chain));
  return AddOutcome::kAdded;
}

void RedisBloomFilter::Hold(std::unique_ptr<RedisBloomChain> chain) {
  auto large = std::make_unique<Large>(Large{newest_link(), std::move(chain)});
  own_word().store(reinterpret_cast<uintptr_t>(large.release()) + 1, std::memory_order_release);
  SetSizeBytes(UINT64_MAX);  // the chain knows better
}

}  // namespace bitsieve::core
