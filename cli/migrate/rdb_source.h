// rdb_source.h: the filters of an RDB file, which no server needs to have open: the file is mapped, so that it may be
// larger than memory; one filter at a time is read into memory and checked. Confined to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/migrate/filter_source.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "protocol/rdb/rdb_file.h"

namespace bitsieve::cli {

class RdbSource final : public FilterSource {
 public:
  static core::Outcome<std::unique_ptr<RdbSource>> Open(const std::string& path);
  ~RdbSource() override;
  RdbSource(const RdbSource&) = delete;

  core::Outcome<OtherKeys> Find(std::string_view pattern, const Visit& visit) override;
  // Reads and checks all of each filter.
  core::Outcome<std::vector<FilterSize>> Measure(std::span<const FoundFilter* const> filters) override;
  core::Outcome<std::unique_ptr<FilterCommands>> Open(const FoundFilter& filter) override;
  core::Outcome<std::optional<FilterShape>> ShapeOf(const FoundFilter& filter) override;
  std::unique_ptr<ContentReader> Contents() override;

 private:
  RdbSource(std::string path, std::string_view bytes);
  core::Outcome<rdb::ModuleValue> Read(const FoundFilter& filter);

  const std::string path_;
  const std::string_view bytes_;
  core::MemoryBudget memory_;
  core::FilterClock clock_;
  std::vector<rdb::ModuleBytes> values_;  // of those found, which name their place here
};

}  // namespace bitsieve::cli
