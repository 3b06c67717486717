#include "server/http/dashboard_api.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/parse.h"
#include "server/commands/metric_readings.h"
#include "server/http/error_curve.h"
#include "server/http/filter_info_fields.h"
#include "server/http/shown_name.h"

namespace bitsieve::server {
namespace {

using nlohmann::json;

constexpr size_t kMaxPage = 100;

// Texts of the server may quote what is no UTF-8.
AdminResponse Json(const json& value, int status = 200) {
  return {
      .status = status, .type = "application/json", .body = value.dump(-1, ' ', false, json::error_handler_t::replace)};
}

AdminResponse Refusal(int status, const std::string& reason) { return Json({{"error", reason}}, status); }

json ToJson(const MetricValue& value) {
  return std::visit(
      [](const auto& held) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nullptr;
        else
          return held;
      },
      value);
}

void AddFields(const MetricRow& row, MetricReadings& readings, json& fields) {
  const std::string name(row.name);
  const auto* const each = std::get_if<MetricRow::Each>(&row.source);
  if (each == nullptr) {
    fields[name] = ToJson(ReadMetric(row, readings));
  } else {
    (*each)(readings,
            [&](std::string_view suffix, const std::string& value) { fields[name + std::string(suffix)] = value; });
  }
}

json ToJson(const std::optional<core::FilterUse>& use) {
  if (!use) return {};
  return {{"hits", use->hits}, {"misses", use->misses}, {"adds", use->added}, {"last_unix_s", use->last_unix_s}};
}

json ToJson(const FilterFigures& figures, double growth) {
  return {{"name", ShownName(figures.name)},
          {"link", UrlEncoded(figures.name)},
          {"type", figures.type},
          {"items", figures.items},
          {"capacity", figures.capacity},
          {"fill", figures.Fill()},
          {"requested_error_rate", figures.requested_error_rate},
          {"estimated_error_rate", figures.estimated_error_rate ? json(*figures.estimated_error_rate) : json()},
          {"size_bytes", figures.size_bytes},
          {"sub_filters", figures.sub_filters},
          {"use", ToJson(figures.use)},
          {"growth_per_second", growth}};
}

// The default if the parameter is missing; nothing if it is no number, or too large.
std::optional<size_t> Number(const AdminRequest& request, const std::string& name, size_t by_default, size_t most) {
  const std::string_view text = request.Parameter(name);
  if (text.empty()) return by_default;
  const auto number = core::ParseUnsigned(text);
  if (!number || *number > most) return std::nullopt;
  return static_cast<size_t>(*number);
}

}  // namespace

AdminResponse DashboardApi::Status() const {
  MetricReadings readings(server_);
  const auto collection = collector_.Latest();
  if (collection != nullptr) readings.set_totals(collection->totals);
  json sections = json::object();
  for (const MetricSection& section : MetricSections()) {
    if (section.visits_all_filters && collection == nullptr) continue;
    json& fields = sections[std::string(section.title)] = json::object();
    for (const MetricRow& row : section.rows) AddFields(row, readings, fields);
  }
  json loops = json::array();
  const int64_t now_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  for (const LoopStats& loop : server_.stats->loops) {
    loops.push_back({{"longest_round_s", static_cast<double>(loop.rounds.LongestNs(now_ns)) / 1e9}});
  }
  return Json({{"info", std::move(sections)}, {"loops", std::move(loops)}, {"filters", server_.keyspace->Size()}});
}

AdminResponse DashboardApi::Recent(const AdminRequest& request) const {
  const auto after = Number(request, "after", 0, SIZE_MAX);
  if (!after) return Refusal(400, "after must be the number of a point");
  json points = json::array();
  for (History::Point& point : history_.After(*after)) {
    points.push_back({{"number", point.number}, {"unix_ms", point.unix_ms}, {"values", std::move(point.values)}});
  }
  json fields = json::array();
  for (const std::string_view field : History::Fields()) fields.push_back(field);
  return Json({{"fields", std::move(fields)}, {"points", std::move(points)}});
}

AdminResponse DashboardApi::Filters(const AdminRequest& request) const {
  const auto offset = Number(request, "offset", 0, SIZE_MAX);
  const auto limit = Number(request, "limit", 50, kMaxPage);
  if (!offset || !limit) return Refusal(400, "offset and limit must be numbers, limit at most 100");
  const auto list = collector_.List();
  if (list == nullptr) return Json({{"ready", false}});
  const std::string_view sort = request.Parameter("sort");
  const auto page = list->Find({.sort = sort.empty() ? "name" : sort,
                                .descending = request.Parameter("order") == "desc",
                                .search = request.Parameter("search"),
                                .offset = *offset,
                                .limit = *limit});
  if (!page) return Refusal(400, "there is no such order");
  json rows = json::array();
  for (const FilterList::Row* row : page->rows) {
    const std::string_view name = list->NameOf(*row);
    // As it is now; it may be gone since the list was made.
    const FilterPtr filter = server_.keyspace->Find(name);
    if (filter != nullptr) rows.push_back(ToJson(FiguresOf(std::string(name), *filter), row->growth));
  }
  return Json({{"ready", true}, {"matches", page->matches}, {"filters", list->size()}, {"rows", std::move(rows)}});
}

AdminResponse DashboardApi::Filter(const AdminRequest& request) const {
  const std::string_view name = request.Parameter("name");
  const FilterPtr filter = server_.keyspace->Find(name);
  if (filter == nullptr) return Refusal(404, "there is no filter of this name");
  json curve = json::array();
  for (const CurvePoint& point : ErrorCurve(*filter)) curve.push_back({point.fill, point.error_rate});
  json fields = json::array();
  for (auto& [label, value] : FilterInfoFields(server_, name)) {
    fields.push_back({{"label", label}, {"value", std::visit([](auto& held) { return json(held); }, value)}});
  }
  json answer = ToJson(FiguresOf(std::string(name), *filter), 0);
  answer.erase("growth_per_second");
  answer["fields"] = std::move(fields);
  answer["curve"] = std::move(curve);
  return Json(answer);
}

}  // namespace bitsieve::server
