#include "core/families/ribbon/ribbon_filter.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/families/ribbon/ribbon_solver.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

namespace {

// The largest r of which 2^-r is not below the rate.
uint32_t ColumnsFor(double rate) {
  int exponent;
  const double mantissa = std::frexp(rate, &exponent);  // rate = mantissa 2^exponent, mantissa in [0.5, 1)
  return static_cast<uint32_t>(mantissa == 0.5 ? 1 - exponent : -exponent);
}

// Returns how many starts may have only r columns, so that the mean is the rate at most.
uint32_t SplitFor(double rate, uint32_t columns, uint32_t starts) {
  const double share = std::ldexp(rate, static_cast<int>(columns) + 1) - 1;  // of 2^-r; the rest has 2^-(r + 1)
  return static_cast<uint32_t>(std::clamp(share, 0.0, 1.0) * starts);
}

double RateOf(const RibbonShard& shard, uint32_t columns) {
  const double share = static_cast<double>(shard.split) / shard.starts();
  return std::ldexp(1 + share, -static_cast<int>(columns) - 1);
}

uint64_t ShardOf(uint64_t key, uint64_t shards) { return MultiplyHigh(key, shards); }
// The least key of a shard.
uint64_t FirstKey(uint64_t shard, uint64_t shards) {
  const unsigned __int128 whole = static_cast<unsigned __int128>(shard) << 64;
  return static_cast<uint64_t>((whole + shards - 1) / shards);
}

uint64_t ShardsFor(uint64_t items) {
  return std::max<uint64_t>(1, (items + kRibbonShardItems - 1) / kRibbonShardItems);
}

// Returns a shard of `items` items, with its blocks from word `offset` on.
RibbonShard ShardFor(uint64_t offset, uint64_t items, double rate, uint32_t columns) {
  RibbonShard shard{offset, RibbonSolver::SlotsFor(items), 0, 0};
  shard.split = SplitFor(rate, columns, shard.starts());
  return shard;
}

// Returns the words of all shards, rounded up to whole lines.
uint64_t WholeLines(uint64_t words_used) {
  constexpr uint64_t kLineWords = kLineBytes / sizeof(uint64_t);
  return (words_used + kSpareWords + kLineWords - 1) / kLineWords * kLineWords;
}

// Solves one shard after the other, into memory that was measured out before.
class Builder {
 public:
  Builder(const FilterParams& params, const HashSet& hashes, MemoryBudget& budget)
      : rate_(params.error_rate), hashes_(hashes), budget_(budget), shard_count_(ShardsFor(hashes.size())) {
    shape_.columns = ColumnsFor(rate_);
    shape_.shards = shard_count_;
  }

  const RibbonShape& shape() const { return shape_; }
  BitMemory TakeMemory() { return std::move(memory_); }

  // Counts the items of each shard, and takes the memory for the result and for working.
  Status Prepare() {
    MemoryReservation counting = MemoryReservation::TryTake(budget_, shard_count_ * sizeof(uint64_t));
    if (!counting.held()) return OutOfMemory();
    std::vector<uint64_t> counts(shard_count_);
    hashes_.ForEach(0, UINT64_MAX, [&](uint64_t key) { ++counts[ShardOf(key, shard_count_)]; });
    const uint64_t most = *std::max_element(counts.begin(), counts.end());
    // Random hashes differ from the mean by a few hundred.
    if (most > 2 * kRibbonShardItems) {
      return Fail(ErrorCode::kUnsupported, "the hashes of the items are not random");
    }
    const uint64_t slots = RibbonSolver::SlotsFor(most);
    working_ = MemoryReservation::TryTake(budget_, most * sizeof(uint64_t) + RibbonSolver::MemoryBytes(slots));
    if (!working_.held()) return OutOfMemory();
    keys_.reserve(most);
    return LayOut(counts);
  }

  Status SolveShard(uint64_t index) {
    RibbonShard shard = ReadShard(words() + 2 * index);
    CollectKeys(index);
    const std::optional<uint32_t> seed = solver_.Band(keys_, shard.slots);
    if (!seed) return Fail(ErrorCode::kUnsupported, "no seed solves shard " + std::to_string(index));
    shard.seed = *seed;
    WriteShard(shard, words() + 2 * index);
    solver_.Solve(shard, shape_.columns, words() + shard.offset);
    return {};
  }

