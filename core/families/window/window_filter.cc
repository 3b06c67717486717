#include "core/families/window/window_filter.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "core/families/window/window_type.h"
#include "core/filter/parts_image.h"

namespace bitsieve::core {

namespace {

constexpr size_t kChunk = 64;  // hashes handled at a time, so that scratch space is small and on the stack

// Loads before it stay before it, and so do stores. The race detector knows no fences; there, every access in question
// is a sequenced one of its own.
void Fence() {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
}

}  // namespace

WindowFilter::WindowFilter(const FilterParams& params, const WindowShape& shape, MemoryBudget& budget,
                           const Clock& clock, MemoryReservation overhead)
    : Filter(params, budget), shape_(shape), clock_(clock), overhead_(std::move(overhead)) {}

Result<std::unique_ptr<Filter>> WindowFilter::Make(const FilterParams& params, MemoryBudget& budget,
                                                   const Clock& clock) {
  return FromGenerations({params, WindowShapeFor(params), {}}, {}, budget, clock);
}

Result<std::unique_ptr<Filter>> WindowFilter::FromGenerations(const WindowHeader& header,
                                                              std::vector<std::unique_ptr<Generation>> generations,
                                                              MemoryBudget& budget, const Clock& clock) {
  assert(generations.size() == header.generations.size() && generations.size() <= header.shape.max_generations);
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(WindowFilter));
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter");
  std::unique_ptr<WindowFilter> filter(
      new WindowFilter(header.params, header.shape, budget, clock, std::move(overhead)));
  const LockGuard lock(filter->writers());  // no other thread knows the filter yet
  for (size_t i = 0; i < generations.size(); ++i) {
    const GenerationRecord& record = header.generations[i];
    Generation& generation = filter->Own(std::move(generations[i]));
    generation.sequence = i + 1;
    generation.first_ms = record.first_ms;
    generation.last_ms = record.last_ms;
    filter->newest_ms_ = record.last_ms;
    filter->turn_ = i + 1;
    filter->current_ = &generation;
  }
  if (Status status = filter->MakeMissing(); !status) return tl::unexpected(std::move(status).error());
  return filter;
}

// In a window of time a generation takes 1/G of the items, as long as it has room for so many, and the items of one
// generation more than the window's are remembered. A window of items fills one generation after the other.
Result<Forecast> WindowFilter::ForecastOf(const FilterParams& params, uint64_t items) {
  const WindowShape shape = WindowShapeFor(params);
  const uint64_t room = shape.sub_filter.capacity;
  const bool of_time = WindowOf(params).of_time();
  Forecast forecast{.capacity = params.capacity};
  forecast.items = std::min(items, room * (of_time ? shape.max_generations - 1 : shape.generations + 1));
  const uint64_t share = (forecast.items + shape.generations - 1) / shape.generations;
  const uint64_t fill = of_time ? std::clamp<uint64_t>(share, 1, room) : room;
  const uint64_t remembered = forecast.items + (of_time && forecast.items != 0 ? fill : 0);
  forecast.sub_filters = static_cast<uint32_t>(
      std::clamp<uint64_t>((remembered + fill - 1) / fill, shape.generations + 1, shape.max_generations));
  forecast.size_bytes = sizeof(WindowFilter) + forecast.sub_filters * Generation::TotalBytes(shape.sub_filter);
  forecast.peak_bytes = forecast.size_bytes;
  forecast.hash_functions = shape.sub_filter.hash_functions;
  double none = 0;
  for (uint64_t left = remembered; left != 0; left -= std::min(left, fill)) {
    const auto held = static_cast<double>(std::min(left, fill));
    none += std::log1p(-shape.sub_filter.layout->rate_with(shape.sub_filter, held));
  }
  forecast.error_rate = -std::expm1(none);
  return forecast;
}

Generation& WindowFilter::Own(std::unique_ptr<Generation> generation) {
  const uint32_t count = generation_count_.load(std::memory_order_relaxed);
  generations_[count] = std::move(generation);
  generation_count_.store(count + 1, std::memory_order_release);
  SetSizeBytes(shape_.sub_filter.SizeBytes() * (count + 1));
  return *generations_[count];
}

