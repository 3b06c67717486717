#include "core/families/bloom/counting_bloom.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/sizing.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxCounters = uint64_t{1} << 59;  // so that no number of bits overflows

// The positions of an item that is about to change, each once. All lines are loaded together.
class DistinctPositions {
 public:
  DistinctPositions(const KeyHash& hash, const SubFilterShape& shape, const uint64_t* words) {
    constexpr int kForWriting = 1;
    Positions positions(hash, shape.bits);
    for (uint32_t i = 0; i < shape.hash_functions; ++i) {
      const uint64_t position = positions.Next();
      __builtin_prefetch(words + position * shape.counter_bits / 64, kForWriting);
      if (std::find(begin(), end(), position) == end()) positions_[count_++] = position;
    }
  }
  const uint64_t* begin() const { return positions_.data(); }
  const uint64_t* end() const { return positions_.data() + count_; }

 private:
  std::array<uint64_t, kMaxPositions> positions_;
  uint32_t count_ = 0;
};

}  // namespace

constexpr SubFilterLayout kCountingLayout{
    .shape_for =
        [](uint64_t capacity, double error_rate, const FilterParams& params) {
          return CountingBloom::ShapeFor(capacity, error_rate, CounterBitsOf(params));
        },
    .is_valid = CountingBloom::IsValidShape,
    .make = [](const SubFilterShape& shape, BitMemory memory) -> std::unique_ptr<SubFilter> {
      return std::make_unique<CountingBloom>(shape, std::move(memory));
    },
    .rate_with = [](const SubFilterShape& shape,
                    double items) { return FiniteClassicRate(shape.bits, shape.hash_functions, items); },
    .counters = true,
};

CountingBloom::CountingBloom(const SubFilterShape& shape, BitMemory memory)
    : SubFilter(shape, std::move(memory)),
      counter_bits_(shape.counter_bits),
      largest_((uint64_t{1} << shape.counter_bits) - 1) {}

SubFilterShape CountingBloom::ShapeFor(uint64_t capacity, double error_rate, uint32_t counter_bits) {
  constexpr bool kCountsNew = false;  // an item that it takes for known raises counters and is counted, too
  const ClassicShape shape = ClassicShapeFor(capacity, error_rate, kMaxHashFunctions, kCountsNew);
  return {&kCountingLayout, capacity, error_rate, shape.bits, shape.hashes, 0, counter_bits};
}

bool CountingBloom::IsValidShape(const SubFilterShape& shape) {
  return (shape.counter_bits == 4 || shape.counter_bits == 8) && shape.lines_per_item == 0 &&
         shape.hash_functions >= 1 && shape.hash_functions <= kMaxHashFunctions && shape.bits >= 1 &&
         shape.bits <= kMaxCounters;
}

void CountingBloom::Prefetch(std::span<const KeyHash> hashes) const {
  for (const KeyHash& hash : hashes) {
    Positions positions(hash, shape().bits);
    for (uint32_t i = 0; i < std::min(kFirstPlaces, shape().hash_functions); ++i) {
      __builtin_prefetch(words() + positions.Next() * counter_bits_ / 64);
    }
  }
}

void CountingBloom::PrefetchAll(const KeyHash& hash) const {
  constexpr int kForWriting = 1;
  Positions positions(hash, shape().bits);
  for (uint32_t i = 0; i < shape().hash_functions; ++i) {
    __builtin_prefetch(words() + positions.Next() * counter_bits_ / 64, kForWriting);
  }
}

// Relaxed, here and below: the result of an add reaches other threads through a socket or a lock, and that orders its
// counters too.
uint64_t CountingBloom::Load(uint64_t position) const {
  const uint64_t bit = position * counter_bits_;
  return __atomic_load_n(words() + bit / 64, __ATOMIC_RELAXED) >> (bit % 64) & largest_;
}

bool CountingBloom::Contains(const KeyHash& hash) const {
  return IsPresent(looked_up(), hash, [this](uint64_t position) { return uint64_t{Load(position) != 0}; });
}

uint64_t CountingBloom::Count(const KeyHash& hash) const {
  Positions positions(hash, shape().bits);
  uint64_t least = largest_;
  for (uint32_t i = 0; i < shape().hash_functions && least != 0; ++i) least = std::min(least, Load(positions.Next()));
  return least;
}

void CountingBloom::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  MarkPresent(
      looked_up(), hashes, present, [this](uint64_t position) { return uint64_t{Load(position) != 0}; },
      [this](uint64_t position) { __builtin_prefetch(words() + position * counter_bits_ / 64); });
}

template <class Next>
CountingBloom::Step CountingBloom::Change(uint64_t position, Next next) {
  const uint64_t bit = position * counter_bits_;
  const uint64_t index = bit / 64;
  const auto shift = static_cast<unsigned>(bit % 64);
  const uint64_t word = __atomic_load_n(words() + index, __ATOMIC_RELAXED);
  const uint64_t before = word >> shift & largest_;
  const uint64_t after = before == largest_ ? before : next(before);
  if (after == before) return {before, before};
  memory().BeforeWrite(index * sizeof(uint64_t));
  __atomic_store_n(words() + index, word ^ (before ^ after) << shift, __ATOMIC_RELAXED);
  return {before, after};
}

CounterChange CountingBloom::Raise(const KeyHash& hash) {
  CounterChange change{.there = true};
  for (const uint64_t position : DistinctPositions(hash, shape(), words())) {
    const Step step = Change(position, [](uint64_t value) { return value + 1; });
    change.there &= step.before != 0;
    change.changed |= step.changed();
    change.bits_set += step.bits_set();
  }
  return change;
}

CounterChange CountingBloom::Lower(const KeyHash& hash) {
  if (!Contains(hash)) return {};
  CounterChange change{.there = true};
  for (const uint64_t position : DistinctPositions(hash, shape(), words())) {
    const Step step = Change(position, [](uint64_t value) { return value - 1; });
    change.changed |= step.changed();
    change.bits_set += step.bits_set();
  }
  return change;
}

uint64_t CountingBloom::UniteWith(const SubFilter& other, WordRange range) {
  const auto* from = reinterpret_cast<const uint64_t*>(other.memory().data());
  const uint64_t counters_per_word = 64 / counter_bits_;
  uint64_t bits_set = 0;
  for (uint64_t i = range.first; i < range.end; ++i) {
    uint64_t counters = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    for (uint64_t position = i * counters_per_word; counters != 0; counters >>= counter_bits_, ++position) {
      const uint64_t more = counters & largest_;
      if (more == 0) continue;
      bits_set += Change(position, [&](uint64_t value) { return std::min(largest_, value + more); }).bits_set();
    }
  }
  return bits_set;
}

std::optional<double> CountingBloom::EstimatedRate() const {
  return ClassicRateNow(shape().bits, shape().hash_functions, set_bits(), items());
}

}  // namespace bitsieve::core