 private:
  static tl::unexpected<Error> OutOfMemory() {
    return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory to build the frozen filter");
  }
  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory_.data()); }

  Status LayOut(const std::vector<uint64_t>& counts) {
    uint64_t words_used = 2 * shard_count_;
    const auto shard_of = [&](uint64_t count) {
      const RibbonShard shard = ShardFor(words_used, count, rate_, shape_.columns);
      words_used += shard.Words(shape_.columns);
      return shard;
    };
    for (const uint64_t count : counts) shard_of(count);
    shape_.words = WholeLines(words_used);
    Result<BitMemory> memory = BitMemory::Allocate(shape_.SizeBytes(), budget_);
    if (!memory) return tl::unexpected(std::move(memory).error());
    memory_ = std::move(*memory);
    words_used = 2 * shard_count_;
    for (uint64_t i = 0; i < shard_count_; ++i) WriteShard(shard_of(counts[i]), words() + 2 * i);
    return {};
  }

  void CollectKeys(uint64_t index) {
    keys_.clear();
    const uint64_t first = FirstKey(index, shard_count_);
    const uint64_t last = index + 1 == shard_count_ ? UINT64_MAX : FirstKey(index + 1, shard_count_) - 1;
    hashes_.ForEach(first, last, [&](uint64_t key) {
      if (key >= first && key <= last) keys_.push_back(key);
    });
  }

  const double rate_;
  const HashSet& hashes_;
  MemoryBudget& budget_;
  const uint64_t shard_count_;
  RibbonShape shape_;
  BitMemory memory_;
  MemoryReservation working_;
  std::vector<uint64_t> keys_;
  RibbonSolver solver_;
};

// The records, each against the one before.
Status CheckShards(const RibbonHeader& header, const BitMemory& memory) {
  const RibbonShape& shape = header.shape;
  const auto* words = reinterpret_cast<const uint64_t*>(memory.data());
  uint64_t offset = 2 * shape.shards;
  uint64_t slots = 0;
  for (uint64_t i = 0; i < shape.shards; ++i) {
    const RibbonShard shard = ReadShard(words + 2 * i);
    if (shard.slots < kRibbonWidth || shard.slots % kRibbonBlockSlots != 0 || shard.seed >= RibbonSolver::kSeeds) {
      return CorruptBody("the record of a shard is impossible");
    }
    if (shard.split > shard.starts()) return CorruptBody("the split of a shard lies after its end");
    if (shard.offset != offset) return CorruptBody("a shard does not begin where the one before ends");
    offset += shard.Words(shape.columns);
    slots += shard.slots;
    if (offset > shape.words) return CorruptBody("its shards are longer than it is");
  }
  const uint64_t spare = shape.words - offset;
  if (spare < kSpareWords || spare >= kSpareWords + kLineBytes / sizeof(uint64_t)) {
    return CorruptBody("it is not as long as its shards say");
  }
  if (std::any_of(words + offset, words + shape.words, [](uint64_t word) { return word != 0; })) {
    return CorruptBody("bits after the last shard are set");
  }
  return header.items <= slots ? Status() : Status(CorruptBody("it has fewer slots than items"));
}

}  // namespace

RibbonFilter::RibbonFilter(const RibbonHeader& header, BitMemory memory, MemoryReservation overhead,
                           MemoryBudget& budget)
    : Filter(header.params, budget),
      shape_(header.shape),
      items_(header.items),
      memory_(std::move(memory)),
      overhead_(std::move(overhead)) {
  // An item that was never added is as likely in one shard as in another.
  for (uint64_t i = 0; i < shape_.shards; ++i) {
    const RibbonShard shard = ReadShard(table().words + 2 * i);
    slots_ += shard.slots;
    error_rate_ += RateOf(shard, shape_.columns) / static_cast<double>(shape_.shards);
  }
  SetSizeBytes(memory_.size_bytes());
}

