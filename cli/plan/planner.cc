#include "cli/plan/planner.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/client/units.h"
#include "commands/bloom_options.h"
#include "commands/command_settings.h"
#include "config/options.h"
#include "core/base/duration.h"
#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using core::FilterTypeRow;

// Returns the parameters that the server reads from the line with default options.
core::Outcome<core::FilterParams> ParamsOf(const std::vector<std::string>& line) {
  commands::CommandSettings settings;
  commands::FillFilterSettings(settings, config::Options{});
  const std::vector<std::string_view> arguments(line.begin(), line.end());
  commands::ArgumentReader reader(arguments, 2);
  const commands::ReserveRequest request = commands::ReadReserve(reader, settings);
  if (!reader.ok()) return tl::unexpected(reader.error());
  return request.params;
}

std::vector<std::string> ReserveLine(const FilterTypeRow& type, const Need& need) {
  const uint64_t capacity = std::min(need.items, core::kMaxCapacity);
  std::vector<std::string> line{
      "BF.RESERVE",          "key", core::ShortestText(need.error_rate), std::to_string(capacity), "TYPE",
      std::string(type.name)};
  if (need.window) line.insert(line.end(), {"WINDOW", core::WindowText(*need.window)});
  if (need.ttl_ms != 0) line.insert(line.end(), {"TTL", core::DurationText(need.ttl_ms)});
  if (need.stays_fixed && !need.window) line.emplace_back("NONSCALING");
  return line;
}

core::Outcome<Candidate> CandidateOf(const FilterTypeRow& type, const Need& need) {
  const std::vector<std::string> line = ReserveLine(type, need);
  const auto params = ParamsOf(line);
  if (!params) return tl::unexpected(params.error());
  const bool is_named = core::FindFilterType(need.type) == &type;
  // The first sub-filter of such a type takes all of the rate.
  if (!is_named && params->scaling() && core::Settled(*params).first_share == 1) {
    return tl::unexpected(fmt::format("a {} filter exceeds the requested error rate when it grows", type.name));
  }
  const auto full = core::ForecastOf(*params, need.items);
  if (!full) return tl::unexpected(full.error().message);
  if (full->items < need.items) {
    return tl::unexpected(fmt::format("a {} filter such as this takes at most {} items", type.name, full->items));
  }
  return Candidate{&type, fmt::format("{}", fmt::join(line, " ")), *params, *full};
}

bool Suits(const FilterTypeRow& type, const Need& need) {
  if (!type.made.by_reserve || (need.removes && !type.can.remove)) return false;
  if (need.window.has_value() != type.can.forget || (need.ttl_ms != 0) != type.can.expire) return false;
  return need.is_static || !type.can.freeze;
}

std::string NamesOf(const std::vector<const FilterTypeRow*>& types) {
  std::string names;
  for (const FilterTypeRow* type : types) names += (names.empty() ? "" : ", ") + std::string(type->name);
  return names;
}

core::Outcome<std::vector<const FilterTypeRow*>> TypesFor(const Need& need) {
  std::vector<const FilterTypeRow*> types;
  for (const FilterTypeRow* type : core::FilterTypes()) {
    if (Suits(*type, need)) types.push_back(type);
  }
  if (types.empty()) return tl::unexpected<std::string>("a filter that forgets cannot remove items as well");
  if (need.type.empty()) return types;
  const FilterTypeRow* const wanted = core::FindFilterType(need.type);
  if (wanted == nullptr || std::ranges::count(types, wanted) == 0) {
    return tl::unexpected(core::Quoted(need.type) + " is not a suitable filter type; " + NamesOf(types) +
                          (types.size() == 1 ? " is" : " are"));
  }
  return types;
}

// The first of them that can be made is best; if none can, the smallest type that can.
std::vector<const FilterTypeRow*> PreferredTypes(const Need& need) {
  if (!need.type.empty()) return {core::FindFilterType(need.type)};
  if (need.removes || need.ttl_ms != 0) return {};
  if (need.window) return {core::FindFilterType([](const FilterTypeRow& row) { return row.can.forget; })};
  const FilterTypeRow* const fastest = core::FindFilterType(core::kDefaultFilterType);
  if (!need.is_static) return {fastest};
  return {core::FindFilterType([](const FilterTypeRow& row) { return row.can.freeze; }), fastest};
}

core::Outcome<Candidate> BestOf(const Need& need, const std::vector<const FilterTypeRow*>& types) {
  const std::vector<const FilterTypeRow*> preferred = PreferredTypes(need);
  for (const FilterTypeRow* type : preferred) {
    if (auto candidate = CandidateOf(*type, need)) return candidate;
  }
  const std::vector<Candidate> possible = PossibleFor(need);
  if (!need.type.empty() || possible.empty()) {  // why not
    return CandidateOf(preferred.empty() ? *types.front() : *preferred.front(), need);
  }
  return possible.front();
}

std::string ReasonFor(const Need& need, const FilterTypeRow& type) {
  if (!need.type.empty()) return "as given by --type";
  if (need.window) return "the only type that forgets";
  if (need.ttl_ms != 0) return "the only type whose items expire one by one";
  if (need.removes) return "the smallest type that can remove items";
  if (type.can.freeze) return "the smallest type, for a set that is complete before it is used";
  return type.type == core::kDefaultFilterType ? "the fastest type" : "the smallest type for such a rate";
}

