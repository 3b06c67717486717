#include "core/filters/window_filter.h"

#include <algorithm>
#include <cassert>
#include <mutex>
#include <shared_mutex>

namespace bitsieve::core {

namespace {

constexpr size_t kChunk = 64;  // hashes handled at a time, so that scratch space is small and on the stack

void RaiseTo(std::atomic<uint64_t>& value, uint64_t to) {
  uint64_t was = value.load(std::memory_order_relaxed);
  while (was < to && !value.compare_exchange_weak(was, to, std::memory_order_relaxed)) {
  }
}

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
    : Filter(params), shape_(shape), budget_(budget), clock_(clock), overhead_(std::move(overhead)) {}

Result<std::unique_ptr<Filter>> WindowFilter::Make(const FilterParams& params, MemoryBudget& budget,
                                                   const Clock& clock) {
  if (Status status = Validate(params); !status) return tl::unexpected(std::move(status).error());
  return FromGenerations({params, WindowShapeFor(params), {}}, {}, budget, clock);
}

Result<std::unique_ptr<Filter>> WindowFilter::FromGenerations(const WindowHeader& header,
                                                              std::vector<std::unique_ptr<Generation>> generations,
                                                              MemoryBudget& budget, const Clock& clock) {
  assert(generations.size() == header.generations.size() && generations.size() <= header.shape.max_generations);
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(WindowFilter));
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot take memory for a filter");
  std::unique_ptr<WindowFilter> filter(
      new WindowFilter(header.params, header.shape, budget, clock, std::move(overhead)));
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

// Called with the gate closed, or before anybody else knows the filter.
Generation& WindowFilter::Own(std::unique_ptr<Generation> generation) {
  const uint32_t count = generation_count_.load(std::memory_order_relaxed);
  generations_[count] = std::move(generation);
  generation_count_.store(count + 1, std::memory_order_release);
  NoteSizeBytes(shape_.link.SizeBytes() * (count + 1));
  return *generations_[count];
}

// Those that a window always has, so that only a burst needs memory later.
Status WindowFilter::MakeMissing() {
  while (generation_count_.load(std::memory_order_relaxed) < shape_.generations + 1) {
    Result<std::unique_ptr<Generation>> made = Generation::Make(shape_.link, budget_);
    if (!made) return tl::unexpected(std::move(made).error());
    Generation& generation = Own(std::move(*made));
    if (current_ == nullptr) Begin(generation, Now());
  }
  return {};
}

uint64_t WindowFilter::Now() const {
  if (!params().window.of_time()) return 0;
  return std::max(clock_.NowMs(), newest_ms_.load(std::memory_order_relaxed));
}

bool WindowFilter::IsRemembered(const Generation& generation, uint64_t now) const {
  if (generation.sequence.load(std::memory_order_acquire) == 0) return false;
  return generation.last_ms.load(std::memory_order_relaxed) + params().window.duration_ms >= now;
}

void WindowFilter::PrefetchLines(const KeyHash& hash) const {
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (each->sequence.load(std::memory_order_relaxed) != 0) each->Prefetch(hash);
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

size_t WindowFilter::Add(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) {
  for (size_t done = 0; done < hashes.size();) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    done += AddChunk(hashes.subspan(done, count), outcomes.subspan(done, count));
  }
  return hashes.size();
}

size_t WindowFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) {
  AddOutcome refusal = AddOutcome::kAdded;
  size_t done = 0;
  while (true) {
    uint64_t turn;
    {
      const std::shared_lock adders(gate_);
      turn = turn_.load(std::memory_order_relaxed);
      const uint64_t now = Now();
      // One that is old but not full takes items all the same if none can take its place: better remembered too long.
      if (refusal != AddOutcome::kAdded || !TurnIsDue(now)) {
        done += AddToCurrent(hashes.subspan(done), outcomes.subspan(done), now);
      }
    }
    if (done == hashes.size()) return done;
    if (refusal == AddOutcome::kAdded) {
      refusal = Turn(turn);
    } else {
      outcomes[done++] = refusal;
      if (done == hashes.size()) return done;
    }
  }
}

// Called within the gate. Stops before the first item for which there is no room.
size_t WindowFilter::AddToCurrent(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, uint64_t now) {
  std::array<uint8_t, kChunk> here_in{};
  std::array<uint8_t, kChunk> known_in{};
  const std::span<uint8_t> here(here_in.data(), hashes.size());
  const std::span<uint8_t> known(known_in.data(), hashes.size());
  if (params().window.of_time()) NoteSighting(now);  // before an item is there: it is then remembered from the start
  current_->MayContain(hashes, here);
  if (std::find(here.begin(), here.end(), 0) == here.end()) {
    std::fill_n(outcomes.begin(), hashes.size(), AddOutcome::kPresent);
    return hashes.size();
  }
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (each.get() != current_ && IsRemembered(*each, now)) each->MayContain(hashes, known);
  }
  std::array<uint8_t, kChunk> added{};
  const LinkProgress progress = current_->Add(hashes, here, std::span(added.data(), hashes.size()));
  for (size_t i = 0; i < progress.done; ++i) {
    outcomes[i] = added[i] != 0 && known[i] == 0 ? AddOutcome::kAdded : AddOutcome::kPresent;
  }
  if (progress.added != 0) changes_.fetch_add(progress.added, std::memory_order_relaxed);
  return progress.done;
}

