#include "cli/migrate/dry_run.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "cli/client/units.h"
#include "cli/migrate/migration_report.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"
#include "core/filter/forecast.h"

namespace bitsieve::cli {
namespace {

std::string AfterText(uint64_t bytes, bool is_estimate) { return (is_estimate ? "about " : "") + SizeText(bytes); }

std::string BeforeText(const SizeSums& sums, bool is_file) {
  if (is_file) return SizeText(sums.file_bytes);
  return sums.is_before_known ? SizeText(sums.before) : "unknown";
}

// Null stands for what is not known.
nlohmann::ordered_json BeforeJson(uint64_t bytes, bool is_known) {
  return is_known ? nlohmann::ordered_json(bytes) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json JsonOf(const SizeSums& sums, bool is_file) {
  return {{"filters", sums.filters},
          {"file_bytes", BeforeJson(sums.file_bytes, is_file)},
          {"memory_before", BeforeJson(sums.before, !is_file && sums.is_before_known)},
          {"memory_after", sums.after},
          {"is_estimate", sums.is_estimate}};
}

using Row = std::array<std::string, 4>;

// The first column is on the left, the others are numbers on the right.
void PrintRows(std::ostream& out, const std::vector<Row>& rows) {
  constexpr size_t kGap = 2;
  Row::size_type widest[std::tuple_size_v<Row>] = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], row[i].size());
  }
  for (const Row& row : rows) {
    out << row[0] << std::string(widest[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i) out << std::string(kGap + widest[i] - row[i].size(), ' ') << row[i];
    out << '\n';
  }
}

// Returns the size that the filter has as it is moved: as itself, or as another type.
FilterSize SizeAfterMove(FilterSource& source, const FoundFilter& filter, const FilterSize& size,
                         const std::string& as) {
  if (as.empty() || size.type != core::FindFilterType(core::kRedisBloomType)->name) return size;
  const auto shape = source.ShapeOf(filter);
  return shape && *shape ? SizeAs(as, **shape, size) : size;
}

}  // namespace

TargetMemory MemoryOf(const std::string& info) {
  TargetMemory memory;
  std::istringstream lines(info);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (line.ends_with('\r')) line.pop_back();
    const uint64_t value = core::ParseUnsigned(line.substr(colon + 1)).value_or(0);
    if (line.starts_with("used_memory:")) memory.used = value;
    if (line.starts_with("maxmemory:")) memory.maximum = value;
  }
  return memory;
}

FilterSize SizeAs(const std::string& type, const FilterShape& shape, FilterSize size) {
  core::FilterParams params{
      .type = core::FindFilterType(type)->type, .error_rate = shape.error_rate, .capacity = shape.capacity};
  core::ShareForStatedCapacity(params);
  const auto forecast = core::ForecastOf(core::Settled(params), 0);
  size.type = type;
  size.is_estimate = true;
  if (!forecast) size.problem = forecast.error().message;
  if (forecast) size.after = forecast->size_bytes;
  return size;
}

void SizeSums::Add(const FoundFilter& filter, const FilterSize& size) {
  ++filters;
  file_bytes += filter.bytes;
  before += size.before;
  after += size.after;
  is_before_known = is_before_known && size.before != 0;
  is_estimate = is_estimate || size.is_estimate;
}

void DryRun::Add(std::ostream& out, const FoundFilter& filter, const FilterSize& size) {
  if (!size.problem.empty()) {
    failures_.push_back({.name = filter.name, .reason = size.problem});
    return;
  }
  by_type_[size.type].Add(filter, size);
  total_.Add(filter, size);
  if (is_json_) {
    listed_.emplace_back(filter, size);
    return;
  }
  out << core::PrintableName(filter.name) << ": " << size.type << ", ";
  if (is_file_) out << SizeText(filter.bytes) << " in the file, ";
  if (!is_file_ && size.before != 0) out << SizeText(size.before) << " before, ";
  out << AfterText(size.after, size.is_estimate) << " after" << (filter.expires_ms != 0 ? ", expires" : "") << '\n';
}

