#include "core/filters/scalable_filter.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>

#include "core/filters/counting_filter.h"
#include "core/filters/parts_image.h"
#include "core/filters/redis_bloom_filter.h"
#include "core/filters/sampled_error_rate.h"

namespace bitsieve::core {

namespace {

constexpr size_t kChunk = 64;  // hashes handled at a time, so that scratch space is small and on the stack

}  // namespace

uint64_t ScalableFilter::OverheadBytes() { return sizeof(ScalableFilter) + sizeof(Node) + sizeof(Link) + 64; }

Result<std::unique_ptr<Filter>> ScalableFilter::Make(const FilterParams& params, MemoryBudget& budget) {
  if (Status status = Validate(params); !status) return tl::unexpected(std::move(status).error());
  const Result<LinkShape> shape = FirstShape(params);
  if (!shape) return tl::unexpected(shape.error());
  Result<std::unique_ptr<Link>> link = MakeLink(*shape, budget);
  if (!link) return tl::unexpected(std::move(link).error());
  std::vector<std::unique_ptr<Link>> links;
  links.push_back(std::move(*link));
  return FromLinks(params, std::move(links), budget);
}

Result<std::unique_ptr<Filter>> ScalableFilter::FromLinks(const FilterParams& params,
                                                          std::vector<std::unique_ptr<Link>> links,
                                                          MemoryBudget& budget) {
  assert(!links.empty());
  std::unique_ptr<ScalableFilter> filter = MakeEmptyChain(params, budget);
  for (std::unique_ptr<Link>& link : links) {
    if (Status status = filter->Append(std::move(link)); !status) return tl::unexpected(std::move(status).error());
  }
  return filter;
}

std::unique_ptr<ScalableFilter> ScalableFilter::MakeEmptyChain(const FilterParams& params, MemoryBudget& budget) {
  if (params.kind == FilterKind::kCounting) return std::make_unique<CountingFilter>(params, budget);
  if (params.kind == FilterKind::kRedisBloom) return std::make_unique<RedisBloomFilter>(params, budget);
  return std::unique_ptr<ScalableFilter>(new ScalableFilter(params, budget));
}

Result<LinkShape> ScalableFilter::FirstShape(const FilterParams& params) {
  if (params.kind == FilterKind::kRedisBloom) return RedisBloomFilter::FirstShape(params);
  const double rate = RateOfLink(params, 0);
  if (rate < kMinLinkRate) {
    return Fail(ErrorCode::kInvalidArgument, "error rate of the first link would be below 1e-15");
  }
  return LinkShapeFor(params.kind, params.capacity, rate, params.counter_bits);
}

std::optional<LinkShape> ScalableFilter::NextShape(const Node& newest) const {
  const double rate = RateOfLink(params(), newest.index + 1);
  if (rate < kMinLinkRate) return std::nullopt;
  return LinkShapeFor(params().kind, CapacityOfNextLink(params(), newest.link->shape().capacity, newest.total_capacity),
                      rate, params().counter_bits);
}

// Called by the writer, or before anybody else knows the filter.
Status ScalableFilter::Append(std::unique_ptr<Link> link) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget(), OverheadBytes());
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot take memory for a further link");
  Node* older = newest_.load(std::memory_order_relaxed);
  const uint64_t before = older == nullptr ? 0 : older->total_capacity;
  const uint64_t total = before + link->shape().capacity;
  const uint32_t index = older == nullptr ? 0 : older->index + 1;
  nodes_.push_back(std::make_unique<Node>(Node{std::move(link), std::move(overhead), older, index, total}));
  newest_.store(nodes_.back().get(), std::memory_order_release);
  NoteSizeBytes(SizeBytes());
  return {};
}

void ScalableFilter::PrefetchLines(const KeyHash& hash) const {
  for (const Node* node = newest(); node != nullptr; node = node->older) node->link->Prefetch(hash);
}

void ScalableFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  std::fill(present.begin(), present.end(), uint8_t{0});
  for (const Node* node = newest(); node != nullptr; node = node->older) node->link->MayContain(hashes, present);
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
  for (const Node* node = nullptr; done < hashes.size();) {
    if (node != newest()) {
      node = newest();
      std::fill(in_older.begin(), in_older.end(), uint8_t{0});
      for (const Node* each = node->older; each != nullptr; each = each->older) {
        each->link->MayContain(hashes, in_older);
      }
    }
    const std::span<uint8_t> added(reinterpret_cast<uint8_t*>(outcomes.data() + done), hashes.size() - done);
    done += node->link->Add(hashes.subspan(done), in_older.subspan(done), added).done;
    if (done == hashes.size()) break;

    if (!IsRefusal(refusal)) refusal = UnlessMemoryIsRefused([this] { return MakeRoom(); });
    if (!IsRefusal(refusal)) continue;
    outcomes[done++] = refusal;
    if (refusal == AddOutcome::kFull) break;
  }
  return done;
}

