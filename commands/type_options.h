// type_options.h: the options of BF.RESERVE and BF.INSERT that only some filter types take (core::TypeOption): read in
// any order, and applied once the type is known. Thread-safe: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/argument_reader.h"
#include "core/filter/filter_params.h"

namespace bitsieve::commands {

// One that was given. Its bytes are those of the arguments.
struct GivenTypeOption {
  std::string_view word;  // as in the row
  std::string_view value;
};
using GivenTypeOptions = std::vector<GivenTypeOption>;

// Reads one such option, and checks its value for the type that `params` has so far; false if the next argument is none
// of them. `missing_instead` takes the place of the row's own error for a missing value unless it is empty.
bool ReadTypeOption(ArgumentReader& reader, std::string_view missing_instead, const core::FilterParams& params,
                    GivenTypeOptions& given);

// At the options' end, when the type is known: puts those that it takes into `params`.
void ApplyTypeOptions(ArgumentReader& reader, const GivenTypeOptions& given, core::FilterParams& params);
// Fails for those that it does not take.
void RefuseMisplaced(ArgumentReader& reader, const GivenTypeOptions& given, core::FilterType type);

// The first difference in an option that the type, which both have, takes; as BF.RESERVE's error.
std::optional<std::string> TypeOptionDifference(const core::FilterParams& have, const core::FilterParams& asked);

}  // namespace bitsieve::commands