// Those that a window always has, so that only a burst needs memory later. An empty one has no age.
Status WindowFilter::MakeMissing() {
  while (generation_count_.load(std::memory_order_relaxed) < shape_.generations + 1) {
    Result<std::unique_ptr<Generation>> made = Generation::Make(shape_.sub_filter, budget());
    if (!made) return tl::unexpected(std::move(made).error());
    Generation& generation = Own(std::move(*made));
    if (current_ == nullptr) Begin(generation);
  }
  return {};
}

uint64_t WindowFilter::Now() const {
  if (!WindowOf(shared_params()).of_time()) return 0;
  return std::max(static_cast<uint64_t>(clock_.WallMs()), newest_ms_.load(std::memory_order_relaxed));
}

bool WindowFilter::IsRemembered(const Generation& generation, uint64_t now) const {
  if (generation.sequence.load(std::memory_order_acquire) == 0) return false;
  return generation.last_ms.load(std::memory_order_relaxed) + WindowOf(shared_params()).duration_ms >= now;
}

void WindowFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (each->sequence.load(std::memory_order_relaxed) != 0) each->Prefetch(hashes);
  }
}

// An item that was seen again moves from an old generation to the current one. Who looked into the current one before,
// and into the old one after it was given up, would miss it: hence the second look when the turn changed.
void WindowFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  std::fill(present.begin(), present.end(), uint8_t{0});
  uint64_t turn = turn_.load(std::memory_order_acquire);
  while (true) {
    const uint64_t now = Now();
    for (const std::unique_ptr<Generation>& each : generations()) {
      if (IsRemembered(*each, now)) each->MayContain(hashes, present);
    }
    Fence();
    const uint64_t turn_after = turn_.load(std::memory_order_acquire);
    if (turn_after == turn) return;
    turn = turn_after;
  }
}

size_t WindowFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  add_ms_ = Now();
  for (size_t done = 0; done < hashes.size();) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    AddChunk(hashes.subspan(done, count), outcomes.subspan(done, count));
    done += count;
  }
  return hashes.size();
}

// One that is old but not full takes items all the same if none can take its place: better remembered too long.
void WindowFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) {
  AddOutcome refusal = AddOutcome::kAdded;
  size_t done = 0;
  while (true) {
    if (refusal != AddOutcome::kAdded || !TurnIsDue()) {
      done += AddToCurrent(hashes.subspan(done), outcomes.subspan(done));
    }
    if (done == hashes.size()) return;
    if (refusal == AddOutcome::kAdded) {
      refusal = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return Turn(); });
    } else {
      outcomes[done++] = refusal;
    }
  }
}

size_t WindowFilter::AddToCurrent(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) {
  std::array<uint8_t, kChunk> here_in{};
  std::array<uint8_t, kChunk> known_in{};
  std::array<uint8_t, kChunk> added{};
  const std::span<uint8_t> here(here_in.data(), hashes.size());
  const std::span<uint8_t> known(known_in.data(), hashes.size());
  current_->MayContain(hashes, here);
  if (std::find(here.begin(), here.end(), 0) != here.end()) {
    for (const std::unique_ptr<Generation>& each : generations()) {
      if (each.get() != current_ && IsRemembered(*each, add_ms_)) each->MayContain(hashes, known);
    }
  }
  const AddProgress progress = current_->Add(hashes, here, std::span(added.data(), hashes.size()));
  for (size_t i = 0; i < progress.done; ++i) {
    outcomes[i] = added[i] != 0 && known[i] == 0 ? AddOutcome::kAdded : AddOutcome::kPresent;
  }
  if (progress.done != 0) RecordSighting();
  BumpChangeCount(progress.added);
  return progress.done;
}

void WindowFilter::RecordSighting() {
  if (current_->last_ms.load(std::memory_order_relaxed) >= add_ms_) return;
  current_->last_ms.store(add_ms_, std::memory_order_relaxed);
  newest_ms_.store(add_ms_, std::memory_order_relaxed);
  BumpChangeCount(1);
}

bool WindowFilter::TurnIsDue() const {
  if (!WindowOf(shared_params()).of_time()) return false;
  const uint64_t share_ms = (WindowOf(shared_params()).duration_ms + shape_.generations - 1) / shape_.generations;
  return add_ms_ - std::min(add_ms_, current_->first_ms.load(std::memory_order_relaxed)) >= share_ms;
}

