// pages.h: the files that are written from the program's own tables, so that they cannot be wrong. Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::lint {

// Puts what is written in the place of what lies between two lines of a page, which stay.
std::string Between(const std::string& page, std::string_view begin, std::string_view end, const std::string& written);

// docs/configuration.md: every option.
std::string ConfigurationPage();
// docs/commands.md, the commands on filters and names, and docs/server_commands.md, all others. The introduction, and
// the example and table of replies of each command, are written by hand and kept: `current` is the page as it is.
std::string FilterCommandsPage(const std::string& current);
std::string ServerCommandsPage(const std::string& current);
// Returns which commands have no example or table, and which sections of the page as it is would be lost.
std::vector<std::string> CommandsPageProblems(const std::string& current, const std::string& written);
// docs/metrics.md: every field of INFO.
std::string MetricsPage();

// docs/filters/README.md: as it is, except for the table of all filter types.
std::string FiltersPage(const std::string& current);

// docs/sketches.md: as it is, except for the tables of the commands.
std::string SketchesPage(const std::string& current);

// docs/filters/plots: what bitsieve plan --plot draws, of each type that it plans for.
struct FilterPlot {
  std::string type;
  std::string svg;
};
std::vector<FilterPlot> FilterPlots();

// Two pictures of the figures in the table of docs/filters/README.md.
struct TypePictures {
  std::string memory;
  std::string speed;
};
TypePictures PicturesOf(const std::string& page);

// tests/integration/filter_types.json: the properties of every filter type, for tests and benches in Python.
std::string FilterTypesFile();

}  // namespace bitsieve::lint
