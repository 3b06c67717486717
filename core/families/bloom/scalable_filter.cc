#include "core/families/bloom/scalable_filter.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

#include "core/families/bloom/chain_codec.h"
#include "core/filter/parts_image.h"
#include "core/filter/sampled_error_rate.h"

namespace bitsieve::core {

namespace {

// Hashes handled at a time, so that scratch space is small and on the stack. No more than these are added in one call.
constexpr size_t kChunk = ChangeListener::kMaxHashes;

}  // namespace

// With what the heap adds.
uint64_t ScalableFilter::OwnBytes() { return sizeof(ScalableFilter) + 8; }
uint64_t ScalableFilter::OverheadBytes() { return sizeof(SubFilter) + 2 * kLineBytes; }

ScalableFilter::~ScalableFilter() { budget().GiveBack(OwnBytes() + HashList::BlockBytes(list_.size(pins_))); }

// Without sub-filters and hashes.
Result<std::unique_ptr<ScalableFilter>> ScalableFilter::MakeWithout(const ChainType& type, const FilterParams& params,
                                                                    MemoryBudget& budget) {
  MemoryReservation own = MemoryReservation::TryTake(budget, OwnBytes());
  if (!own.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter");
  std::unique_ptr<ScalableFilter> filter = type.make_empty(params, budget);
  own.Detach();
  return filter;
}

Result<std::unique_ptr<Filter>> ScalableFilter::Make(const ChainType& type, const FilterParams& params,
                                                     MemoryBudget& budget) {
  if (ListRoom(type, params) != 0) return FromHashes(type, params, {}, budget);
  const Result<SubFilterShape> shape = type.first_shape(type, params);
  if (!shape) return tl::unexpected(shape.error());
  Result<std::unique_ptr<SubFilter>> sub_filter = MakeSubFilter(*shape, budget);
  if (!sub_filter) return tl::unexpected(std::move(sub_filter).error());
  std::vector<std::unique_ptr<SubFilter>> sub_filters;
  sub_filters.push_back(std::move(*sub_filter));
  return FromSubFilters(type, params, std::move(sub_filters), budget);
}

Result<std::unique_ptr<Filter>> ScalableFilter::FromSubFilters(const ChainType& type, const FilterParams& params,
                                                               std::vector<std::unique_ptr<SubFilter>> sub_filters,
                                                               MemoryBudget& budget) {
  Result<std::unique_ptr<ScalableFilter>> chain = MakeChain(type, params, std::move(sub_filters), budget);
  if (!chain) return tl::unexpected(std::move(chain).error());
  if (type.made_of != nullptr) return type.made_of(std::move(*chain), budget);
  return std::move(*chain);
}

Result<std::unique_ptr<ScalableFilter>> ScalableFilter::MakeChain(const ChainType& type, const FilterParams& params,
                                                                  std::vector<std::unique_ptr<SubFilter>> sub_filters,
                                                                  MemoryBudget& budget) {
  assert(!sub_filters.empty());
  Result<std::unique_ptr<ScalableFilter>> filter = MakeWithout(type, params, budget);
  if (!filter) return filter;
  const LockGuard lock((*filter)->writers());  // no other thread has the filter yet
  for (std::unique_ptr<SubFilter>& sub_filter : sub_filters) {
    if (Status status = (*filter)->Append(std::move(sub_filter)); !status)
      return tl::unexpected(std::move(status).error());
  }
  return filter;
}

Result<std::unique_ptr<Filter>> ScalableFilter::FromHashes(const ChainType& type, const FilterParams& params,
                                                           std::span<const KeyHash> hashes, MemoryBudget& budget) {
  Result<std::unique_ptr<ScalableFilter>> filter = MakeWithout(type, params, budget);
  if (!filter) return tl::unexpected(std::move(filter).error());
  const LockGuard lock((*filter)->writers());  // as above
  (*filter)->SetSizeBytes(0);
  for (const KeyHash& hash : hashes) {
    if ((*filter)->AddToList(hash) == AddOutcome::kOutOfMemory) {
      return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for the items of a filter");
    }
  }
  return filter;
}

Status ScalableFilter::Append(std::unique_ptr<SubFilter> sub_filter) {
  FalsePositiveSlot* const slot = false_positives();
  if (slot != nullptr && slot->get() != nullptr) sub_filter->false_positives().Set(slot->get());
  const Status appended = chain_.Append(std::move(sub_filter), OverheadBytes(), budget());
  SetSizeBytes(chain_.size_bytes());
  return appended;
}

void ScalableFilter::PrefetchLinesToAdd(std::span<const KeyHash> hashes) const {
  const SubFilter* const newest = chain_.newest();
  if (newest != nullptr && newest->older() != nullptr) PrefetchLines(hashes);
}

void ScalableFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  for (const SubFilter* sub_filter = chain_.newest(); sub_filter != nullptr; sub_filter = sub_filter->older())
    sub_filter->Prefetch(hashes);
}

namespace {

// The hashes of a chunk that no sub-filter is known to hold yet, stored contiguously.
class Missing {
 public:
  Missing(std::span<const KeyHash> hashes, std::span<uint8_t> present) : present_(present) {
    for (size_t i = 0; i < hashes.size(); ++i) {
      hashes_[i] = hashes[i];
      place_[i] = static_cast<uint8_t>(i);
    }
    count_ = hashes.size();
    std::ranges::copy(present, found_.begin());
    LeaveOutFound();
  }

