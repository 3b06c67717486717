#include "core/filters/filter_union.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/filters/scalable_filter.h"
#include "core/filters/sizing.h"

namespace bitsieve::core {

namespace {

using Chain = std::vector<const Link*>;  // oldest first

tl::unexpected<Error> Refuse(const std::string& why) { return Fail(ErrorCode::kInvalidArgument, why); }

// Kinds of which ORed bits are the union.
bool IsUnitedByOr(FilterKind kind) { return kind == FilterKind::kClassic || kind == FilterKind::kBlocked; }

std::string Short(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::string Differ(const std::string& what, const std::string& first, const std::string& other) {
  return "they differ in their " + what + ": " + first + " and " + other;
}

// Empty if the links may be ORed.
std::string LinkDifference(size_t index, const LinkShape& first, const LinkShape& other) {
  if (first == other) return "";
  const std::string of_link = index == 0 ? "" : " of link " + std::to_string(index + 1);
  if (first.capacity != other.capacity) {
    return Differ("capacity" + of_link, std::to_string(first.capacity), std::to_string(other.capacity));
  }
  if (first.error_rate != other.error_rate) {
    return Differ("error rate" + of_link, Short(first.error_rate), Short(other.error_rate));
  }
  return Differ("bits" + of_link, std::to_string(first.bits), std::to_string(other.bits));
}

// Empty if links of these may be ORed, as far as the parameters tell.
std::string ParamsDifference(const FilterParams& first, const FilterParams& other) {
  if (first.kind != other.kind) {
    return Differ("kind", std::string(FilterKindName(first.kind)), std::string(FilterKindName(other.kind)));
  }
  if (first.seed != other.seed) return Differ("seed", std::to_string(first.seed), std::to_string(other.seed));
  return "";
}

Result<Chain> ChainOf(const Filter& filter) {
  const auto* scalable = dynamic_cast<const ScalableFilter*>(&filter);
  if (scalable == nullptr || !IsUnitedByOr(filter.params().kind)) {
    return Refuse("a " + std::string(FilterKindName(filter.params().kind)) + " filter cannot be united with others");
  }
  return scalable->Links();
}

// The links of equal place, for every place: level 0 has the oldest links of all.
Result<std::vector<Chain>> Levels(std::span<const Filter* const> filters) {
  std::vector<Chain> levels;
  for (const Filter* filter : filters) {
    const std::string difference = ParamsDifference(filters[0]->params(), filter->params());
    if (!difference.empty()) return Refuse(difference);
    const Result<Chain> chain = ChainOf(*filter);
    if (!chain) return tl::unexpected(chain.error());
    levels.resize(std::max(levels.size(), chain->size()));
    for (size_t i = 0; i < chain->size(); ++i) {
      Chain& level = levels[i];
      level.push_back((*chain)[i]);
      const std::string link_difference = LinkDifference(i, level[0]->shape(), level.back()->shape());
      if (!link_difference.empty()) return Refuse(link_difference);
    }
  }
  return levels;
}

// Set bits of the union of links of one shape; copied to `out` if it is not null.
uint64_t UniteBits(const Chain& level, std::byte* out) {
  constexpr size_t kWords = 512;
  std::array<uint64_t, kWords> united, one;
  uint64_t set_bits = 0;
  for (uint64_t done = 0, size = level[0]->memory().size_bytes(); done < size;) {
    const uint64_t bytes = std::min<uint64_t>(sizeof united, size - done);
    united.fill(0);
    for (const Link* link : level) {
      link->memory().CopyOut(done, std::as_writable_bytes(std::span(one)).first(bytes));
      for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) united[i] |= one[i];
    }
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) set_bits += static_cast<uint64_t>(std::popcount(united[i]));
    if (out != nullptr) std::memcpy(out + done, united.data(), bytes);
    done += bytes;
  }
  return set_bits;
}

// A fill of 1 says "at least"; told as what one bit less would say.
double ItemsOf(const LinkShape& shape, uint64_t set_bits) {
  return EstimatedItems(std::min(set_bits, shape.bits - 1), shape.bits, shape.hash_functions);
}

Result<std::unique_ptr<Link>> UniteLinks(const Chain& level, MemoryBudget& budget) {
  const LinkShape& shape = level[0]->shape();
  // Before the bits are looked at: a link that is counted to hold so many holds them.
  uint64_t least = 0;
  for (const Link* link : level) least = std::max(least, link->items());
  Result<std::unique_ptr<Link>> link = MakeLink(shape, budget);
  if (!link) return tl::unexpected(std::move(link).error());
  const uint64_t set_bits = UniteBits(level, (*link)->memory().data());
  const double items = ItemsOf(shape, set_bits);
  const auto capacity = static_cast<double>(shape.capacity);
  // A single link stays what it is, whatever the estimate; else as much more as the estimate may be wrong by.
  if (level.size() > 1 && items > capacity + std::sqrt(capacity)) {
    return Refuse("together they hold about " + std::to_string(std::llround(items)) +
                  " items where there is room for " + std::to_string(shape.capacity) +
                  ", so the error rate could not be kept: reserve more");
  }
  const auto estimate = static_cast<uint64_t>(std::llround(items));
  const uint64_t counted = level.size() == 1 ? least : std::clamp(estimate, least, shape.capacity);
  (*link)->Restore(std::min(counted, set_bits), set_bits);
  return link;
}

}  // namespace

Result<double> EstimateUnion(std::span<const Filter* const> filters) {
  const Result<std::vector<Chain>> levels = Levels(filters);
  if (!levels) return tl::unexpected(levels.error());
  double items = 0;
  for (const Chain& level : *levels) items += ItemsOf(level[0]->shape(), UniteBits(level, nullptr));
  return items;
}

Result<std::unique_ptr<Filter>> Unite(std::span<const Filter* const> filters, MemoryBudget& budget) {
  const Result<std::vector<Chain>> levels = Levels(filters);
  if (!levels) return tl::unexpected(levels.error());
  std::vector<std::unique_ptr<Link>> links;
  for (const Chain& level : *levels) {
    Result<std::unique_ptr<Link>> link = UniteLinks(level, budget);
    if (!link) return tl::unexpected(std::move(link).error());
    links.push_back(std::move(*link));
  }
  return ScalableFilter::FromLinks(filters[0]->params(), std::move(links), budget);
}

}  // namespace bitsieve::core
