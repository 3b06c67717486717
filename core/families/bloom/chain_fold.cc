#include "core/families/bloom/chain_fold.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parse.h"
#include "core/families/bloom/blocked_bloom.h"
#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/classic_bloom.h"
#include "core/families/bloom/fold.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/families/bloom/sizing.h"

namespace bitsieve::core {

namespace {

using MadeFilter = Result<std::unique_ptr<Filter>>;

tl::unexpected<Error> CannotFold(std::string why) { return Fail(ErrorCode::kInvalidArgument, std::move(why)); }

const ScalableFilter& AsChain(const Filter& filter) { return static_cast<const ScalableFilter&>(filter); }
ScalableFilter& AsChain(Filter& filter) { return static_cast<ScalableFilter&>(filter); }

const SubFilter* NewestOf(const Filter& filter) { return AsChain(filter).NewestSubFilter(); }
const SubFilter* OldestOf(const Filter& filter) {
  const SubFilter* oldest = NewestOf(filter);
  while (oldest != nullptr && oldest->older() != nullptr) oldest = oldest->older();
  return oldest;
}

uint64_t UnitsOf(const SubFilterShape& shape) { return shape.bits / shape.layout->fold_unit_bits; }

bool CanFold(const SubFilterShape& shape) { return shape.layout->fold_unit_bits != 0 && shape.lines_per_item <= 1; }

SubFilterShape Divided(SubFilterShape shape, uint64_t divisor, uint64_t capacity) {
  shape.bits = UnitsOf(shape) / divisor * shape.layout->fold_unit_bits;
  shape.capacity = capacity;
  return shape;
}

bool KeepsItsRate(const SubFilterShape& shape) {
  return shape.layout->rate_with(shape, static_cast<double>(shape.capacity)) <= kRateTolerance * shape.error_rate;
}

// Returns the divisors of the size from 2 on, ascending.
std::vector<uint64_t> DivisorsOf(const SubFilterShape& shape) {
  const uint64_t units = UnitsOf(shape);
  std::vector<uint64_t> small, large;
  for (uint64_t divisor = 1; divisor <= units / divisor; ++divisor) {
    if (units % divisor != 0) continue;
    if (divisor > 1) small.push_back(divisor);
    if (divisor < units / divisor) large.push_back(units / divisor);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// Returns how many of the divisors, the smallest, keep the rate with this capacity.
size_t DivisorsThatKeep(const SubFilterShape& shape, std::span<const uint64_t> divisors, uint64_t capacity) {
  const auto beyond = std::ranges::partition_point(
      divisors, [&](uint64_t divisor) { return KeepsItsRate(Divided(shape, divisor, capacity)); });
  return static_cast<size_t>(beyond - divisors.begin());
}

tl::unexpected<Error> TwoLinesDoNotFold() {
  return CannotFold("items of a blocked filter with an error rate below " +
                    RoundedText(kTwoLinesBelowRate / kReservedFirstShare, 6) + " are in two lines, which do not fold");
}

// Returns the largest capacity below `beyond` that keeps the rate; 0 if none does.
uint64_t LargestCapacity(const SubFilterShape& shape, uint64_t divisor, uint64_t beyond) {
  uint64_t fits = 0;
  while (fits + 1 < beyond) {
    const uint64_t middle = fits + (beyond - fits) / 2;
    (KeepsItsRate(Divided(shape, divisor, middle)) ? fits : beyond) = middle;
  }
  return fits;
}

// Says why no divisor keeps the rate with this capacity, and what would be right.
tl::unexpected<Error> RefuseCapacity(const SubFilterShape& shape, std::span<const uint64_t> divisors,
                                     uint64_t capacity) {
  const uint64_t fits = divisors.empty() ? 0 : LargestCapacity(shape, divisors.front(), capacity);
  if (fits == 0) return CannotFold("it is as small as it can be");
  return CannotFold("a capacity of " + std::to_string(capacity) +
                    " needs more memory than a fold would leave: the largest possible one is " + std::to_string(fits));
}

Result<SubFilterShape> SmallerShape(const SubFilterShape& shape, uint64_t capacity) {
  if (!CanFold(shape)) return TwoLinesDoNotFold();
  const std::vector<uint64_t> divisors = DivisorsOf(shape);
  const size_t kept = DivisorsThatKeep(shape, divisors, capacity);
  if (kept == 0) return RefuseCapacity(shape, divisors, capacity);
  return Divided(shape, divisors[kept - 1], capacity);
}

// The shape of a sub-filter that is described: sub-filters of one type and rate differ in nothing else.
SubFilterShape ShapeOf(const FilterParams& params, const SubFilterInfo& bits) {
  SubFilterShape shape = params.type == kBlockedType ? BlockedBloom::ShapeFor(bits.capacity, bits.error_rate)
                                                     : ClassicBloom::ShapeFor(bits.capacity, bits.error_rate);
  shape.bits = bits.bits;
  shape.hash_functions = bits.hash_functions;
  return shape;
}

Result<std::vector<FoldStep>> StepsOf(const FilterParams& params, const SubFilterInfo& bits, uint64_t smallest) {
  const SubFilterShape shape = ShapeOf(params, bits);
  if (!CanFold(shape)) return TwoLinesDoNotFold();
  std::vector<FoldStep> steps;
  uint64_t beyond = bits.capacity;
  for (const uint64_t divisor : DivisorsOf(shape)) {
    const uint64_t capacity = LargestCapacity(shape, divisor, beyond);
    if (capacity == 0 || capacity < smallest) break;
    steps.push_back({divisor, capacity, Divided(shape, divisor, capacity).SizeBytes()});
    beyond = capacity;
  }
  return steps;
}

Result<FilterParams> SmallerParams(const Filter& filter, uint64_t capacity) {
  FilterParams params = filter.params();
  if (capacity >= params.capacity) {
    return CannotFold("its capacity is " + std::to_string(params.capacity) + ", and a fold makes it smaller");
  }
  params.capacity = capacity;
  if (Status status = Validate(params); !status) return tl::unexpected(std::move(status).error());
  if (filter.SubFilters() > 1) {
    return CannotFold("it has grown to " + std::to_string(filter.SubFilters()) +
                      " sub-filters, and only one can be folded");
  }
  if (Status status = CheckItemsToFold(filter, capacity); !status) return tl::unexpected(std::move(status).error());
  return params;
}

MadeFilter MakeOfShape(const Filter& filter, const FilterParams& params, const SubFilterShape& shape,
                       MemoryBudget& budget) {
  Result<std::unique_ptr<SubFilter>> bits = MakeSubFilter(shape, budget);
  if (!bits) return tl::unexpected(std::move(bits).error());
  return AsChain(filter).MakeAlike(params, std::move(*bits), budget);
}

// Only filters with bits of their own.
bool FoldsTo(const Filter& filter, const Filter& other) {
  if (&filter.type() != &other.type() || filter.SubFilters() != 1 || other.SubFilters() != 1) return false;
  const SubFilter* const large = NewestOf(filter);
  const SubFilter* const small = NewestOf(other);
  return large != nullptr && small != nullptr && DivisorBetween(large->shape(), small->shape()) != 0;
}

MadeFilter MakeSmaller(const Filter& filter, const FoldTarget& target, MemoryBudget& budget) {
  const Result<FilterParams> params = SmallerParams(filter, target.capacity);
  if (!params) return tl::unexpected(params.error());
  const SubFilter* const bits = NewestOf(filter);
  if (bits == nullptr) return AsChain(filter).MakeAlike(*params, nullptr, budget);
  if (target.like != nullptr && FoldsTo(filter, *target.like)) {
    return MakeOfShape(filter, *params, NewestOf(*target.like)->shape(), budget);
  }
  const Result<SubFilterShape> shape = SmallerShape(bits->shape(), target.capacity);
  if (!shape) return tl::unexpected(shape.error());
  return MakeOfShape(filter, *params, *shape, budget);
}

// Folds words [first, first + to.size()) of the small array.
void FoldWords(const SubFilter& from, uint64_t divisor, uint64_t first, std::span<uint64_t> to) {
  const FoldSource source(from.memory().data(), from.size_bytes());
  if (from.shape().layout->fold_unit_bits == 1) {
    BitFold{divisor}(source, first, to);
  } else {
    LineFold{divisor}(source, first, to);
  }
}

// Words of the small array that are folded at a time: whole lines.
constexpr uint64_t kFoldSliceWords = 1024;

// The words of a slice of the small sub-filter.
class FoldSlice {
 public:
  FoldSlice(const SubFilter& from, const SubFilter& to, uint64_t index) : first_(index * kFoldSliceWords) {
    const uint64_t left = to.size_bytes() / sizeof(uint64_t) - first_;
    words_ = std::span(all_).first(std::min(kFoldSliceWords, left));
    FoldWords(from, from.shape().bits / to.shape().bits, first_, words_);
  }
  uint64_t first() const { return first_; }
  std::span<const uint64_t> words() const { return words_; }

 private:
  uint64_t first_;
  std::array<uint64_t, kFoldSliceWords> all_;
  std::span<uint64_t> words_;
};

void FoldSliceOf(const Filter& from, Filter& to, uint64_t index) {
  const FoldSlice slice(*OldestOf(from), *OldestOf(to), index);
  AsChain(to).OrIntoOldest(slice.first(), slice.words());
}

Status AddListed(const Filter& from, Filter& to) {
  const std::vector<KeyHash> hashes = AsChain(from).ListedHashes();
  std::vector<AddOutcome> outcomes(hashes.size());
  to.Add(hashes, outcomes);
  if (std::ranges::none_of(outcomes, IsRefused)) return {};
  return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for the items of a filter");
}

Result<std::optional<uint64_t>> BeginFold(const Filter& from, Filter& to) {
  const SubFilter* const bits = NewestOf(from);
  const SubFilter* const folded = NewestOf(to);
  if (from.SubFilters() > 1 || (bits == nullptr) != (folded == nullptr)) return std::nullopt;
  if (bits == nullptr) {
    if (Status status = AddListed(from, to); !status) return tl::unexpected(std::move(status).error());
    return 0;
  }
  AsChain(to).OrIntoOldest(0, {}, bits->items());
  return (folded->size_bytes() / sizeof(uint64_t) + kFoldSliceWords - 1) / kFoldSliceWords;
}

}  // namespace

constexpr FoldOperations kChainFold{
    .make = MakeSmaller, .steps = StepsOf, .folds_to = FoldsTo, .begin = BeginFold, .fold_slice = FoldSliceOf};

uint64_t DivisorBetween(const SubFilterShape& large, const SubFilterShape& small) {
  if (!CanFold(large) || large.bits <= small.bits || large.bits % small.bits != 0) return 0;
  SubFilterShape folded = large;
  folded.bits = small.bits;
  folded.capacity = small.capacity;
  return folded == small ? large.bits / small.bits : 0;
}

Result<std::unique_ptr<SubFilter>> FoldedCopy(const SubFilter& large, const SubFilterShape& small,
                                              MemoryBudget& budget) {
  Result<std::unique_ptr<SubFilter>> copy = MakeSubFilter(small, budget);
  if (!copy) return copy;
  const uint64_t items = large.items();
  const std::span words(reinterpret_cast<uint64_t*>((*copy)->memory().data()), small.SizeBytes() / sizeof(uint64_t));
  FoldWords(large, DivisorBetween(large.shape(), small), 0, words);
  (*copy)->Restore(items, (*copy)->CountSet((*copy)->memory().bytes()));
  return copy;
}

}  // namespace bitsieve::core