  bool empty() const { return count_ == 0; }
  void Ask(const SubFilter& sub_filter) {
    sub_filter.MayContain(std::span(hashes_).first(count_), std::span(found_).first(count_));
    const auto found = std::accumulate(found_.begin(), found_.begin() + count_, size_t{0});
    // Closing the gaps costs as much as looking up a few found hashes again.
    if (found * kFewestFound >= count_) LeaveOutFound();
  }
  // Notes the found ones in `present`.
  void LeaveOutFound() {
    size_t left = 0;
    for (size_t i = 0; i < count_; ++i) {
      const uint8_t found = std::exchange(found_[i], uint8_t{0});
      present_[place_[i]] |= found;
      hashes_[left] = hashes_[i];
      place_[left] = place_[i];
      left += found == 0;
    }
    count_ = left;
  }

 private:
  static constexpr size_t kFewestFound = 4;  // at least one in this many

  const std::span<uint8_t> present_;
  std::array<KeyHash, kChunk> hashes_;
  std::array<uint8_t, kChunk> place_;
  std::array<uint8_t, kChunk> found_;
  size_t count_;
};

// Looks up at most a chunk of hashes in the sub-filters older than `newest`. Hashes already found in it are left out.
void AskOlder(const SubFilter& newest, std::span<const KeyHash> hashes, std::span<uint8_t> present) {
  if (hashes.size() == 1) {
    for (const SubFilter* older = newest.older(); older != nullptr && present[0] == 0; older = older->older()) {
      older->MayContain(hashes, present);
    }
    return;
  }
  Missing missing(hashes, present);
  for (const SubFilter* older = newest.older(); older != nullptr && !missing.empty(); older = older->older()) {
    missing.Ask(*older);
  }
  missing.LeaveOutFound();
}

}  // namespace

void ScalableFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  // A single byte without memset: that writes it as a part of a vector (glibc with AVX-512), and such a byte cannot be
  // read before it has reached the cache.
  if (present.size() == 1) {
    present[0] = 0;
  } else {
    std::fill(present.begin(), present.end(), uint8_t{0});
  }
  if (chain_.newest() == nullptr) {
    list_.MayContain(hashes, present, pins_);
    // The filter may have taken bits since the check above.
    if (chain_.newest() == nullptr) return;
  }
  const SubFilter& newest = *chain_.newest();
  newest.MayContain(hashes, present);
  if (newest.older() != nullptr) {
    for (size_t done = 0; done < hashes.size(); done += kChunk) {
      const size_t count = std::min(kChunk, hashes.size() - done);
      AskOlder(newest, hashes.subspan(done, count), present.subspan(done, count));
    }
  }
  if (const FalsePositiveList* const list = newest.false_positives().get()) list->TakeOut(hashes, present);
}

size_t ScalableFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  assert(hashes.size() <= kChunk);
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  const size_t done = AddChunk(hashes, outcomes, refusal);
  if (false_positive_list() != nullptr) [[unlikely]]
    TakeOffAdded(hashes.first(done), outcomes.first(done));
  return done;
}