AddOutcome ScalableFilter::MakeRoom() {
  if (!params().scaling()) return AddOutcome::kFull;
  const std::optional<LinkShape> shape = NextShape(*newest());
  if (!shape) return AddOutcome::kCannotGrow;
  Result<std::unique_ptr<Link>> link = MakeLink(*shape, budget());
  return link && Append(std::move(*link)) ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

// Called by the writer, or before anybody else knows the filter.
uint64_t ScalableFilter::SizeBytes() const {
  uint64_t bytes = 0;
  for (const auto& node : nodes_) bytes += node->link->shape().SizeBytes();
  return bytes;
}

std::vector<const Link*> ScalableFilter::Links() const {
  std::vector<const Link*> links;
  for (const Node* node = newest(); node != nullptr; node = node->older) links.insert(links.begin(), node->link.get());
  return links;
}

Status ScalableFilter::Unite(const std::function<Result<uint64_t>(std::span<Link* const> links)>& unite) {
  const std::lock_guard lock(writers());
  std::vector<Link*> links;
  for (const auto& node : nodes_) links.push_back(node->link.get());
  const Result<uint64_t> changes = unite(links);
  if (!changes) return tl::unexpected(changes.error());
  united_.store(united() + *changes, std::memory_order_release);
  NoteUnited();
  return {};
}

void ScalableFilter::UniteLink(size_t index, const Link& other, WordRange words) noexcept {
  writers().GiveWay();
  const std::lock_guard lock(writers());
  Link& link = *nodes_[index]->link;
  const uint64_t bits_set = link.UniteWith(other, words);
  link.CountChange(0, bits_set);
  // And one, for counters that were not 0 before.
  united_.store(united() + bits_set + 1, std::memory_order_release);
  NoteChanged();
}

uint64_t ScalableFilter::ItemCount() const {
  uint64_t items = 0;
  for (const Node* node = newest(); node != nullptr; node = node->older) items += node->link->items();
  return items;
}

FilterInfo ScalableFilter::Info() const {
  FilterInfo info;
  uint64_t bits = 0;
  uint64_t memory_bits = 0;
  uint64_t set_bits = 0;
  const Node* const first = newest();
  info.hash_functions = first->link->shape().hash_functions;
  info.capacity = first->total_capacity;
  info.links = first->index + 1;
  for (const Node* node = first; node != nullptr; node = node->older) {
    const LinkShape& shape = node->link->shape();
    info.size_bytes += shape.SizeBytes() + OverheadBytes();
    info.items += node->link->items();
    bits += shape.bits;
    memory_bits += shape.MemoryBits();
    set_bits += node->link->set_bits();
  }
  info.fill_ratio = static_cast<double>(set_bits) / static_cast<double>(bits);
  info.bits_per_item = static_cast<double>(memory_bits) / static_cast<double>(info.capacity);
  return info;
}

std::optional<double> ScalableFilter::EstimatedErrorRate() const {
  double none = 1;  // the chance that no link is wrong
  for (const Node* node = newest(); node != nullptr; node = node->older) {
    const std::optional<double> rate = node->link->EstimatedRate();
    if (!rate) return SampledErrorRate(*this, newest()->index + 1);
    none *= 1 - *rate;
  }
  return 1 - none;
}

std::string ScalableFilter::EncodeHeader(const std::vector<LinkRecord>& records) const {
  return EncodeFilterHeader(params(), records);
}

std::unique_ptr<FilterImage> ScalableFilter::DoCapture(const ImagePool& pool) const {
  std::vector<LinkRecord> records;
  for (const auto& node : nodes_) records.push_back({node->link->shape(), node->link->items()});
  auto image = std::make_unique<PartsImage>(EncodeHeader(records), writers());
  for (const auto& node : nodes_) image->AddPart(node->link->memory(), node->link->shape().BodyBytes(), pool);
  return image;
}

}  // namespace bitsieve::core
