#include "core/families/ribbon/ribbon_type.h"

#include <array>

#include "core/families/ribbon/ribbon_codec.h"
#include "core/families/ribbon/ribbon_filter.h"
#include "core/families/ribbon/ribbon_staging.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {

namespace {

std::string StateName(FreezeState state) {
  switch (state) {
    case FreezeState::kStaging:
      return "staging";
    case FreezeState::kBuilding:
      return "building";
    case FreezeState::kFrozen:
      break;
  }
  return "frozen";
}

constexpr std::array kRibbonFields{
    InfoField{.selector = "STATE",
              .label = "State",
              .meaning = "staging, building or frozen",
              .value = [](const Filter&, const FilterInfo& info) { return InfoValue(StateName(info.freeze.state)); }},
    InfoField{.selector = "PROGRESS",
              .label = "Progress",
              .meaning = "the percentage of the build that is done",
              .value = [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.freeze.percent}); }},
    InfoField{.selector = "FAILURE",
              .label = "Failure",
              .meaning = "why the last build failed, empty if it did not",
              .value = [](const Filter&, const FilterInfo& info) { return InfoValue(info.freeze.failure); }},
    kFalsePositivesField,
};

}  // namespace

constexpr FilterTypeRow kRibbonRow{
    .type = kRibbonType,
    .name = "ribbon",
    .summary = "the smallest, for sets that no longer change: collects hashes until BF.FREEZE",
    .can = {.freeze = true, .deny = true},
    .info_fields = kRibbonFields,
    .validate = ValidateCommon,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return RibbonStaging::Make(params, budget); },
    .open = [](std::string_view fields, MemoryBudget& budget, const Clock&) { return OpenRibbon(fields, budget); },
    .map = MapRibbon,
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeRibbonHeader(fields)); },
    .forecast = RibbonFilter::ForecastOf,
};

}  // namespace bitsieve::core
