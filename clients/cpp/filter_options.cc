#include "clients/cpp/filter_options.h"

#include <algorithm>
#include <string>

#include "core/base/quote.h"
#include "core/filter/filter_type.h"

namespace bitsieve::clients {
namespace {

constexpr auto kReserved = [](const core::FilterTypeRow& row) { return row.made.by_reserve; };

std::string WordsOf(const core::FilterTypeRow& type) {
  std::string words;
  for (const core::TypeOption& option : type.options) words.append(words.empty() ? "" : ", ").append(option.word);
  return words.empty() ? "none" : words;
}

Status ReadTypeOption(const core::FilterTypeRow& type, const std::string& word, const std::string& value,
                      core::FilterParams& params) {
  const auto option = std::ranges::find(type.options, word, &core::TypeOption::word);
  if (option != type.options.end()) return option->Read(value, params);
  return core::OutOfRange(core::AFilterOf(type) + " has no option " + core::Quoted(word) +
                          "; its options are: " + WordsOf(type));
}

}  // namespace

Result<core::FilterParams> ParamsOf(const FilterOptions& options) {
  const core::FilterTypeRow* const type = core::FindFilterType(options.type);
  if (type == nullptr || !type->made.by_reserve) {
    return core::OutOfRange("unknown type " + core::Quoted(options.type) +
                            ", must be one of: " + core::FilterTypeNames(", ", kReserved));
  }
  core::FilterParams params;
  params.type = type->type;
  params.error_rate = options.error_rate;
  params.capacity = options.capacity;
  const uint32_t default_expansion = params.expansion;
  params.expansion = options.expansion.value_or(default_expansion);
  params.tightening_ratio = options.tightening_ratio.value_or(params.tightening_ratio);
  params.seed = options.seed ? *options.seed : core::RandomSeed();
  for (const auto& [word, value] : options.type_options) {
    if (Status status = ReadTypeOption(*type, word, value, params); !status) return tl::unexpected(status.error());
  }
  if (type->settle_options != nullptr) {
    const bool nonscaling = options.expansion == 0;
    const core::StatedOptions stated{.capacity = true,
                                     .expansion = options.expansion.value_or(0) != 0,
                                     .seed = options.seed.has_value(),
                                     .tightening = options.tightening_ratio.has_value(),
                                     .nonscaling = nonscaling,
                                     .overridden_expansion = nonscaling ? default_expansion : 0};
    if (Status status = type->settle_options(stated, params); !status) return tl::unexpected(status.error());
  }
  core::ShareForStatedCapacity(params);
  return params;
}

}  // namespace bitsieve::clients
