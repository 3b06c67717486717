#include "cli/plan/plan_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/client/units.h"
#include "cli/plan/distinct_counter.h"
#include "core/base/duration.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using Row = std::vector<std::string>;
// ordered_json keeps the fields as they are written here.
using Json = nlohmann::ordered_json;

// Columns as wide as their widest cell; numbers to the right, the first column to the left.
std::string TableOf(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("  {:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

// Without the spaces at the end.
std::string Line(std::string_view label, const std::string& value) { return fmt::format("  {:<18}{}\n", label, value); }

std::string SampleText(const Sample& sample) {
  return fmt::format(
      "{}: about {} different lines of {}, standard error {}; planned for up to two standard errors more\n",
      sample.file, CountText(static_cast<uint64_t>(std::llround(sample.distinct))), CountText(sample.lines),
      PercentText(DistinctCounter::kStandardError));
}

std::string NeedText(const Need& need) {
  std::string text = CountText(need.items) + (need.items == 1 ? " item" : " items");
  if (need.window) text += need.window->of_time() ? " in " + core::WindowText(*need.window) : " in the window";
  if (need.ttl_ms != 0) text += fmt::format(" that live up to {}", core::DurationText(need.ttl_ms));
  text += fmt::format(" at an error rate of {}", PercentText(need.error_rate));
  if (need.memory_bytes != 0) text += " in " + MemoryText(need.memory_bytes);
  return text;
}

std::string PresentText(const PresentFilter& present) {
  return fmt::format(
      "Filter {} now: {}, {} of {} items, {}, {:.2f} bits per item, estimated error rate {} of {} requested\n",
      core::PrintableName(present.name), present.type, CountText(present.items), CountText(present.capacity),
      MemoryText(present.size_bytes), present.bits_per_item(), PercentText(present.estimated_error_rate),
      PercentText(present.requested_error_rate));
}

std::string MemoryLine(const Plan& plan) {
  const core::Forecast& full = plan.full;
  std::string text = fmt::format("{}, {:.2f} bits per item", MemoryText(full.size_bytes), plan.best.bits_per_item());
  if (full.peak_bytes > full.size_bytes) {
    text += fmt::format(" once frozen; up to {} before", MemoryText(full.peak_bytes));
  } else if (plan.reserved.size_bytes == full.size_bytes) {
    text += ", reserved at once";
  } else if (plan.reserved.sub_filters < full.sub_filters) {
    text += fmt::format(", {} of it at once: more items than can be reserved", MemoryText(plan.reserved.size_bytes));
  }
  return text;
}

std::string StageText(const core::Forecast& stage, uint64_t items) {
  const std::string count = CountText(items);
  return stage.items < items ? fmt::format("{} (takes {})", count, CountText(stage.items)) : count;
}

std::string StagesText(const Plan& plan) {
  const uint64_t items = plan.need.items;
  std::vector<Row> rows{{"", "items", "memory", "sub-filters", "expected error rate"}};
  const auto add = [&](const char* name, const core::Forecast& stage, uint64_t count) {
    rows.push_back({name, StageText(stage, count), MemoryText(stage.size_bytes), std::to_string(stage.sub_filters),
                    PercentText(stage.error_rate)});
  };
  add("half", plan.half, items / 2);
  add("full", plan.full, items);
  add("twice", plan.twice, items * 2);
  return TableOf(rows);
}

std::string GrownText(const Plan& plan) {
  const auto ratio = static_cast<double>(plan.grown->size_bytes) / static_cast<double>(plan.full.size_bytes);
  return fmt::format("Grown from {} items instead of reserved: {} ({:.2f} times), {} sub-filters to look into, {}\n",
                     CountText(plan.grown_from), MemoryText(plan.grown->size_bytes), ratio, plan.grown->sub_filters,
                     PercentText(plan.grown->error_rate));
}

std::string TypesText(const Plan& plan) {
  std::vector<Row> rows{{"type", "memory", "bits per item", "expected error rate"}};
  for (const Candidate& each : plan.possible) {
    rows.push_back({std::string(each.type->name), MemoryText(each.full.size_bytes),
                    fmt::format("{:.2f}", each.bits_per_item()), PercentText(each.full.error_rate)});
  }
  return TableOf(rows);
}

// Some of the steps, each at most half the one before, and the last.
std::string StepsText(const std::vector<core::FoldStep>& steps) {
  std::vector<Row> rows{{"capacity", "memory", "divided by"}};
  uint64_t shown = 0;
  for (const core::FoldStep& step : steps) {
    if (shown != 0 && step.capacity > shown / 2 && &step != &steps.back()) continue;
    shown = step.capacity;
    rows.push_back({CountText(step.capacity), MemoryText(step.size_bytes), CountText(step.divisor)});
  }
  return TableOf(rows);
}

Json FilterJson(const PresentFilter& present) {
  return {{"name", present.name},
          {"type", present.type},
          {"items", present.items},
          {"capacity", present.capacity},
          {"memory_bytes", present.size_bytes},
          {"bits_per_item", present.bits_per_item()},
          {"requested_error_rate", present.requested_error_rate},
          {"estimated_error_rate", present.estimated_error_rate}};
}

std::string Dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json StageJson(const core::Forecast& stage, uint64_t items) {
  return {{"items", items},
          {"items_held", stage.items},
          {"capacity", stage.capacity},
          {"memory_bytes", stage.size_bytes},
          {"peak_bytes", stage.peak_bytes},
          {"sub_filters", stage.sub_filters},
          {"error_rate", stage.error_rate}};
}

Json NeedJson(const Need& need) {
  Json json{{"items", need.items}, {"error_rate", need.error_rate}};
  json["memory_bytes"] = need.memory_bytes == 0 ? Json() : Json(need.memory_bytes);
  json["window"] = need.window ? Json(core::WindowText(*need.window)) : Json();
  json["ttl"] = need.ttl_ms != 0 ? Json(core::DurationText(need.ttl_ms)) : Json();
  json["delete"] = need.removes;
  json["static"] = need.is_static;
  return json;
}

}  // namespace

std::string TextOf(const Plan& plan, const std::optional<Sample>& sample) {
  const core::FilterTypeRow& type = *plan.best.type;
  std::string text = sample ? SampleText(*sample) : "";
  if (plan.present) text += PresentText(*plan.present);
  text += NeedText(plan.need) + "\n\n";
  text += Line("type", fmt::format("{}, {}", type.name, plan.reason));
  text += Line("", std::string(type.summary));
  text += Line("memory", MemoryLine(plan));
  const bool has_fingerprints = plan.full.fingerprint_bits != 0;
  text += has_fingerprints ? Line("fingerprint bits", std::to_string(plan.full.fingerprint_bits))
                           : Line("hash functions", std::to_string(plan.full.hash_functions));
  text += "\n" + StagesText(plan) + "\n";
  if (plan.grown) text += GrownText(plan) + "\n";
  if (plan.possible.size() > 1) text += "Suitable types:\n" + TypesText(plan) + "\n";
  text += plan.best.reserve + "\n";
  if (type.can.freeze) text += "BF.FREEZE key    # when all items are added\n";
  return text;
}

std::string JsonOf(const Plan& plan, const std::optional<Sample>& sample) {
  const uint64_t items = plan.need.items;
  Json json{{"need", NeedJson(plan.need)}};
  json["sample"] = !sample ? Json()
                           : Json{{"file", sample->file},
                                  {"lines", sample->lines},
                                  {"distinct", sample->distinct},
                                  {"standard_error", DistinctCounter::kStandardError}};
  json["filter"] = !plan.present ? Json() : FilterJson(*plan.present);
  json["type"] = plan.best.type->name;
  json["reason"] = plan.reason;
  json["reserve"] = plan.best.reserve;
  json["memory_bytes"] = plan.full.size_bytes;
  json["bits_per_item"] = plan.best.bits_per_item();
  json["hash_functions"] = plan.full.hash_functions;
  json["fingerprint_bits"] = plan.full.fingerprint_bits;
  json["reserved"] = StageJson(plan.reserved, 0);
  json["half"] = StageJson(plan.half, items / 2);
  json["full"] = StageJson(plan.full, items);
  json["twice"] = StageJson(plan.twice, items * 2);
  json["grown"] = plan.grown ? StageJson(*plan.grown, items) : Json();
  if (plan.grown) json["grown"]["from_items"] = plan.grown_from;
  json["types"] = Json::array();
  for (const Candidate& each : plan.possible) {
    Json row = StageJson(each.full, items);
    row["type"] = each.type->name;
    row["reserve"] = each.reserve;
    json["types"].push_back(std::move(row));
  }
  return Dump(json);
}

std::string TextOf(const FoldPlan& plan) {
  const std::string now = PresentText(plan.filter);
  if (plan.steps.empty()) return now + "It cannot be folded to a size that has room for these items.\n";
  return now + "\n" + StepsText(plan.steps) + "\n" + plan.Command() + "\n";
}

std::string JsonOf(const FoldPlan& plan) {
  Json json{{"filter", FilterJson(plan.filter)}};
  json["steps"] = Json::array();
  for (const core::FoldStep& step : plan.steps) {
    json["steps"].push_back(
        {{"divisor", step.divisor}, {"capacity", step.capacity}, {"memory_bytes", step.size_bytes}});
  }
  json["fold"] = plan.steps.empty() ? Json() : Json(plan.Command());
  return Dump(json);
}

}  // namespace bitsieve::cli
