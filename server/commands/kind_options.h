// kind_options.h: the options of BF.RESERVE and BF.INSERT that only some kinds have: one row each, so that reading,
// refusing and comparing them know nothing of any one. Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/filters/filter_params.h"
#include "server/commands/argument_reader.h"

namespace bitsieve::server {

struct KindOption {
  std::string_view word;     // on the wire
  std::string_view noun;     // in the text of IFNOTEXISTS' errors
  std::string_view missing;  // BF.RESERVE's error if the value is missing
  bool (*fits)(core::FilterKind kind);
  void (*read)(ArgumentReader& reader, std::string_view missing, core::FilterParams& params);
  std::string (*text)(const core::FilterParams& params);  // of the value
};

// Those that were given, by their places in the table.
using KindOptionSet = uint32_t;

// Reads one such option; false if the next argument is none of them. `missing_instead` takes the place of the row's own
// error for a missing value unless it is empty.
bool ReadKindOption(ArgumentReader& reader, std::string_view missing_instead, core::FilterParams& params,
                    KindOptionSet& given);

// Fails if one was given that the kind does not have: only at the options' end is the kind known.
void RefuseMisplaced(ArgumentReader& reader, KindOptionSet given, core::FilterKind kind);

// The first difference in an option that the kind, which both have, knows; as BF.RESERVE's error.
std::optional<std::string> KindOptionDifference(const core::FilterParams& have, const core::FilterParams& asked);

}  // namespace bitsieve::server
