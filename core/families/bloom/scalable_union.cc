// Changes of the content of a scalable filter as a whole, for unions and folds: a slice at a time.
#include <algorithm>
#include <utility>

#include "core/families/bloom/scalable_filter.h"

namespace bitsieve::core {

namespace {

constexpr size_t kUnionChunk = 64;  // hashes changed at a time

}  // namespace

Result<std::unique_ptr<Filter>> ScalableFilter::MakeAlike(const FilterParams& params, std::unique_ptr<SubFilter> first,
                                                          MemoryBudget& budget) const {
  if (first == nullptr) return FromHashes(chain_type(), params, {}, budget);
  std::vector<std::unique_ptr<SubFilter>> only;
  only.push_back(std::move(first));
  return FromSubFilters(chain_type(), params, std::move(only), budget);
}

// A chunk at a time, so that writers who wait get their turn.
void ScalableFilter::ChangeFalsePositives(std::span<const KeyHash> forgotten, std::span<const KeyHash> noted) noexcept {
  for (; !forgotten.empty(); forgotten = forgotten.subspan(std::min(kUnionChunk, forgotten.size()))) {
    writers().GiveWay();
    const LockGuard lock(writers());
    for (const KeyHash& hash : forgotten.first(std::min(kUnionChunk, forgotten.size()))) {
      if (false_positive_list() != nullptr) false_positives()->get()->Forget(hash);
    }
  }
  for (; !noted.empty(); noted = noted.subspan(std::min(kUnionChunk, noted.size()))) {
    writers().GiveWay();
    const LockGuard lock(writers());
    for (const KeyHash& hash : noted.first(std::min(kUnionChunk, noted.size()))) {
      uint8_t present = 0;
      MayContain({&hash, 1}, {&present, 1});
      const FalsePositiveList* const list = false_positive_list();
      if (present == 0 && (list == nullptr || !list->Contains(hash))) PutFalsePositive(hash);
    }
  }
}

Status ScalableFilter::Unite(const std::function<Result<uint64_t>(std::span<SubFilter* const> sub_filters)>& unite) {
  const LockGuard lock(writers());
  if (chain_.newest() == nullptr) {
    if (TurnIntoBits({}) == AddOutcome::kOutOfMemory) {
      return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for the bits of a filter");
    }
    MarkUnited();  // whether it succeeds or not: the log does not know of the bits
  }
  std::vector<SubFilter*> sub_filters;
  for (const auto& sub_filter : chain_.tables()) sub_filters.push_back(sub_filter.get());
  const Result<uint64_t> changes = unite(sub_filters);
  if (!changes) return tl::unexpected(changes.error());
  sub_filters.front()->CountUnited(*changes);
  MarkUnited();
  return {};
}

void ScalableFilter::UniteSubFilter(size_t index, const SubFilter& other, WordRange words) noexcept {
  writers().GiveWay();
  const LockGuard lock(writers());
  SubFilter& sub_filter = *chain_.tables()[index];
  const uint64_t bits_set = sub_filter.UniteWith(other, words);
  sub_filter.CountChange(0, bits_set);
  // And one, for counters that were not 0 before.
  sub_filter.CountUnited(bits_set + 1);
  MarkChanged();
}

void ScalableFilter::OrIntoOldest(uint64_t first, std::span<const uint64_t> words, uint64_t items) noexcept {
  writers().GiveWay();
  const LockGuard lock(writers());
  auto& oldest = static_cast<BitSubFilter&>(*chain_.tables().front());
  oldest.CountChange(items, oldest.Or(first, words));
  MarkChanged();
}

}  // namespace bitsieve::core