void ScalableFilter::TakeOffAdded(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  FalsePositiveList& list = *false_positives()->get();
  for (size_t i = 0; i < hashes.size() && list.size() != 0; ++i) {
    if (IsRefusal(outcomes[i]) || !list.TakeOff(hashes[i]) || outcomes[i] == AddOutcome::kAdded) continue;
    outcomes[i] = AddOutcome::kAdded;
    list.CountAdded(1);
  }
}

QuickAdd ScalableFilter::TryAddOne(const KeyHash& hash) noexcept {
  SubFilter* const only = chain_.newest();
  if (only == nullptr || only->older() != nullptr || only->false_positives().get() != nullptr)
    return QuickAdd::kDeclined;
  return static_cast<BitSubFilter*>(only)->TryAddOne(hash);  // of every type, as below
}

size_t ScalableFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) {
  if (hashes.size() == 1) {
    const QuickAdd quick = ScalableFilter::TryAddOne(hashes[0]);
    outcomes[0] = quick == QuickAdd::kAdded ? AddOutcome::kAdded : AddOutcome::kPresent;
    if (quick != QuickAdd::kDeclined) return 1;
  }
  std::array<uint8_t, kChunk> older_in;
  const std::span<uint8_t> in_older(older_in.data(), hashes.size());
  size_t done = chain_.newest() == nullptr ? AddToList(hashes, outcomes, refusal) : 0;
  for (BitSubFilter* newest = nullptr; done < hashes.size();) {
    if (newest != chain_.newest()) {
      newest =
          static_cast<BitSubFilter*>(chain_.newest());  // of every type whose chain does not override this function
      std::fill(in_older.begin(), in_older.end(), uint8_t{0});
      for (const SubFilter* each = newest->older(); each != nullptr; each = each->older()) {
        each->MayContain(hashes, in_older);
      }
    }
    const std::span<uint8_t> added(reinterpret_cast<uint8_t*>(outcomes.data() + done), hashes.size() - done);
    done += newest->Add(hashes.subspan(done), in_older.subspan(done), added).done;
    if (done == hashes.size()) break;

    if (!IsRefusal(refusal))
      refusal = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return MakeRoom(); });
    if (!IsRefusal(refusal)) continue;
    outcomes[done++] = refusal;
    if (refusal == AddOutcome::kFull) break;
  }
  return done;
}

size_t ScalableFilter::AddToList(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) {
  size_t done = 0;
  while (done < hashes.size() && chain_.newest() == nullptr) {
    const size_t size = list_.size(pins_);
    if (list_.Contains(hashes[done])) {
      outcomes[done++] = AddOutcome::kPresent;
      continue;
    }
    bool has_room = size == 0;
    const AddOutcome sized = UnlessMemoryIsRefused([&] {
      has_room = has_room || size < ListRoom(chain_type(), shared_params());
      return AddOutcome::kAdded;
    });
    if (IsRefusal(sized)) {
      outcomes[done++] = sized;
    } else if (has_room) {
      outcomes[done] = UnlessMemoryIsRefused([&]() BITSIEVE_REQUIRES(writers()) { return AddToList(hashes[done]); });
      ++done;
    } else {
      if (!IsRefusal(refusal)) {
        refusal =
            UnlessMemoryIsRefused([&]() BITSIEVE_REQUIRES(writers()) { return TurnIntoBits(hashes.subspan(done, 1)); });
      }
      outcomes[done++] = refusal;
    }
  }
  return done;
}

// Adds a hash that is not there, and for which there is room. May throw std::bad_alloc, and has changed nothing then.
AddOutcome ScalableFilter::AddToList(const KeyHash& hash) {
  const size_t size = list_.size(pins_);
  const uint64_t before = HashList::BlockBytes(size);
  const uint64_t after = HashList::BlockBytes(size + 1);
  MemoryReservation grown;
  if (after != before) {
    grown = MemoryReservation::TryTake(budget(), after - before);
    if (!grown.held()) return AddOutcome::kOutOfMemory;
  }
  list_.Add(hash, pins_);
  grown.Detach();
  return AddOutcome::kAdded;
}

std::vector<KeyHash> ScalableFilter::ListedHashes() const {
  const ReaderPins::Pin pin(pins_);
  return list_.All();
}