Result<std::unique_ptr<Filter>> RibbonFilter::Build(const FilterParams& params, const HashSet& hashes,
                                                    MemoryBudget& budget, const Progress& progress) {
  if (!progress(0, 1)) return nullptr;
  Builder builder(params, hashes, budget);
  if (Status status = builder.Prepare(); !status) return tl::unexpected(std::move(status).error());
  const RibbonShape shape = builder.shape();
  for (uint64_t i = 0; i < shape.shards; ++i) {
    if (!progress(i, shape.shards)) return nullptr;
    if (Status status = builder.SolveShard(i); !status) return tl::unexpected(std::move(status).error());
  }
  return FromMemory({params, true, hashes.size(), shape}, builder.TakeMemory(), budget);
}

Result<Forecast> RibbonFilter::ForecastOf(const FilterParams& params, uint64_t items) {
  Forecast forecast{.capacity = params.capacity, .sub_filters = 1};
  forecast.items = std::min(items, params.scaling() ? kMaxRibbonItems : params.capacity);
  RibbonShape shape{.columns = ColumnsFor(params.error_rate), .shards = ShardsFor(forecast.items)};
  const RibbonShard shard = ShardFor(0, forecast.items / shape.shards, params.error_rate, shape.columns);
  shape.words = WholeLines(shape.shards * (2 + shard.Words(shape.columns)));
  forecast.size_bytes = shape.SizeBytes() + sizeof(RibbonFilter);
  forecast.peak_bytes = forecast.size_bytes + HashSet::MostBytes(forecast.items);
  forecast.hash_functions = shape.columns;
  forecast.error_rate = forecast.items == 0 ? 0 : RateOf(shard, shape.columns);
  return forecast;
}

Result<std::unique_ptr<Filter>> RibbonFilter::FromMemory(const RibbonHeader& header, BitMemory memory,
                                                         MemoryBudget& budget) {
  if (Status status = CheckShards(header, memory); !status) return tl::unexpected(std::move(status).error());
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(RibbonFilter));
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter");
  return std::unique_ptr<Filter>(new RibbonFilter(header, std::move(memory), std::move(overhead), budget));
}

void RibbonFilter::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  BestRibbonKernel().may_contain(table(), hashes.data(), hashes.size(), present.data());
  if (const FalsePositiveList* const list = false_positives_.get()) list->TakeOut(hashes, present);
}

uint64_t RibbonFilter::ChangeCount() const {
  const FalsePositiveList* const list = false_positives_.get();
  return items_ + (list == nullptr ? 0 : list->changes());
}

uint64_t RibbonFilter::size_bytes() const {
  const FalsePositiveList* const list = false_positives_.get();
  return memory_.size_bytes() + overhead_.bytes() + (list == nullptr ? 0 : list->size_bytes());
}

void RibbonFilter::PrefetchLines(std::span<const KeyHash> hashes) const {
  const RibbonTable& own = table();
  for (const KeyHash& hash : hashes) PrefetchWindow(own, hash);
}

size_t RibbonFilter::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  std::fill_n(outcomes.begin(), hashes.size(), AddOutcome::kFrozen);
  return hashes.size();
}

std::optional<double> RibbonFilter::EstimatedErrorRate() const { return error_rate_; }

FilterInfo RibbonFilter::Info() const {
  FilterInfo info;
  info.capacity = shared_params().capacity;
  info.size_bytes = size_bytes();
  info.sub_filters = 1;
  info.items = items_;
  info.fill_ratio = static_cast<double>(items_) / static_cast<double>(slots_);
  info.hash_functions = shape_.columns;
  if (items_ != 0) info.bits_per_item = 8 * static_cast<double>(memory_.size_bytes()) / static_cast<double>(items_);
  if (const FalsePositiveList* const list = false_positives_.get()) info.false_positives = list->size();
  info.freeze = {.state = FreezeState::kFrozen, .percent = 100};
  return info;
}

class RibbonFilter::Image final : public FilterImage {
 public:
  explicit Image(const RibbonFilter& filter)
      : header_(EncodeRibbonHeader({filter.params(), true, filter.items_, filter.shape_})), memory_(filter.memory_) {}

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return memory_.size_bytes(); }
  Status Read(uint64_t offset, std::span<std::byte> out) override {
    memory_.CopyOut(offset, out);
    return {};
  }

 private:
  const std::string header_;
  const BitMemory& memory_;
};

std::unique_ptr<FilterImage> RibbonFilter::DoCapture(const ImagePool&) const { return std::make_unique<Image>(*this); }

}  // namespace bitsieve::core
