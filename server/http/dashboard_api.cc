#include "server/http/dashboard_api.h"

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/json_writer.h"
#include "core/base/parse.h"
#include "server/http/error_curve.h"
#include "server/http/filter_info_fields.h"
#include "server/http/shown_name.h"
#include "server/metrics/metric_readings.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using core::JsonWriter;

constexpr size_t kMaxPage = 100;

// `write` writes one value.
template <class Write>
AdminResponse Json(const Write& write, int status = 200) {
  AdminResponse response{.status = status, .type = "application/json", .body = {}};
  JsonWriter json(response.body);
  write(json);
  return response;
}

AdminResponse ApiRefusal(int status, std::string_view reason) {
  return Json(
      [&](JsonWriter& json) {
        json.BeginObject();
        json.Member("error", reason);
        json.EndObject();
      },
      status);
}

// A value that may be of several types, one of which is nothing.
template <class Variant>
void Write(JsonWriter& json, const Variant& value) {
  std::visit(
      [&json](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate> || std::is_same_v<Held, std::nullptr_t>) {
          json.Null();
        } else {
          json.Value(held);
        }
      },
      value);
}

void WriteFields(JsonWriter& json, const MetricRow& row, MetricReadings& readings) {
  const std::string name(row.name);
  const auto* const each = std::get_if<MetricRow::Each>(&row.source);
  if (each == nullptr) {
    json.Key(name);
    return Write(json, ReadMetric(row, readings));
  }
  (*each)(readings,
          [&](std::string_view suffix, const std::string& value) { json.Member(name + std::string(suffix), value); });
}

void Write(JsonWriter& json, const std::optional<core::FilterUse>& use) {
  if (!use) return json.Null();
  json.BeginObject();
  json.Member("hits", use->hits);
  json.Member("misses", use->misses);
  json.Member("adds", use->added);
  json.Member("last_unix_s", use->last_unix_s);
  json.EndObject();
}

// Members of an object.
void WriteFigures(JsonWriter& json, const FilterFigures& figures) {
  json.Member("name", ShownName(figures.name));
  json.Member("link", UrlEncoded(figures.name));
  json.Member("type", figures.type);
  json.Member("items", figures.items);
  json.Member("capacity", figures.capacity);
  json.Member("fill", figures.Fill());
  json.Member("requested_error_rate", figures.requested_error_rate);
  json.Member("estimated_error_rate", figures.estimated_error_rate);
  json.Member("size_bytes", figures.size_bytes);
  json.Member("sub_filters", figures.sub_filters);
  json.Key("use");
  Write(json, figures.use);
}

template <class Values>
void WriteArray(JsonWriter& json, std::string_view name, const Values& values) {
  json.Key(name);
  json.BeginArray();
  for (const auto& value : values) json.Value(value);
  json.EndArray();
}

// Writes the seconds until each epoch of a filter whose items expire ends, and the number of items that are gone then.
void WriteExpiry(JsonWriter& json, const core::Filter& filter) {
  const core::ExpiryInfo expiry = filter.Info().expiry;
  if (expiry.items_by_epoch.empty()) return json.Null();
  const double epoch_ms = static_cast<double>(filter.ttl_ms()) / static_cast<double>(expiry.items_by_epoch.size() - 1);
  auto end_ms = static_cast<double>(expiry.epoch_left_ms);
  json.BeginArray();
  for (const uint64_t items : expiry.items_by_epoch) {
    json.BeginArray();
    json.Value(end_ms / 1000);
    json.Value(items);
    json.EndArray();
    end_ms += epoch_ms;
  }
  json.EndArray();
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
  const int64_t now_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  return Json([&](JsonWriter& json) {
    json.BeginObject();
    json.Key("info");
    json.BeginObject();
    for (const MetricSection& section : MetricSections()) {
      if (section.visits_all_filters && collection == nullptr) continue;
      json.Key(section.title);
      json.BeginObject();
      for (const MetricRow& row : section.rows) WriteFields(json, row, readings);
      json.EndObject();
    }
    json.EndObject();
    json.Key("loops");
    json.BeginArray();
    for (const LoopStats& loop : server_.stats->loops) {
      json.BeginObject();
      json.Member("longest_round_s", static_cast<double>(loop.rounds.LongestNs(now_ns)) / 1e9);
      json.EndObject();
    }
    json.EndArray();
    json.Member("filters", server_.keyspace->Size());
    json.EndObject();
  });
}

