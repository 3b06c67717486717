// pages.h: the files that are written from the program's own tables, so that they cannot be wrong. Thread-compatible.
#pragma once

#include <string>
#include <vector>

namespace bitsieve::lint {

// docs/configuration.md: every option.
std::string ConfigurationPage();
// docs/commands.md: every command.
std::string CommandsPage();
// docs/metrics.md: every field of INFO.
std::string MetricsPage();

// docs/filters/README.md: as it is, except for the table of all filter types.
std::string FiltersPage(const std::string& current);

// docs/filters/plots: what bitsieve plan --plot draws, of each type that it plans for.
struct FilterPlot {
  std::string type;
  std::string svg;
};
std::vector<FilterPlot> FilterPlots();

// The pictures of README.md, of the figures in its table of filter types.
struct ReadmePictures {
  std::string memory;
  std::string speed;
};
ReadmePictures PicturesOf(const std::string& readme);

}  // namespace bitsieve::lint