AddOutcome WindowFilter::Turn() {
  if (current_->bits().items() == 0) {  // an empty one has no age
    current_->first_ms.store(add_ms_, std::memory_order_relaxed);
    RecordSighting();
    return AddOutcome::kAdded;
  }
  AddOutcome refusal = AddOutcome::kAdded;
  if (Generation* const free = FindFree(refusal); free != nullptr) Begin(*free);
  return refusal;
}

Generation* WindowFilter::FindFree(AddOutcome& refusal) {
  Generation* oldest = nullptr;
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (oldest == nullptr || each->sequence < oldest->sequence) oldest = each.get();
  }
  if (!WindowOf(shared_params()).of_time() || !IsRemembered(*oldest, add_ms_)) return oldest;
  if (generations().size() == shape_.max_generations) {
    refusal = AddOutcome::kWindowFull;
    return nullptr;
  }
  Result<std::unique_ptr<Generation>> made = Generation::Make(shape_.sub_filter, budget());
  if (!made) {
    refusal = AddOutcome::kOutOfMemory;
    return nullptr;
  }
  return &Own(std::move(*made));
}

void WindowFilter::Begin(Generation& generation) {
  const uint64_t turn = turn_.load(std::memory_order_relaxed) + 1;
  turn_.store(turn, std::memory_order_release);
  Fence();
  const bool used = generation.sequence.load(std::memory_order_relaxed) != 0;
  generation.sequence.store(0, std::memory_order_release);
  if (used) generation.BeginRound();
  generation.first_ms.store(add_ms_, std::memory_order_relaxed);
  generation.last_ms.store(add_ms_, std::memory_order_relaxed);
  generation.sequence.store(turn, std::memory_order_release);
  current_ = &generation;
  newest_ms_.store(add_ms_, std::memory_order_relaxed);
}

uint64_t WindowFilter::ItemCount() const {
  const uint64_t now = Now();
  uint64_t items = 0;
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (IsRemembered(*each, now)) items += each->bits().items();
  }
  return items;
}

uint64_t WindowFilter::size_bytes() const {
  return sizeof(WindowFilter) + generations().size() * Generation::TotalBytes(shape_.sub_filter);
}

FilterInfo WindowFilter::Info() const {
  FilterInfo info;
  info.capacity = shared_params().capacity;
  info.hash_functions = shape_.sub_filter.hash_functions;
  info.bits_per_item = static_cast<double>(shape_.sub_filter.bits) * (shape_.generations + 1) /
                       static_cast<double>(shared_params().capacity);
  const uint64_t now = Now();
  uint64_t oldest_ms = now;
  uint64_t set_bits = 0;
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (!IsRemembered(*each, now)) continue;
    ++info.window.generations;
    info.items += each->bits().items();
    set_bits += each->bits().set_bits();
    if (each->bits().items() != 0) oldest_ms = std::min(oldest_ms, each->first_ms.load(std::memory_order_relaxed));
  }
  info.sub_filters = static_cast<uint32_t>(generations().size());
  info.size_bytes = size_bytes();
  info.window.oldest_items = info.items;
  info.window.oldest_age_ms = now - oldest_ms;
  info.fill_ratio = static_cast<double>(set_bits) / (static_cast<double>(shape_.sub_filter.bits) * info.sub_filters);
  return info;
}

bool WindowFilter::ages() const { return WindowOf(shared_params()).of_time(); }

std::optional<double> WindowFilter::EstimatedErrorRate() const {
  const uint64_t now = Now();
  double none = 1;  // the chance that no generation is wrong
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (!IsRemembered(*each, now)) continue;
    const std::optional<double> rate = each->bits().EstimatedRate();
    if (!rate) return std::nullopt;
    none *= 1 - *rate;
  }
  return 1 - none;
}

// Oldest generation first.
std::unique_ptr<FilterImage> WindowFilter::DoCapture(const ImagePool& pool) const {
  std::vector<Generation*> in_use;
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (each->sequence != 0) in_use.push_back(each.get());
  }
  std::sort(in_use.begin(), in_use.end(), [](auto* a, auto* b) { return a->sequence < b->sequence; });
  WindowHeader header{params(), shape_, {}};
  for (const Generation* each : in_use)
    header.generations.push_back({each->bits().items(), each->first_ms, each->last_ms});
  auto image = std::make_unique<PartsImage>(EncodeWindowHeader(header), writers());
  for (Generation* each : in_use) image->AddPart(each->Capture(pool), shape_.sub_filter.SizeBytes());
  return image;
}

}  // namespace bitsieve::core
