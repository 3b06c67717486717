// option_table.h: the one list of options. Flags, environment, file, CONFIG GET and SET, --help, the documentation and
// the example file are all read off it. To add an option: a member in options.h, a row here, and the code that uses it.
// Thread-safe: the table is a constant; the caller owns the Options.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_row.h"
#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::config {

// Rows of one group stand together.
std::span<const OptionRow> OptionTable();

// Null if there is none of this name. Upper and lower case are the same, as in CONFIG SET.
const OptionRow* FindOption(std::string_view name);

// `unknown option "prot"; did you mean port?`
std::string UnknownOption(std::string_view name);

// CONFIG GET: name and value of each option whose name matches the glob, whatever the case.
std::vector<std::pair<std::string, std::string>> MatchOptions(const Options& options, std::string_view glob);

// What the values of several options must be to each other; each is within its own range.
core::Status CheckTogether(const Options& options);

// CONFIG SET: kInvalidArgument, and nothing changed, if the option is unknown, is read at start-up only, does not take
// the value, or does not take it together with what others are.
core::Status SetOptionAtRunTime(std::string_view name, std::string_view text, Options& options);

}  // namespace bitsieve::config
