#include "core/filters/scalable_filter.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "core/filters/counting_filter.h"
#include "core/filters/redis_bloom_filter.h"

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

// Called with growth_mutex_ held, or before anybody else knows the filter.
Status ScalableFilter::Append(std::unique_ptr<Link> link) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget_, OverheadBytes());
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

size_t ScalableFilter::Add(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) {
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
  std::array<uint8_t, kChunk> present_in;
  const std::span<uint8_t> present(present_in.data(), hashes.size());
  size_t done = 0;
  for (const Node* node = nullptr; done < hashes.size();) {
    if (node != newest()) {
      // First without any lock or shared counter: what is there already needs neither.
      node = newest();
      std::fill(present.begin(), present.end(), uint8_t{0});
      for (const Node* each = node; each != nullptr; each = each->older) each->link->MayContain(hashes, present);
    }
    const auto wanted = static_cast<uint64_t>(std::count(present.begin() + done, present.end(), 0));
    const uint64_t room = wanted == 0 ? 0 : node->link->Reserve(wanted);
    const std::span<uint8_t> added(reinterpret_cast<uint8_t*>(outcomes.data() + done), hashes.size() - done);
    const LinkProgress progress = node->link->Add(hashes.subspan(done), present.subspan(done), added, room);
    if (room != 0) node->link->Commit(room, progress);
    done += progress.done;
    if (done == hashes.size()) break;

    if (!IsRefusal(refusal)) refusal = MakeRoom(node);
    if (!IsRefusal(refusal)) continue;
    outcomes[done++] = refusal;
    if (refusal == AddOutcome::kFull) break;
  }
  return done;
}

AddOutcome ScalableFilter::MakeRoom(const Node* seen) {
  const std::lock_guard lock(growth_mutex_);
  const Node* node = newest();
  if (node != seen) return AddOutcome::kAdded;
  // Others may hold reservations that they will give back: the link is full only when all of it is taken for good.
  while (!node->link->Complete()) {
    if (const uint64_t room = node->link->Reserve(1); room != 0) {
      node->link->Commit(room, {0, 0, 0});
      return AddOutcome::kAdded;
    }
    sched_yield();
  }
  return params().scaling() ? Grow(*node) : AddOutcome::kFull;
}

// Called with growth_mutex_ held.
AddOutcome ScalableFilter::Grow(const Node& node) {
  const std::optional<LinkShape> shape = NextShape(node);
  if (!shape) return AddOutcome::kCannotGrow;
  Result<std::unique_ptr<Link>> link = MakeLink(*shape, budget_);
  if (!link) return AddOutcome::kOutOfMemory;
  CloseNewest();
  const Status appended = Append(std::move(*link));
  OpenNewest();
  return appended ? AddOutcome::kAdded : AddOutcome::kOutOfMemory;
}

// Called with growth_mutex_ held, or before anybody else knows the filter.
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
  const std::lock_guard lock(growth_mutex_);
  std::vector<Link*> links;
  for (const auto& node : nodes_) links.push_back(node->link.get());
  const Result<uint64_t> changes = unite(links);
  if (!changes) return tl::unexpected(changes.error());
  united_.fetch_add(*changes, std::memory_order_release);
  return {};
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
  double none = 1;  // the chance that no link is wrong
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
    none *= 1 - node->link->EstimatedRate();
  }
  info.estimated_error_rate = 1 - none;
  info.fill_ratio = static_cast<double>(set_bits) / static_cast<double>(bits);
  info.bits_per_item = static_cast<double>(memory_bits) / static_cast<double>(info.capacity);
  return info;
}

// The header is taken at once; the body is read from the links later, oldest first.
class ScalableFilter::Image final : public FilterImage {
 public:
  explicit Image(const ScalableFilter& filter) {
    std::vector<LinkRecord> records;
    for (const Node* node = filter.newest(); node != nullptr; node = node->older) {
      links_.insert(links_.begin(), node->link.get());
      // Before any bit is copied: the counted items are then all in the body.
      records.insert(records.begin(), {node->link->shape(), node->link->items()});
      body_bytes_ += node->link->shape().BodyBytes();
    }
    header_ = filter.EncodeHeader(records);
  }

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return body_bytes_; }

  Status Read(uint64_t offset, std::span<std::byte> out) override {
    for (const Link* link : links_) {
      const uint64_t size = link->shape().BodyBytes();
      if (offset >= size) {
        offset -= size;
        continue;
      }
      const size_t count = std::min<uint64_t>(size - offset, out.size());
      link->memory().CopyOut(offset, out.first(count));
      out = out.subspan(count);
      offset = 0;
      if (out.empty()) break;
    }
    return {};
  }

 private:
  std::string header_;
  std::vector<const Link*> links_;
  uint64_t body_bytes_ = 0;
};

std::string ScalableFilter::EncodeHeader(const std::vector<LinkRecord>& records) const {
  return EncodeFilterHeader(params(), records);
}

std::unique_ptr<FilterImage> ScalableFilter::Capture() const { return std::make_unique<Image>(*this); }

}  // namespace bitsieve::core
