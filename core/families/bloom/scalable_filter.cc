#include "core/families/bloom/scalable_filter.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/families/bloom/chain_codec.h"
#include "core/filter/parts_image.h"
#include "core/filter/sampled_error_rate.h"

namespace bitsieve::core {

namespace {

constexpr size_t kChunk = 64;  // hashes handled at a time, so that scratch space is small and on the stack

}  // namespace

uint64_t ScalableFilter::OverheadBytes() { return sizeof(ScalableFilter) + sizeof(Link) + 64; }

Result<std::unique_ptr<Filter>> ScalableFilter::Make(const ChainType& type, const FilterParams& params,
                                                     MemoryBudget& budget) {
  const Result<LinkShape> shape = type.first_shape(type, params);
  if (!shape) return tl::unexpected(shape.error());
  Result<std::unique_ptr<Link>> link = MakeLink(*shape, budget);
  if (!link) return tl::unexpected(std::move(link).error());
  std::vector<std::unique_ptr<Link>> links;
  links.push_back(std::move(*link));
  return FromLinks(type, params, std::move(links), budget);
}

Result<std::unique_ptr<Filter>> ScalableFilter::FromLinks(const ChainType& type, const FilterParams& params,
                                                          std::vector<std::unique_ptr<Link>> links,
                                                          MemoryBudget& budget) {
  assert(!links.empty());
  std::unique_ptr<ScalableFilter> filter = type.make_empty(type, params, budget);
  const LockGuard lock(filter->writers());  // nobody else knows the filter yet
  for (std::unique_ptr<Link>& link : links) {
    if (Status status = filter->Append(std::move(link)); !status) return tl::unexpected(std::move(status).error());
  }
  return filter;
}

Result<LinkShape> ScalableFilter::FirstShape(const ChainType& type, const FilterParams& params) {
  const double rate = RateOfLink(params, 0);
  if (rate < kMinLinkRate) {
    return Fail(ErrorCode::kInvalidArgument, "error rate of the first link would be below 1e-15");
  }
  return type.layout.shape_for(params.capacity, rate, params);
}

std::optional<LinkShape> ScalableFilter::NextShape(const Link& newest) const {
  const double rate = RateOfLink(params(), newest.index() + 1);
  if (rate < kMinLinkRate) return std::nullopt;
  const uint64_t capacity = CapacityOfNextLink(params(), newest.capacity(), newest.total_capacity());
  return type_.layout.shape_for(capacity, rate, params());
}

Status ScalableFilter::Append(std::unique_ptr<Link> link) {
  const Status appended = chain_.Append(std::move(link), budget());
  NoteSizeBytes(chain_.size_bytes());
  return appended;
}

void ScalableFilter::PrefetchLines(const KeyHash& hash) const {
  for (const Link* link = chain_.newest(); link != nullptr; link = link->older()) link->Prefetch(hash);
}

void ScalableFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  std::fill(present.begin(), present.end(), uint8_t{0});
  for (const Link* link = chain_.newest(); link != nullptr; link = link->older()) link->MayContain(hashes, present);
}

size_t ScalableFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  AddOutcome refusal = AddOutcome::kAdded;  // once growing failed in this call, it is not tried for every item again
  size_t done = 0;
  while (done < hashes.size()) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    const size_t chunk_done = AddChunk(hashes.subspan(done, count), outcomes.subspan(done, count), refusal);
    done += chunk_done;
    if (chunk_done < count || outcomes[done - 1] == AddOutcome::kFull) break;
  }
  return done;
}