AdminResponse DashboardApi::Recent(const AdminRequest& request) const {
  const auto after = Number(request, "after", 0, SIZE_MAX);
  if (!after) return ApiRefusal(400, "after must be the number of a point");
  return Json([&](JsonWriter& json) {
    json.BeginObject();
    WriteArray(json, "fields", History::Fields());
    json.Key("points");
    json.BeginArray();
    for (const History::Point& point : history_.After(*after)) {
      json.BeginObject();
      json.Member("number", point.number);
      json.Member("unix_ms", point.unix_ms);
      WriteArray(json, "values", point.values);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  });
}

AdminResponse DashboardApi::Filters(const AdminRequest& request) const {
  const auto offset = Number(request, "offset", 0, SIZE_MAX);
  const auto limit = Number(request, "limit", 50, kMaxPage);
  if (!offset || !limit) return ApiRefusal(400, "offset and limit must be numbers, limit at most 100");
  const auto list = collector_.List();
  if (list == nullptr) {
    return Json([](JsonWriter& json) {
      json.BeginObject();
      json.Member("ready", false);
      json.EndObject();
    });
  }
  const std::string_view sort = request.Parameter("sort");
  const auto page = list->Find({.sort = sort.empty() ? "name" : sort,
                                .descending = request.Parameter("order") == "desc",
                                .search = request.Parameter("search"),
                                .offset = *offset,
                                .limit = *limit});
  if (!page) return ApiRefusal(400, "unknown sort order");
  return Json([&](JsonWriter& json) {
    json.BeginObject();
    json.Member("ready", true);
    json.Member("matches", page->matches);
    json.Member("filters", list->size());
    json.Key("rows");
    json.BeginArray();
    for (const FilterList::Row* row : page->rows) WriteRow(json, *list, *row);
    json.EndArray();
    json.EndObject();
  });
}

// Writes the filter as it is now, or nothing if it is gone since the list was made.
void DashboardApi::WriteRow(JsonWriter& json, const FilterList& list, const FilterList::Row& row) const {
  const std::string_view name = list.NameOf(row);
  const FilterPtr filter = server_.keyspace->Find(name);
  if (filter == nullptr) return;
  json.BeginObject();
  WriteFigures(json, FiguresOf(std::string(name), *filter));
  json.Member("growth_per_second", static_cast<double>(row.growth));
  json.EndObject();
}

AdminResponse DashboardApi::Filter(const AdminRequest& request) const {
  const std::string_view name = request.Parameter("name");
  const FilterPtr filter = server_.keyspace->Find(name);
  if (filter == nullptr) return ApiRefusal(404, "there is no filter of this name");
  return Json([&](JsonWriter& json) {
    json.BeginObject();
    WriteFigures(json, FiguresOf(std::string(name), *filter));
    json.Key("fields");
    json.BeginArray();
    for (const auto& [label, value] : FilterInfoFields(server_, name)) {
      json.BeginObject();
      json.Member("label", label);
      json.Key("value");
      Write(json, value);
      json.EndObject();
    }
    json.EndArray();
    json.Key("curve");
    json.BeginArray();
    for (const CurvePoint& point : ErrorCurve(*filter)) {
      json.BeginArray();
      json.Value(point.fill);
      json.Value(point.error_rate);
      json.EndArray();
    }
    json.EndArray();
    json.Key("expiry");
    WriteExpiry(json, *filter);
    json.EndObject();
  });
}

}  // namespace bitsieve::server
