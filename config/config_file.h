// config_file.h: a JSON file of options, read strictly: one object, each key an option of the table, or the list of
// templates, and there once. Lines may carry // and /* */ comments. For start-up; thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_row.h"
#include "core/base/result.h"

namespace bitsieve::config {

// The list of templates: a key beside the options.
inline constexpr std::string_view kTemplatesKey = "templates";

inline constexpr size_t kMaxConfigFileBytes = 1 << 20;

struct FileValue {
  const OptionRow* row;
  std::string text;  // not yet checked
  size_t line;       // of the file, counted from 1
};

struct FileProblem {
  std::string text;
  size_t line = 0;  // 0: it is of no single line, or the text has its place
};

struct FileEntries {
  std::vector<FileValue> values;                   // in the order of the file
  std::vector<commands::TemplateEntry> templates;  // `where` is the place within the file
  std::vector<FileProblem> problems;               // unknown and repeated keys, values of a wrong type
};

// Entries of the JSON text.
FileEntries ParseConfigText(std::string_view json);

// "bitsieve.json:12"; without a line the path alone.
std::string PlaceInFile(const std::string& path, size_t line);

}  // namespace bitsieve::config
