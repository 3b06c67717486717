// loader.h: the settings of a starting program, from where people write them. Later ones win:
// defaults < file < environment (BITSIEVE_PORT) < flags (--port). For start-up; thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_row.h"
#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::config {

// A variable that names the file, where no flag does.
inline constexpr std::string_view kFileVariable = "BITSIEVE_CONFIG";

// The entry in Configuration::origins of a value that was not given.
inline constexpr std::string_view kDefaultOrigin = "default";

struct Sources {
  std::string file;                                              // a JSON file; empty: see kFileVariable
  std::vector<std::pair<std::string, std::string>> environment;  // those that do not begin with BITSIEVE_ are skipped
  std::vector<std::pair<const OptionRow*, std::string>> flags;
};

struct Configuration {
  Options options;
  // By row of the table, where its value came from: "default", a file's name, "BITSIEVE_PORT", "--port".
  std::vector<std::string> origins;
};

// Each problem names where it is, the option, the value and what would be right.
using Problems = std::vector<std::string>;

// Either everything is valid, or all errors are reported together.
core::Outcome<Configuration, Problems> Load(const Sources& sources);

// The file that Load reads; empty: none.
std::string FileOf(const Sources& sources);

// The environment of this process.
std::vector<std::pair<std::string, std::string>> ProcessEnvironment();

// A configuration file with these values, complete: reading it back gives the same Options.
std::string ToJson(const Options& options);

}  // namespace bitsieve::config