void WindowFilter::NoteSighting(uint64_t now) {
  if (current_->last_ms.load(std::memory_order_relaxed) >= now) return;
  RaiseTo(current_->last_ms, now);
  RaiseTo(newest_ms_, now);
  changes_.fetch_add(1, std::memory_order_relaxed);
}

bool WindowFilter::TurnIsDue(uint64_t now) const {
  if (!params().window.of_time()) return false;
  const uint64_t share_ms = (params().window.duration_ms + shape_.generations - 1) / shape_.generations;
  return now - std::min(now, current_->first_ms.load(std::memory_order_relaxed)) >= share_ms;
}

AddOutcome WindowFilter::Turn(uint64_t seen) {
  const std::lock_guard alone(gate_);
  if (turn_.load(std::memory_order_relaxed) != seen) return AddOutcome::kAdded;
  const uint64_t now = Now();  // not before what any adder noted
  if (!current_->Full() && !TurnIsDue(now)) return AddOutcome::kAdded;
  if (current_->bits().items() == 0) {  // an empty one has no age
    current_->first_ms.store(now, std::memory_order_relaxed);
    NoteSighting(now);
    return AddOutcome::kAdded;
  }
  AddOutcome refusal = AddOutcome::kAdded;
  if (Generation* const free = FindFree(now, refusal); free != nullptr) Begin(*free, now);
  return refusal;
}

Generation* WindowFilter::FindFree(uint64_t now, AddOutcome& refusal) {
  Generation* oldest = nullptr;
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (oldest == nullptr || each->sequence < oldest->sequence) oldest = each.get();
  }
  if (!params().window.of_time() || !IsRemembered(*oldest, now)) return oldest;
  if (generations().size() == shape_.max_generations) {
    refusal = AddOutcome::kWindowFull;
    return nullptr;
  }
  Result<std::unique_ptr<Generation>> made = Generation::Make(shape_.link, budget_);
  if (!made) {
    refusal = AddOutcome::kOutOfMemory;
    return nullptr;
  }
  return &Own(std::move(*made));
}

// Called with the gate closed, or before anybody else knows the filter.
void WindowFilter::Begin(Generation& generation, uint64_t now) {
  const uint64_t turn = turn_.load(std::memory_order_relaxed) + 1;
  turn_.store(turn, std::memory_order_release);
  Fence();
  const bool used = generation.sequence.load(std::memory_order_relaxed) != 0;
  generation.sequence.store(0, std::memory_order_release);
  if (used) generation.BeginRound();
  generation.first_ms.store(now, std::memory_order_relaxed);
  generation.last_ms.store(now, std::memory_order_relaxed);
  generation.sequence.store(turn, std::memory_order_release);
  current_ = &generation;
  RaiseTo(newest_ms_, now);
}

