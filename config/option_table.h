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
// Does the same by name or alias.
const OptionRow* FindOptionAtRunTime(std::string_view name);

// `unknown option "prot"; did you mean port?`
std::string UnknownOption(std::string_view name);

// CONFIG GET: name and value of each option, alias and setting of Redis (redis_settings.h) whose name matches the glob,
// in upper or lower case.
std::vector<std::pair<std::string, std::string>> MatchOptions(const Options& options, std::string_view glob);

// Checks what the values of several options must be to each other; each is already within its own range.
core::Status CheckTogether(const Options& options);

// A name and a value, both views of what a client sent.
using NameAndText = std::pair<std::string_view, std::string_view>;

// Why pairs were refused, and the first pair that is to blame; values that do not fit together are blamed on the last.
struct RefusedPair {
  size_t index = 0;
  std::string reason;
};

// CONFIG SET: sets all pairs, or none. They are refused if an option is unknown, is named twice or is read at start-up
// only, if it does not take its value, or if what comes out does not fit together.
core::Outcome<void, RefusedPair> SetOptionsAtRunTime(std::span<const NameAndText> pairs, Options& options);

// Whether an option has the same value in both.
bool IsSame(const OptionRow& row, const Options& a, const Options& b);
void CopyValue(const OptionRow& row, const Options& from, Options& to);
// Whether a file has this value, written as people write it, as a number; if not, as a string.
bool IsJsonNumber(const OptionRow& row, const std::string& text);

}  // namespace bitsieve::config
