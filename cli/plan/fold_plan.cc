#include "cli/plan/fold_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/parse.h"
#include "core/filter/filter.h"
#include "core/filter/filter_type.h"

namespace bitsieve::cli {
namespace {

// Returns the number behind a word and a colon in a line of BF.DEBUG, as text; empty if there is none.
std::string_view FieldOf(std::string_view line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + word.size());
  return rest.substr(0, rest.find(' '));
}

// Describes a sub-filter from its line of BF.DEBUG. The rate there is rounded, so a bit less is assumed: what is
// planned is then not refused.
core::SubFilterInfo Described(std::string_view line) {
  constexpr double kBelow = 1 - 1e-6;
  const auto number = [line](std::string_view word) {
    return static_cast<uint64_t>(core::ParseInteger(FieldOf(line, word)).value_or(0));
  };
  core::SubFilterInfo info;
  info.bits = number(" bits:");
  info.hash_functions = static_cast<uint32_t>(number(" hashes:"));
  info.capacity = number(" capacity:");
  info.error_rate = core::ParseDouble(FieldOf(line, " ratio:")).value_or(0) * kBelow;
  return info;
}

}  // namespace

core::Outcome<FoldPlan> MakeFoldPlan(PresentFilter filter, std::span<const std::string> debug, uint64_t items) {
  const core::FilterTypeRow* const type = core::FindFilterType(filter.type);
  if (type == nullptr) return tl::unexpected("its type " + filter.type + " is not known here");
  const auto folds = [](const core::FilterTypeRow& row) { return row.fold != nullptr; };
  if (!folds(*type)) return tl::unexpected(core::CannotText(*type, "be folded", folds));
  if (debug.size() != 2)
    return tl::unexpected<std::string>("it has grown, and only a filter of one sub-filter can be folded");
  const core::SubFilterInfo bits = Described(debug[1]);
  if (bits.bits == 0) {
    return tl::unexpected<std::string>(
        "it is still a list of its items, which BF.FOLD takes to any capacity from their number on");
  }
  core::FilterParams params;
  params.type = type->type;
  const uint64_t wanted = items != 0 ? items : 2 * filter.items;
  auto steps = type->fold->steps(params, bits, std::max({wanted, filter.items, uint64_t{1}}));
  if (!steps) return tl::unexpected(std::move(steps).error().message);
  return FoldPlan{std::move(filter), std::move(*steps)};
}

}  // namespace bitsieve::cli