uint64_t WindowFilter::ItemCount() const {
  const uint64_t now = Now();
  uint64_t items = 0;
  for (const std::unique_ptr<Generation>& each : generations()) {
    if (IsRemembered(*each, now)) items += each->bits().items();
  }
  return items;
}

FilterInfo WindowFilter::Info() const {
  FilterInfo info;
  info.capacity = params().capacity;
  info.hash_functions = shape_.link.hash_functions;
  info.bits_per_item =
      static_cast<double>(shape_.link.bits) * (shape_.generations + 1) / static_cast<double>(params().capacity);
  info.size_bytes = sizeof(WindowFilter);
  const uint64_t now = Now();
  uint64_t oldest_ms = now;
  uint64_t set_bits = 0;
  double none = 1;  // the chance that no generation is wrong
  for (const std::unique_ptr<Generation>& each : generations()) {
    info.size_bytes += Generation::TotalBytes(shape_.link);
    if (!IsRemembered(*each, now)) continue;
    ++info.window.generations;
    info.items += each->bits().items();
    set_bits += each->bits().set_bits();
    none *= 1 - each->bits().EstimatedRate();
    if (each->bits().items() != 0) oldest_ms = std::min(oldest_ms, each->first_ms.load(std::memory_order_relaxed));
  }
  info.links = static_cast<uint32_t>(generations().size());
  info.window.oldest_items = info.items;
  info.window.oldest_age_ms = now - oldest_ms;
  info.estimated_error_rate = 1 - none;
  info.fill_ratio = static_cast<double>(set_bits) / (static_cast<double>(shape_.link.bits) * info.links);
  return info;
}

uint64_t WindowFilter::cleared_lines() const {
  uint64_t lines = 0;
  for (const std::unique_ptr<Generation>& each : generations()) lines += each->cleared_lines();
  return lines;
}

// The header is taken at once; the bits are read later, oldest generation first. A generation that began anew in
// between is read as empty: its items have left the window.
class WindowFilter::Image final : public FilterImage {
 public:
  explicit Image(const WindowFilter& filter) {
    const std::shared_lock no_turn(filter.gate_);
    for (const std::unique_ptr<Generation>& each : filter.generations()) {
      if (each->sequence != 0) parts_.push_back({each.get(), each->sequence});
    }
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.sequence < b.sequence; });
    WindowHeader header{filter.params(), filter.shape_, {}};
    for (const Part& part : parts_) {
      const Generation& generation = *part.generation;
      header.generations.push_back({generation.bits().items(), generation.first_ms, generation.last_ms});
    }
    header_ = EncodeWindowHeader(header);
    part_bytes_ = filter.shape_.link.SizeBytes();
  }

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return part_bytes_ * parts_.size(); }

  Status Read(uint64_t offset, std::span<std::byte> out) override {
    while (!out.empty()) {
      const Part& part = parts_[offset / part_bytes_];
      const uint64_t within = offset % part_bytes_;
      const std::span<std::byte> piece = out.first(std::min<uint64_t>(out.size(), part_bytes_ - within));
      part.generation->CopyOut(within, piece);
      Fence();
      if (part.generation->sequence.load(std::memory_order_acquire) != part.sequence) {
        std::fill(piece.begin(), piece.end(), std::byte{0});
      }
      offset += piece.size();
      out = out.subspan(piece.size());
    }
    return {};
  }

 private:
  struct Part {
    const Generation* generation;
    uint64_t sequence;
  };
  std::string header_;
  std::vector<Part> parts_;  // oldest first
  uint64_t part_bytes_ = 0;
};

std::unique_ptr<FilterImage> WindowFilter::Capture() const { return std::make_unique<Image>(*this); }

}  // namespace bitsieve::core