void DryRun::AddTaken(const FoundFilter& filter, bool is_replaced) {
  replaced_ += is_replaced;
  if (!is_replaced) failures_.push_back({.name = filter.name, .reason = std::string(kNameIsTaken)});
}

void DryRun::Print(std::ostream& out, const OtherKeys& others) const {
  if (is_json_) return PrintJson(out, others);
  PrintTable(out);
  out << CountText(total_.filters) << " filters would be moved";
  if (replaced_ != 0) out << "; " << CountText(replaced_) << " of them would replace others";
  out << '\n';
  if (is_too_large()) {
    out << "They do not fit: the new server has " << SizeText(room()) << " left of a maxmemory of "
        << SizeText(target_->maximum) << '\n';
  }
  if (!failures_.empty()) out << CountText(failures_.size()) << " filters cannot be moved\n";
  PrintOthers(out, others);
}

void DryRun::PrintTable(std::ostream& out) const {
  std::vector<Row> rows = {{"type", "filters", is_file_ ? "in the file" : "memory before", "memory after"}};
  const auto add = [this, &rows](const std::string& name, const SizeSums& sums) {
    rows.push_back(
        {name, CountText(sums.filters), BeforeText(sums, is_file_), AfterText(sums.after, sums.is_estimate)});
  };
  for (const auto& [type, sums] : by_type_) add(type, sums);
  if (by_type_.size() != 1) add("all", total_);
  PrintRows(out, rows);
}

void DryRun::PrintJson(std::ostream& out, const OtherKeys& others) const {
  auto filters = nlohmann::ordered_json::array();
  for (const auto& [filter, size] : listed_) {
    filters.push_back({{"filter", filter.name},
                       {"type", size.type},
                       {"file_bytes", BeforeJson(filter.bytes, is_file_)},
                       {"memory_before", BeforeJson(size.before, size.before != 0)},
                       {"memory_after", size.after},
                       {"is_estimate", size.is_estimate},
                       {"expires_ms", filter.expires_ms}});
  }
  auto types = nlohmann::ordered_json::object();
  for (const auto& [type, sums] : by_type_) types[type] = JsonOf(sums, is_file_);
  nlohmann::ordered_json report = {{"filters", std::move(filters)},   {"types", std::move(types)},
                                   {"all", JsonOf(total_, is_file_)}, {"replaced", replaced_},
                                   {"fits", !is_too_large()},         {"failed", JsonOf(failures_)},
                                   {"other_keys", others.counts},     {"sketches", JsonOf(others.sketches)},
                                   {"expired", others.expired}};
  out << Line(report);
}

core::Outcome<void> Survey(FilterSource& source, const std::vector<FoundFilter>& found, ServerClient* target,
                           const MoveSettings& settings, std::ostream& out, DryRun& dry_run) {
  if (target != nullptr) {
    const auto info = target->Ask({"INFO", "memory"});
    if (!info) return tl::unexpected("the new server: " + info.error());
    dry_run.set_target(MemoryOf(info->text));
  }
  for (std::span rest(found); !rest.empty(); rest = rest.subspan(std::min(kNamesOfAPage, rest.size()))) {
    const auto page = rest.first(std::min(kNamesOfAPage, rest.size()));
    auto there = core::Outcome<std::vector<bool>>(std::vector<bool>(page.size(), false));
    if (target != nullptr) there = AskWhichAreThere(*target, page);
    if (!there) return tl::unexpected(there.error());
    std::vector<const FoundFilter*> measured;
    for (size_t i = 0; i < page.size(); ++i) {
      if (there->at(i)) dry_run.AddTaken(page[i], settings.replace);
      if (!there->at(i) || settings.replace) measured.push_back(&page[i]);
    }
    const auto sizes = source.Measure(measured);
    if (!sizes) return tl::unexpected(sizes.error());
    for (size_t i = 0; i < measured.size(); ++i) {
      dry_run.Add(out, *measured[i], SizeAfterMove(source, *measured[i], sizes->at(i), settings.as));
    }
  }
  return {};
}

}  // namespace bitsieve::cli
