// filter_list.h: the names and a few figures of all filters as of one pass over them, to be searched and sorted for a
// table that shows a page of them. It takes about 60 bytes and the name for each. Thread-safe once it is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/filter/filter.h"

namespace bitsieve::server {

class FilterList {
 public:
  // Filters for which there is no more room are left out.
  static constexpr uint64_t kMaxBytes = 512 << 20;

  struct Row {
    const core::Filter* filter;  // only to be compared: it may be gone
    uint64_t id;                 // of the filter
    uint64_t items, capacity, size_bytes;
    float requested_error_rate;
    float growth;  // items per second since the pass before; NaN if that is not known
    uint32_t sub_filters;
    uint32_t name_bytes;
    uint64_t name_begin;
  };
  struct Query {
    std::string_view sort = "name";  // one of SortKeys()
    bool descending = false;
    std::string_view search = {};  // part of a name, or a glob if it has one of the characters *?[
    size_t offset = 0;
    size_t limit = 50;
  };
  struct Page {
    size_t matches = 0;  // on all pages
    std::vector<const Row*> rows;
  };

  static std::vector<std::string_view> SortKeys();

  void Add(std::string_view name, const core::Filter& filter, const core::FilterInfo& info);
  // After the last one. `before`: the list of a pass that ended so many seconds ago; null: there is none.
  void Finish(const FilterList* before, double seconds);

  // Nothing if there is no such sort key.
  std::optional<Page> Find(const Query& query) const;
  std::string_view NameOf(const Row& row) const {
    return std::string_view(names_).substr(row.name_begin, row.name_bytes);
  }
  size_t size() const { return rows_.size(); }

 private:
  std::vector<uint32_t> Matching(std::string_view search) const;

  std::string names_;  // end to end
  std::vector<Row> rows_;
  // Ordered by filter.
  std::vector<uint32_t> by_filter_;
};

}  // namespace bitsieve::server
