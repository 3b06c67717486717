// config_file.h: a JSON file of options, read strictly: one object, each key an option of the table, or the list of
// templates, and there once. Lines may carry // and /* */ comments. For start-up; thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "config/option_row.h"

namespace bitsieve::config {

// The list of templates: a key beside the options.
inline constexpr std::string_view kTemplatesKey = "templates";

inline constexpr size_t kMaxConfigFileBytes = 1 << 20;

struct FileEntries {
  std::vector<std::pair<const OptionRow*, std::string>> values;  // as text, in the order of the file, not yet checked
  std::vector<FilterTemplate> templates;                         // `where` is the place within the file
  std::vector<std::string> problems;                             // unknown and repeated keys, values of a wrong type
};

// Entries of the JSON text.
FileEntries ParseConfigText(std::string_view json);

// All of the file, or why not.
tl::expected<std::string, std::string> ReadConfigFile(const std::string& path);

}  // namespace bitsieve::config