Result<std::unique_ptr<SubFilter>> ScalableFilter::BitsOfList(std::span<const KeyHash> more) const {
  const Result<SubFilterShape> shape = chain_type().first_shape(chain_type(), shared_params());
  if (!shape) return tl::unexpected(shape.error());
  Result<std::unique_ptr<SubFilter>> made = MakeSubFilter(*shape, budget());
  if (!made) return made;
  std::vector<KeyHash> hashes = ListedHashes();
  hashes.insert(hashes.end(), more.begin(), more.end());
  auto& bits = static_cast<BitSubFilter&>(**made);  // of every type that begins as a list
  const std::vector<uint8_t> skip(hashes.size());
  std::vector<uint8_t> added(hashes.size());
  const AddProgress progress = bits.Add(hashes, skip, added);
  // The bits take some for others by chance: they are items as they were before.
  bits.CountChange(hashes.size() - progress.added, 0);
  return made;
}

// `added` is the hash that made it necessary, at most one. It is new even if the bits already contain it: unlike the
// list, they may take it for another one. If it were not reported as added, a log would record neither it nor that
// there are bits now.
AddOutcome ScalableFilter::TurnIntoBits(std::span<const KeyHash> added) {
  Result<std::unique_ptr<SubFilter>> bits = BitsOfList(added);
  if (!bits || !Append(std::move(*bits))) return AddOutcome::kOutOfMemory;
  const uint64_t block_bytes = HashList::BlockBytes(list_.size(pins_));
  list_.Clear(pins_);
  budget().GiveBack(block_bytes);
  return AddOutcome::kAdded;
}

