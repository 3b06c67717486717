#include "server/http/filter_list.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/base/glob.h"

namespace bitsieve::server {
namespace {

using Row = FilterList::Row;

double FillOf(const Row& row) {
  return row.capacity == 0 ? 0 : static_cast<double>(row.items) / static_cast<double>(row.capacity);
}

struct SortKey {
  std::string_view name;
  double (*value)(const Row& row);  // null: the name of the filter
};
constexpr SortKey kSortKeys[] = {
    {"name", nullptr},
    {"items", [](const Row& row) { return static_cast<double>(row.items); }},
    {"capacity", [](const Row& row) { return static_cast<double>(row.capacity); }},
    {"fill", FillOf},
    {"requested", [](const Row& row) { return static_cast<double>(row.requested_error_rate); }},
    {"size", [](const Row& row) { return static_cast<double>(row.size_bytes); }},
    {"sub_filters", [](const Row& row) { return static_cast<double>(row.sub_filters); }},
    {"growth", [](const Row& row) { return std::isnan(row.growth) ? 0 : static_cast<double>(row.growth); }},
};

bool IsGlob(std::string_view search) { return search.find_first_of("*?[") != std::string_view::npos; }

}  // namespace

std::vector<std::string_view> FilterList::SortKeys() {
  std::vector<std::string_view> names;
  for (const SortKey& key : kSortKeys) names.push_back(key.name);
  return names;
}

void FilterList::Add(std::string_view name, const core::Filter& filter, const core::FilterInfo& info) {
  if (names_.size() + name.size() + (rows_.size() + 1) * (sizeof(Row) + sizeof(uint32_t)) > kMaxBytes) return;
  rows_.push_back({.filter = &filter,
                   .id = filter.id(),
                   .items = info.items,
                   .capacity = info.capacity,
                   .size_bytes = info.size_bytes,
                   .requested_error_rate = static_cast<float>(filter.params().error_rate),
                   .growth = std::numeric_limits<float>::quiet_NaN(),
                   .sub_filters = info.sub_filters,
                   .name_bytes = static_cast<uint32_t>(name.size()),
                   .name_begin = names_.size()});
  names_ += name;
}

// Both orders are by filter, so one walk over both finds those that are in both.
void FilterList::Finish(const FilterList* before, double seconds) {
  by_filter_.resize(rows_.size());
  std::iota(by_filter_.begin(), by_filter_.end(), 0);
  const std::less<const core::Filter*> less;
  std::ranges::sort(by_filter_, [&](uint32_t a, uint32_t b) { return less(rows_[a].filter, rows_[b].filter); });
  if (before == nullptr || seconds <= 0) return;
  size_t old = 0;
  for (const uint32_t index : by_filter_) {
    Row& row = rows_[index];
    while (old < before->by_filter_.size() && less(before->rows_[before->by_filter_[old]].filter, row.filter)) ++old;
    if (old == before->by_filter_.size()) return;
    const Row& then = before->rows_[before->by_filter_[old]];
    if (then.filter != row.filter || then.id != row.id) continue;
    row.growth = static_cast<float>((static_cast<double>(row.items) - static_cast<double>(then.items)) / seconds);
  }
}

std::vector<uint32_t> FilterList::Matching(std::string_view search) const {
  std::vector<uint32_t> found;
  found.reserve(search.empty() ? rows_.size() : 0);
  const bool is_glob = IsGlob(search);
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const std::string_view name = NameOf(rows_[i]);
    const bool matches =
        search.empty() || (is_glob ? core::GlobMatch(search, name) : name.find(search) != std::string_view::npos);
    if (matches) found.push_back(i);
  }
  return found;
}

// Only what the page shows is put in order.
std::optional<FilterList::Page> FilterList::Find(const Query& query) const {
  const auto* const key = std::ranges::find(kSortKeys, query.sort, &SortKey::name);
  if (key == std::end(kSortKeys)) return std::nullopt;
  std::vector<uint32_t> found = Matching(query.search);
  const auto before = [&](uint32_t a, uint32_t b) {
    if (key->value != nullptr) {
      const double of_a = key->value(rows_[a]), of_b = key->value(rows_[b]);
      if (of_a != of_b) return query.descending ? of_a > of_b : of_a < of_b;
      return NameOf(rows_[a]) < NameOf(rows_[b]);
    }
    return query.descending ? NameOf(rows_[b]) < NameOf(rows_[a]) : NameOf(rows_[a]) < NameOf(rows_[b]);
  };
  const size_t first = std::min(query.offset, found.size());
  const size_t last = first + std::min(query.limit, found.size() - first);
  const auto begin = found.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(last);
  if (begin != found.begin() && begin != found.end()) std::nth_element(found.begin(), begin, found.end(), before);
  std::partial_sort(begin, end, found.end(), before);
  Page page{.matches = found.size(), .rows = {}};
  for (auto at = begin; at != end; ++at) page.rows.push_back(&rows_[*at]);
  return page;
}

}  // namespace bitsieve::server
