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
    InfoField{"STATE", "State",
              [](const Filter&, const FilterInfo& info) { return InfoValue(StateName(info.freeze.state)); }},
    InfoField{"PROGRESS", "Progress",
              [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.freeze.percent}); }},
    InfoField{"FAILURE", "Failure",
              [](const Filter&, const FilterInfo& info) { return InfoValue(info.freeze.failure); }},
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
