// pages.h: the files that are written from the program's own tables, so that they cannot be wrong. Thread-compatible.
#pragma once

#include <string>

namespace bitsieve::lint {

// docs/configuration.md: every option.
std::string ConfigurationPage();
// docs/commands.md: every command.
std::string CommandsPage();
// docs/metrics.md: every field of INFO.
std::string MetricsPage();

// docs/filters/README.md: as it is, except for the table of all filter types.
std::string FiltersPage(const std::string& current);

}  // namespace bitsieve::lint
