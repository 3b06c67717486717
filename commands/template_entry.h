// template_entry.h: an entry of the list "templates" of the configuration file: how to create filters whose names match
// its pattern (filter_templates.h). A plain value.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bitsieve::commands {

struct TemplateEntry {
  std::string where;    // for error texts: "bitsieve.json: templates[0]"
  std::string pattern;  // a glob, as in KEYS
  // Names of BF.INSERT's options in lower case, except that ERROR is error-rate, and their values; numbers as text.
  std::vector<std::pair<std::string, std::string>> fields;
};

}  // namespace bitsieve::commands