size_t ScalableFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) {
  std::array<uint8_t, kChunk> older_in;
  const std::span<uint8_t> in_older(older_in.data(), hashes.size());
  size_t done = 0;
  for (BitLink* newest = nullptr; done < hashes.size();) {
    if (newest != chain_.newest()) {
      newest = static_cast<BitLink*>(chain_.newest());  // of every type whose chain does not override this function
      std::fill(in_older.begin(), in_older.end(), uint8_t{0});
      for (const Link* each = newest->older(); each != nullptr; each = each->older()) {
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

AddOutcome ScalableFilter::MakeRoom() {
  if (!params().scaling()) return AddOutcome::kFull;
  const std::optional<LinkShape> shape = NextShape(*chain_.newest());
  if (!shape) return AddOutcome::kCannotGrow;
  Result<std::unique_ptr<Link>> link = MakeLink(*shape, budget());
  return link && Append(std::move(*link)) ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

std::vector<const Link*> ScalableFilter::Links() const {
  std::vector<const Link*> links;
  for (const Link* link = chain_.newest(); link != nullptr; link = link->older()) links.insert(links.begin(), link);
  return links;
}

std::vector<SubFilterInfo> ScalableFilter::DescribeSubFilters() const {
  std::vector<SubFilterInfo> infos;
  for (const Link* link : Links()) {
    const LinkShape& shape = link->shape();
    infos.push_back(
        {shape.BodyBytes(), shape.MemoryBits(), shape.hash_functions, shape.capacity, link->items(), shape.error_rate});
  }
  return infos;
}

Status ScalableFilter::Unite(const std::function<Result<uint64_t>(std::span<Link* const> links)>& unite) {
  const LockGuard lock(writers());
  std::vector<Link*> links;
  for (const auto& link : chain_.tables()) links.push_back(link.get());
  const Result<uint64_t> changes = unite(links);
  if (!changes) return tl::unexpected(changes.error());
  united_.store(united() + *changes, std::memory_order_release);
  NoteUnited();
  return {};
}

void ScalableFilter::UniteLink(size_t index, const Link& other, WordRange words) noexcept {
  writers().GiveWay();
  const LockGuard lock(writers());
  Link& link = *chain_.tables()[index];
  const uint64_t bits_set = link.UniteWith(other, words);
  link.CountChange(0, bits_set);
  // And one, for counters that were not 0 before.
  united_.store(united() + bits_set + 1, std::memory_order_release);
  NoteChanged();
}

uint64_t ScalableFilter::ItemCount() const {
  return chain_.Sum([](const Link& link) { return link.items(); });
}

FilterInfo ScalableFilter::Info() const {
  FilterInfo info;
  const Link* const newest = chain_.newest();
  info.hash_functions = newest->shape().hash_functions;
  info.capacity = newest->total_capacity();
  info.size_bytes = newest->total_bytes();
  info.links = newest->index() + 1;
  uint64_t bits = 0;
  uint64_t memory_bits = 0;
  uint64_t set_bits = 0;
  for (const Link* link = newest; link != nullptr; link = link->older()) {
    info.items += link->items();
    bits += link->shape().bits;
    memory_bits += link->shape().MemoryBits();
    set_bits += link->set_bits();
  }
  info.fill_ratio = static_cast<double>(set_bits) / static_cast<double>(bits);
  info.bits_per_item = static_cast<double>(memory_bits) / static_cast<double>(info.capacity);
  return info;
}

bool ScalableFilter::TouchesFreshPages(uint64_t items) const {
  constexpr uint64_t kFreshBytes = 16 << 20;  // fewer have so few pages that few are touched
  constexpr uint64_t kFreshShare = 256;       // beyond one bit in so many, nearly every page has some
  const Link& newest = *chain_.newest();
  if (!newest.shape().layout->spreads) return false;
  const bool will_grow = params().scaling() && newest.Room() < items;
  if (will_grow && newest.size_bytes() > kFreshBytes / params().expansion) return true;
  return newest.size_bytes() > kFreshBytes && newest.set_bits() < newest.shape().bits / kFreshShare;
}

std::optional<double> ScalableFilter::EstimatedErrorRate() const {
  double none = 1;  // the chance that no link is wrong
  for (const Link* link = chain_.newest(); link != nullptr; link = link->older()) {
    const std::optional<double> rate = link->EstimatedRate();
    if (!rate) return SampledErrorRate(*this, chain_.size());
    none *= 1 - *rate;
  }
  return 1 - none;
}

std::string ScalableFilter::EncodeHeader(const std::vector<LinkRecord>& records) const {
  return EncodeChainHeader(params(), records);
}

std::unique_ptr<FilterImage> ScalableFilter::DoCapture(const ImagePool& pool) const {
  std::vector<LinkRecord> records;
  for (const auto& link : chain_.tables()) records.push_back({link->shape(), link->items()});
  auto image = std::make_unique<PartsImage>(EncodeHeader(records), writers());
  for (const auto& link : chain_.tables()) image->AddPart(link->memory(), link->shape().BodyBytes(), pool);
  return image;
}

}  // namespace bitsieve::core