AddOutcome ScalableFilter::MakeRoom() {
  if (!shared_params().scaling()) return AddOutcome::kFull;
  const SubFilter& newest = *chain_.newest();
  const uint64_t hash_functions = chain_.Sum([](const SubFilter& each) { return each.shape().hash_functions; });
  const std::optional<SubFilterShape> shape = chain_type().next_shape(
      chain_type(), shared_params(), {newest.shape(), newest.index() + 1, newest.total_capacity(), hash_functions});
  if (!shape) return AddOutcome::kCannotGrow;
  Result<std::unique_ptr<SubFilter>> sub_filter = MakeSubFilter(*shape, budget());
  return sub_filter && Append(std::move(*sub_filter)) ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

std::vector<const SubFilter*> ScalableFilter::AllSubFilters() const {
  std::vector<const SubFilter*> sub_filters;
  for (const SubFilter* sub_filter = chain_.newest(); sub_filter != nullptr; sub_filter = sub_filter->older())
    sub_filters.insert(sub_filters.begin(), sub_filter);
  return sub_filters;
}

std::vector<SubFilterInfo> ScalableFilter::DescribeSubFilters() const {
  std::vector<SubFilterInfo> infos;
  if (chain_.newest() == nullptr) {
    const FilterInfo info = ListInfo();
    return {{info.size_bytes, 0, info.hash_functions, info.capacity, info.items, 0}};
  }
  for (const SubFilter* sub_filter : AllSubFilters()) {
    const SubFilterShape& shape = sub_filter->shape();
    infos.push_back({shape.BodyBytes(), shape.MemoryBits(), shape.hash_functions, shape.capacity, sub_filter->items(),
                     shape.error_rate});
  }
  return infos;
}

uint64_t ScalableFilter::ItemCount() const {
  const size_t listed = list_.size(pins_);  // first: what leaves the list is in the bits by then
  if (chain_.newest() == nullptr) return listed;
  const FalsePositiveList* const list = false_positive_list();
  return chain_.Sum([](const SubFilter& sub_filter) { return sub_filter.items(); }) +
         (list == nullptr ? 0 : list->added());
}

uint64_t ScalableFilter::size_bytes() const {
  const size_t listed = list_.size(pins_);  // as in ItemCount
  const SubFilter* const newest = chain_.newest();
  if (newest == nullptr) return OwnBytes() + HashList::BlockBytes(listed);
  const FalsePositiveList* const list = newest->false_positives().get();
  return OwnBytes() + newest->total_bytes() + (list == nullptr ? 0 : list->size_bytes());
}

uint64_t ScalableFilter::heap_bytes() const {
  const LockGuard lock(writers());
  const size_t listed = list_.size(pins_);  // as in ItemCount
  uint64_t bytes = BlockBytes(sizeof(ScalableFilter));
  if (listed > 1) bytes += core::BlockBytes(HashList::BlockBytes(listed));
  const SubFilter* const newest = chain_.newest();
  if (newest == nullptr) return bytes;
  bytes += chain_.HeapBytes() + chain_.Sum([](const SubFilter& sub_filter) {
    const uint64_t content = sub_filter.memory().is_own() ? ContentBytes(sub_filter.size_bytes()) : 0;
    return core::BlockBytes(sizeof(SubFilter) + sizeof(uint64_t)) + content;
  });
  const FalsePositiveList* const list = newest->false_positives().get();
  return bytes + (list == nullptr ? 0 : list->size_bytes());
}

// Describes a filter that is still a list, with the hash functions and the capacity that it will have once it takes
// bits. It has no bits yet.
FilterInfo ScalableFilter::ListInfo() const {
  FilterInfo info;
  const Result<SubFilterShape> shape = chain_type().first_shape(chain_type(), shared_params());
  info.hash_functions = shape ? shape->hash_functions : 0;
  info.capacity = shared_params().capacity;
  info.size_bytes = size_bytes();
  info.sub_filters = 1;
  info.items = ItemCount();
  return info;
}

FilterInfo ScalableFilter::Info() const {
  const SubFilter* const newest = chain_.newest();
  if (newest == nullptr) return ListInfo();
  FilterInfo info;
  info.hash_functions = newest->shape().hash_functions;
  info.capacity = newest->total_capacity();
  info.size_bytes = OwnBytes() + newest->total_bytes();
  info.sub_filters = newest->index() + 1;
  uint64_t bits = 0;
  uint64_t memory_bits = 0;
  uint64_t set_bits = 0;
  for (const SubFilter* sub_filter = newest; sub_filter != nullptr; sub_filter = sub_filter->older()) {
    info.items += sub_filter->items();
    bits += sub_filter->shape().bits;
    memory_bits += sub_filter->shape().MemoryBits();
    set_bits += sub_filter->set_bits();
  }
  if (const FalsePositiveList* const list = newest->false_positives().get()) {
    info.items += list->added();
    info.size_bytes += list->size_bytes();
    info.false_positives = list->size();
  }
  info.fill_ratio = static_cast<double>(set_bits) / static_cast<double>(bits);
  info.bits_per_item = static_cast<double>(memory_bits) / static_cast<double>(info.capacity);
  return info;
}

bool ScalableFilter::TouchesFreshPages(uint64_t items) const {
  constexpr uint64_t kFreshBytes = 16 << 20;  // smaller ones have few pages to touch
  constexpr uint64_t kFreshShare = 256;       // beyond one bit in this many, nearly every page has some
  if (chain_.newest() == nullptr) return false;
  const SubFilter& newest = *chain_.newest();
  if (!newest.shape().layout->spreads) return false;
  const bool will_grow = shared_params().scaling() && newest.Room() < items;
  if (will_grow && newest.size_bytes() > kFreshBytes / shared_params().expansion) return true;
  return newest.size_bytes() > kFreshBytes && newest.set_bits() < newest.shape().bits / kFreshShare;
}

std::optional<double> ScalableFilter::EstimatedErrorRate() const {
  double none = 1;  // the chance that no sub-filter is wrong
  for (const SubFilter* sub_filter = chain_.newest(); sub_filter != nullptr; sub_filter = sub_filter->older()) {
    const std::optional<double> rate = sub_filter->EstimatedRate();
    if (!rate) return SampledErrorRate(*this, chain_.size());
    none *= 1 - *rate;
  }
  return 1 - none;
}

std::string ScalableFilter::EncodeHeader(const std::vector<SubFilterRecord>& records) const {
  return EncodeChainHeader(params(), records);
}

std::unique_ptr<FilterImage> ScalableFilter::DoCapture(const ImagePool& pool) const {
  if (chain_.newest() == nullptr)
    return std::make_unique<PartsImage>(EncodeListHeader(params(), list_.All()), writers());
  std::vector<SubFilterRecord> records;
  for (const auto& sub_filter : chain_.tables()) records.push_back({sub_filter->shape(), sub_filter->items()});
  auto image = std::make_unique<PartsImage>(EncodeHeader(records), writers());
  for (const auto& sub_filter : chain_.tables())
    image->AddPart(sub_filter->memory(), sub_filter->shape().BodyBytes(), pool);
  return image;
}

}  // namespace bitsieve::core
