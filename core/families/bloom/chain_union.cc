#include "core/families/bloom/chain_union.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parse.h"
#include "core/families/bloom/chain_fold.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/families/bloom/sizing.h"
#include "core/filter/content_turn.h"
#include "core/filter/filter_factory.h"
#include "core/filter/image_pressure.h"

namespace bitsieve::core {

namespace {

using SubFilterList = std::vector<const SubFilter*>;  // oldest first

tl::unexpected<Error> Refuse(const std::string& why) { return Fail(ErrorCode::kInvalidArgument, why); }

std::string Differ(const std::string& what, const std::string& first, const std::string& other) {
  return "they differ in their " + what + ": " + first + " and " + other;
}

// Empty if the sub-filters may be ORed.
std::string SubFilterDifference(size_t index, const SubFilterShape& first, const SubFilterShape& other) {
  if (first == other) return "";
  const std::string of_sub_filter = index == 0 ? "" : " of sub-filter " + std::to_string(index + 1);
  if (first.capacity != other.capacity) {
    return Differ("capacity" + of_sub_filter, std::to_string(first.capacity), std::to_string(other.capacity));
  }
  if (first.error_rate != other.error_rate) {
    return Differ("error rate" + of_sub_filter, RoundedText(first.error_rate, 6), RoundedText(other.error_rate, 6));
  }
  if (first.counter_bits != other.counter_bits) {
    return Differ("counter bits", std::to_string(first.counter_bits), std::to_string(other.counter_bits));
  }
  return Differ("bits" + of_sub_filter, std::to_string(first.bits), std::to_string(other.bits));
}

// Empty if sub-filters of these may be ORed, judging by the parameters.
std::string ParamsDifference(const FilterParams& first, const FilterParams& other) {
  if (first.hash != other.hash) {
    return Differ("hash", std::string(HashKindName(first.hash)), std::string(HashKindName(other.hash)));
  }
  if (first.seed != other.seed) return Differ("seed", std::to_string(first.seed), std::to_string(other.seed));
  return "";
}

// The sub-filters of equal place, for every place: level 0 has the oldest sub-filters of all.
struct Levels {
  std::vector<SubFilterList> all;
  std::vector<std::unique_ptr<SubFilter>> made;  // for filters that have no bits yet, or more than the others
};

// Puts a sub-filter into its level: itself, or a copy that was folded to the size of those that are there.
Status AddToLevel(Levels& levels, size_t index, const SubFilter& sub_filter, MemoryBudget& budget) {
  levels.all.resize(std::max(levels.all.size(), index + 1));
  SubFilterList& level = levels.all[index];
  if (level.empty() || DivisorBetween(sub_filter.shape(), level[0]->shape()) == 0) {
    level.push_back(&sub_filter);
  } else {
    Result<std::unique_ptr<SubFilter>> folded = FoldedCopy(sub_filter, level[0]->shape(), budget);
    if (!folded) return tl::unexpected(std::move(folded).error());
    levels.made.push_back(std::move(*folded));
    level.push_back(levels.made.back().get());
  }
  const std::string difference = SubFilterDifference(index, level[0]->shape(), level.back()->shape());
  return difference.empty() ? Status() : Refuse(difference);
}

Result<SubFilterList> ChainOf(const Filter& filter, Levels& levels) {
  const auto& scalable = static_cast<const ScalableFilter&>(filter);
  SubFilterList chain = scalable.AllSubFilters();
  if (!chain.empty()) return chain;
  Result<std::unique_ptr<SubFilter>> bits = scalable.BitsOfList({});
  if (!bits) return tl::unexpected(std::move(bits).error());
  chain = scalable.AllSubFilters();
  if (!chain.empty()) return chain;  // it took bits itself after the first check
  levels.made.push_back(std::move(*bits));
  return SubFilterList{levels.made.back().get()};
}

Result<Levels> LevelsOf(std::span<const Filter* const> filters) {
  Levels levels;
  for (const Filter* filter : filters) {
    const std::string difference = ParamsDifference(filters[0]->params(), filter->params());
    if (!difference.empty()) return Refuse(difference);
    const Result<SubFilterList> chain = ChainOf(*filter, levels);
    if (!chain) return tl::unexpected(chain.error());
    for (size_t i = 0; i < chain->size(); ++i) {
      const Status added = AddToLevel(levels, i, *(*chain)[i], static_cast<const ScalableFilter&>(*filter).budget());
      if (!added) return tl::unexpected(added.error());
    }
  }
  return levels;
}

// Set bits, or counters that are not 0, of the union of sub-filters of one shape.
uint64_t SetInUnion(const SubFilterList& level) {
  constexpr size_t kWords = 512;
  std::array<uint64_t, kWords> united, one;
  uint64_t set_bits = 0;
  for (uint64_t done = 0, size = level[0]->memory().size_bytes(); done < size;) {
    const uint64_t bytes = std::min<uint64_t>(sizeof united, size - done);
    united.fill(0);
    for (const SubFilter* sub_filter : level) {
      sub_filter->memory().CopyOut(done, std::as_writable_bytes(std::span(one)).first(bytes));
      for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) united[i] |= one[i];
    }
    set_bits += level[0]->CountSet(std::as_bytes(std::span(united)).first(bytes));
    done += bytes;
  }
  return set_bits;
}

// Words united at a time, with the writers of the destination excluded, which takes at most about 50 us.
constexpr uint64_t kSliceWords = 4096;
constexpr uint64_t kCountingSliceWords = 1024;  // counter by counter

// Returns whether any bit is set in these words. Called without a lock, so that the writers get their turn in between.
bool HoldsAny(const SubFilter& sub_filter, WordRange range) {
  std::array<uint64_t, kSliceWords> words;
  const std::span<uint64_t> some(words.data(), range.end - range.first);
  sub_filter.memory().CopyOut(range.first * sizeof(uint64_t), std::as_writable_bytes(some));
  return std::ranges::any_of(some, [](uint64_t word) { return word != 0; });
}

// A fill of 1 only gives a lower bound; the estimate is that of one bit less.
double ItemsOf(const SubFilterShape& shape, uint64_t set_bits) {
  return EstimatedItems(std::min(set_bits, shape.bits - 1), shape.bits, shape.hash_functions);
}

tl::unexpected<Error> TooMany(double items, uint64_t capacity) {
  return Refuse("together they hold about " + std::to_string(std::llround(items)) + " items, but there is room for " +
                std::to_string(capacity) + ": reserve a larger capacity");
}

// The item count of the first sub-filter of a level and the set bits of the union of all, of about the same moment.
struct Measured {
  uint64_t items;
  uint64_t set_bits;
};

// Items that other threads add to the first sub-filter while its bits are read would count twice. So the measurement is
// repeated if they are more than the error of the estimate, which means that this thread was kept from running.
Measured MeasureUnion(const SubFilterList& level) {
  constexpr int kTries = 16;
  const auto few = static_cast<uint64_t>(std::sqrt(static_cast<double>(level[0]->capacity())));
  Measured measured{};
  for (int i = 0; i < kTries; ++i) {
    // The count is read before the bits: the bits of all counted items are set by then.
    measured.items = level[0]->items();
    measured.set_bits = SetInUnion(level);
    if (level[0]->items() - measured.items <= few) break;
  }
  return measured;
}

// Returns how many more items the first sub-filter of the level holds once it is united with the others.
Result<uint64_t> ItemsToGain(const SubFilterList& level) {
  if (level.size() == 1) return 0;
  const SubFilterShape& shape = level[0]->shape();
  uint64_t most = 0;
  uint64_t sum = 0;
  for (const SubFilter* sub_filter : std::span(level).subspan(1)) {
    const uint64_t items = sub_filter->items();
    most = std::max(most, items);
    sum += items;
  }
  const Measured measured = MeasureUnion(level);
  most = std::max(most, measured.items);
  const double items = ItemsOf(shape, measured.set_bits);
  const auto capacity = static_cast<double>(shape.capacity);
  // The estimate may be wrong by the square root of the capacity.
  if (items > capacity + std::sqrt(capacity)) return TooMany(items, shape.capacity);
  if (shape.layout->counters) return sum;
  return std::clamp(static_cast<uint64_t>(std::llround(items)), most, std::max(most, shape.capacity)) - measured.items;
}

Status CheckLengths(const std::vector<SubFilterList>& levels, size_t sub_filters) {
  // In a chain, an item's counters are all in the oldest sub-filter that holds it; two chains may differ in which that
  // is.
  if (levels[0][0]->shape().layout->counters && levels.size() > 1) {
    return Refuse("a counting filter that has grown cannot be merged with others: reserve a larger capacity");
  }
  if (levels.size() == sub_filters) return {};
  return Refuse("the destination has " + std::to_string(sub_filters) + " sub-filters, and another has grown to " +
                std::to_string(levels.size()));
}

// Returns for each level how many more items its first sub-filter holds once it is united with the others.
Result<std::vector<uint64_t>> Gains(const std::vector<SubFilterList>& levels) {
  std::vector<uint64_t> gains;
  for (const SubFilterList& level : levels) {
    const Result<uint64_t> gain = ItemsToGain(level);
    if (!gain) return tl::unexpected(gain.error());
    gains.push_back(*gain);
  }
  return gains;
}

// Makes room for the union: from now on its items count, so that no other addition takes their places. Refuses, and
// changes nothing, if what others added since the gains were worked out has taken too many; if it has taken some, the
// sub-filter counts as full, since no reader takes back one of more items than its capacity. Returns how much was
// changed.
Result<uint64_t> CountGains(std::span<SubFilter* const> sub_filters, std::span<const uint64_t> gains) {
  for (size_t i = 0; i < gains.size(); ++i) {
    const auto capacity = static_cast<double>(sub_filters[i]->shape().capacity);
    const auto items = static_cast<double>(sub_filters[i]->items() + gains[i]);
    if (gains[i] != 0 && !sub_filters[i]->shape().layout->counters && items > capacity + std::sqrt(capacity)) {
      return TooMany(items, sub_filters[i]->shape().capacity);
    }
  }
  for (size_t i = 0; i < gains.size(); ++i) {
    const bool counters = sub_filters[i]->shape().layout->counters;
    sub_filters[i]->CountChange(counters ? gains[i] : std::min(gains[i], sub_filters[i]->Room()), 0);
  }
  return 1;  // counters that were saturated before may report no change
}

// A union of many slices is not on an event loop.
void AwaitImage(const Filter& changed, uint64_t slices) {
  constexpr uint64_t kFewSlices = 64;
  if (slices > kFewSlices) ImagePressure::Await(changed);
}

// Adds the others to the first sub-filter of a level, slice by slice. Nothing here can fail: a part of a union would be
// left.
void UniteLevel(ScalableFilter& destination, size_t index, const SubFilterList& level) noexcept {
  const uint64_t words = level[0]->memory().size_bytes() / sizeof(uint64_t);
  const uint64_t slice = level[0]->shape().layout->counters ? kCountingSliceWords : kSliceWords;
  for (const SubFilter* other : std::span(level).subspan(1)) {
    for (uint64_t first = 0; first < words; first += slice) {
      const WordRange range{first, std::min(words, first + slice)};
      AwaitImage(destination, words / slice);
      if (HoldsAny(*other, range)) destination.UniteSubFilter(index, *other, range);
    }
  }
}

// Changes that a union makes to the known false positives of its destination: those that a source shows are forgotten,
// and those of the sources that no filter shows are noted.
struct FalsePositiveChanges {
  std::vector<KeyHash> forgotten;
  std::vector<KeyHash> noted;
};

void EraseShown(const Filter& filter, std::vector<KeyHash>& hashes) {
  std::vector<uint8_t> present(hashes.size());
  filter.MayContain(hashes, present);
  size_t i = 0;
  std::erase_if(hashes, [&](const KeyHash&) { return present[i++] != 0; });
}

FalsePositiveChanges ChangesOf(const Filter& destination, std::span<const Filter* const> sources) {
  FalsePositiveChanges changes;
  const std::vector<KeyHash> own = destination.KnownFalsePositives();
  std::vector<uint8_t> shown(own.size());
  for (const Filter* source : sources) {
    std::vector<uint8_t> present(own.size());
    source->MayContain(own, present);
    for (size_t i = 0; i < own.size(); ++i) shown[i] |= present[i];
    const std::vector<KeyHash> known = source->KnownFalsePositives();
    changes.noted.insert(changes.noted.end(), known.begin(), known.end());
  }
  for (size_t i = 0; i < own.size(); ++i) {
    if (shown[i] != 0) changes.forgotten.push_back(own[i]);
  }
  if (changes.noted.empty()) return changes;
  EraseShown(destination, changes.noted);
  for (const Filter* source : sources) EraseShown(*source, changes.noted);
  return changes;
}

// Returns the filters with that one first whose sub-filters all others can be united with: the one that has grown most
// often, or else the smallest, to which larger ones are folded.
std::vector<const Filter*> BaseFirst(std::span<const Filter* const> filters) {
  std::vector<const Filter*> ordered(filters.begin(), filters.end());
  const auto base = std::ranges::min_element(ordered, {}, [](const Filter* filter) {
    return std::pair(-static_cast<int64_t>(filter->SubFilters()), filter->params().capacity);
  });
  std::rotate(ordered.begin(), base, base + 1);
  return ordered;
}

Result<double> EstimateChains(std::span<const Filter* const> filters) {
  const Result<Levels> levels = LevelsOf(BaseFirst(filters));
  if (!levels) return tl::unexpected(levels.error());
  double items = 0;
  for (const SubFilterList& level : levels->all) items += ItemsOf(level[0]->shape(), SetInUnion(level));
  return items;
}

Status UniteIntoChain(Filter& destination, std::span<const Filter* const> sources) {
  std::vector<const Filter*> filters{&destination};
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(filters),
               [&](const Filter* source) { return source != &destination; });
  const Result<Levels> levels = LevelsOf(filters);
  if (!levels) return tl::unexpected(levels.error());
  auto& scalable = static_cast<ScalableFilter&>(destination);
  const ContentTurn turn(destination);  // else two that unite the same into one filter would both count its items
  if (destination.succeeded()) return Refuse("the first was folded at the same moment: try again");
  const size_t own_sub_filters = scalable.SubFilters();
  if (Status status = CheckLengths(levels->all, own_sub_filters); !status) return status;
  const Result<std::vector<uint64_t>> gains = Gains(levels->all);
  if (!gains) return tl::unexpected(gains.error());
  const FalsePositiveChanges changes = ChangesOf(destination, std::span(filters).subspan(1));
  const Status counted =
      scalable.Unite([&](std::span<SubFilter* const> sub_filters) { return CountGains(sub_filters, *gains); });
  if (!counted) return counted;
  scalable.ChangeFalsePositives(changes.forgotten, changes.noted);
  for (size_t i = 0; i < levels->all.size(); ++i) UniteLevel(scalable, i, levels->all[i]);
  return {};
}

Result<std::unique_ptr<Filter>> UniteChains(std::span<const Filter* const> filters, MemoryBudget& budget,
                                            const Clock& clock) {
  const std::vector<const Filter*> ordered = BaseFirst(filters);
  if (const Result<Levels> levels = LevelsOf(ordered); !levels) return tl::unexpected(levels.error());
  Result<std::unique_ptr<Filter>> united = CloneFilter(*ordered[0], budget, clock);
  if (!united || ordered.size() == 1) return united;
  if (Status status = UniteIntoChain(**united, std::span(ordered).subspan(1)); !status) {
    return tl::unexpected(status.error());
  }
  return united;
}

}  // namespace

constexpr UnionOperations kChainUnion{.estimate = EstimateChains, .make = UniteChains, .into = UniteIntoChain};

}  // namespace bitsieve::core