bool Fits(const Need& need, const std::vector<const FilterTypeRow*>& types) {
  const auto best = BestOf(need, types);
  return best && best->full.size_bytes <= need.memory_bytes;
}

// The smallest rate, to three digits, that fits into the memory.
core::Outcome<double> SolveForRate(Need need, const std::vector<const FilterTypeRow*>& types) {
  const auto fits = [&](double rate) {
    need.error_rate = rate;
    return Fits(need, types);
  };
  if (!fits(core::kMaxErrorRate)) {
    const auto least = BestOf(need, types);
    if (!least) return tl::unexpected(least.error());
    return tl::unexpected(fmt::format("{} do not hold {} items at any error rate; at {}, the highest, they need {}",
                                      MemoryText(need.memory_bytes), CountText(need.items), core::kMaxErrorRate,
                                      MemoryText(least->full.size_bytes)));
  }
  double low = std::log(core::kMinErrorRate), high = std::log(core::kMaxErrorRate);
  if (fits(core::kMinErrorRate)) return core::kMinErrorRate;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (fits(std::exp(middle)) ? high : low) = middle;
  }
  double rounded = core::kMaxErrorRate;
  for (double rate = std::exp(high); rate < core::kMaxErrorRate; rate *= 1.002) {
    rounded = *core::ParseDouble(core::RoundedText(rate, 3));
    if (fits(rounded)) return rounded;
  }
  return core::kMaxErrorRate;
}

// The most items that fit into the memory.
core::Outcome<uint64_t> SolveForItems(Need need, const std::vector<const FilterTypeRow*>& types) {
  const auto fits = [&](uint64_t items) {
    need.items = items;
    return Fits(need, types);
  };
  if (!fits(1)) {
    const auto least = BestOf(need, types);
    if (!least) return tl::unexpected(least.error());
    return tl::unexpected(fmt::format("{} do not hold a filter of one item; it needs {}", MemoryText(need.memory_bytes),
                                      MemoryText(least->full.size_bytes)));
  }
  uint64_t low = 1, high = 1 + (need.window ? core::kMaxCapacity : kMaxPlannedItems);
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

core::Outcome<Need> Solved(Need need, const std::vector<const FilterTypeRow*>& types) {
  if (need.error_rate == 0) {
    const auto rate = SolveForRate(need, types);
    if (!rate) return tl::unexpected(rate.error());
    need.error_rate = *rate;
  } else if (need.items == 0) {
    const auto items = SolveForItems(need, types);
    if (!items) return tl::unexpected(items.error());
    need.items = *items;
  }
  return need;
}

// Returns the forecast of the filter that BF.INSERT with this error rate makes under a missing name.
std::optional<core::Forecast> GrownFrom(uint64_t capacity, core::FilterParams params, uint64_t items) {
  const FilterTypeRow& type = *core::FindFilterType(params.type);
  if (!type.can.grow || type.can.freeze || params.capacity <= capacity) return std::nullopt;
  params.capacity = capacity;
  params.expansion = config::Options{}.default_expansion;
  core::ShareForGrowth(params);
  const auto grown = core::ForecastOf(params, items);
  return grown ? std::optional(*grown) : std::nullopt;
}

}  // namespace

std::vector<Candidate> PossibleFor(const Need& need) {
  std::vector<Candidate> possible;
  for (const FilterTypeRow* type : core::FilterTypes()) {
    if (!Suits(*type, need)) continue;
    if (auto candidate = CandidateOf(*type, need)) possible.push_back(std::move(*candidate));
  }
  std::ranges::stable_sort(possible, {}, [](const Candidate& each) { return each.full.size_bytes; });
  return possible;
}

core::Outcome<Plan> MakePlan(const Need& need) {
  const auto types = TypesFor(need);
  if (!types) return tl::unexpected(types.error());
  const auto solved = Solved(need, *types);
  if (!solved) return tl::unexpected(solved.error());
  auto best = BestOf(*solved, *types);
  if (!best) return tl::unexpected(best.error());
  Plan plan;
  plan.need = *solved;
  plan.best = std::move(*best);
  const core::FilterParams& params = plan.best.params;
  const uint64_t items = plan.need.items;
  plan.reason = ReasonFor(need, *plan.best.type);
  plan.full = plan.best.full;
  // None of these fails: a filter that takes all items takes none, half of them, and of twice as many those that fit.
  plan.reserved = *core::ForecastOf(params, 0);
  plan.half = *core::ForecastOf(params, items / 2);
  plan.twice = *core::ForecastOf(params, items * 2);
  plan.grown_from = config::Options{}.default_capacity;
  plan.grown = GrownFrom(plan.grown_from, params, items);
  plan.possible = PossibleFor(plan.need);
  return plan;
}

std::string FoldPlan::Command() const {
  if (steps.empty()) return "";
  const auto is_plain = [](char c) { return c != ' ' && c != '"' && c != '\'' && core::IsPrintable(c); };
  const std::string key = std::ranges::all_of(filter.name, is_plain) ? filter.name : "key";
  return "BF.FOLD " + key + " " + std::to_string(steps.back().capacity);
}

}  // namespace bitsieve::cli
