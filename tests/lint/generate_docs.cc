// Writes the generated files of the repository, or reports which are not current.
//   bitsieve_docs ROOT            writes them
//   bitsieve_docs --check ROOT    exit status 1 if one differs from what would be written

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/loader.h"
#include "core/filter/filter_type.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

constexpr const char* kFilters = "docs/filters/README.md";
constexpr const char* kFilterCommands = "docs/commands.md";
constexpr const char* kServerCommands = "docs/server_commands.md";
constexpr const char* kSketches = "docs/sketches.md";

struct GeneratedFile {
  std::string path;
  std::string content;
};

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<GeneratedFile> GeneratedFiles(const std::filesystem::path& root) {
  std::vector<GeneratedFile> files = {{"config/bitsieve.example.json", config::ToJson(config::Options{})},
                                      {"docs/configuration.md", ConfigurationPage()},
                                      {kFilterCommands, FilterCommandsPage(ReadFile(root / kFilterCommands))},
                                      {kServerCommands, ServerCommandsPage(ReadFile(root / kServerCommands))},
                                      {"docs/metrics.md", MetricsPage()},
                                      {kFilters, FiltersPage(ReadFile(root / kFilters))},
                                      {kSketches, SketchesPage(ReadFile(root / kSketches))},
                                      {"tests/integration/filter_types.json", FilterTypesFile()}};
  TypePictures pictures = PicturesOf(ReadFile(root / kFilters));
  files.push_back({"docs/pictures/memory.svg", std::move(pictures.memory)});
  files.push_back({"docs/pictures/speed.svg", std::move(pictures.speed)});
  for (FilterPlot& plot : FilterPlots()) {
    files.push_back({"docs/filters/plots/" + plot.type + ".svg", std::move(plot.svg)});
  }
  return files;
}

// Returns 1, and prints them, if there are problems that only an author can solve.
int PrintProblems(const std::filesystem::path& root, const std::vector<GeneratedFile>& files) {
  int status = 0;
  for (const GeneratedFile& file : files) {
    if (file.path != kFilterCommands && file.path != kServerCommands) continue;
    for (const std::string& problem : CommandsPageProblems(ReadFile(root / file.path), file.content)) {
      std::cerr << file.path << ": " << problem << '\n';
      status = 1;
    }
  }
  return status;
}

bool IsCurrent(const std::filesystem::path& path, const std::string& content) { return ReadFile(path) == content; }

bool Write(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) std::cerr << "cannot write " << path << '\n';
  return file.good();
}

int Check(const std::filesystem::path& root) {
  int status = 0;
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    const std::string page = "docs/filters/" + std::string(type->name) + ".md";
    if (std::filesystem::exists(root / page)) continue;
    std::cerr << page << " is missing: each filter type has a page\n";
    status = 1;
  }
  for (const FilterPlot& plot : FilterPlots()) {
    const std::string page = "docs/filters/" + plot.type + ".md";
    if (ReadFile(root / page).find("](plots/" + plot.type + ".svg)") != std::string::npos) continue;
    std::cerr << page << " does not show its plot\n";
    status = 1;
  }
  const std::vector<GeneratedFile> files = GeneratedFiles(root);
  status |= PrintProblems(root, files);
  for (const GeneratedFile& file : files) {
    if (IsCurrent(root / file.path, file.content)) continue;
    std::cerr << file.path << " is not current: run scripts/docs\n";
    status = 1;
  }
  return status;
}

int WriteAll(const std::filesystem::path& root) {
  bool ok = true;
  const std::vector<GeneratedFile> files = GeneratedFiles(root);
  const int status = PrintProblems(root, files);
  for (const GeneratedFile& file : files) {
    if (!IsCurrent(root / file.path, file.content)) ok &= Write(root / file.path, file.content);
  }
  return ok ? status : 1;
}

}  // namespace
}  // namespace bitsieve::lint

int main(int argc, char** argv) {
  const auto arguments = std::span(argv, static_cast<size_t>(argc)).subspan(1);
  if (arguments.size() == 1) return bitsieve::lint::WriteAll(arguments[0]);
  if (arguments.size() == 2 && arguments[0] == std::string_view("--check")) return bitsieve::lint::Check(arguments[1]);
  std::cerr << "usage: bitsieve_docs [--check] ROOT\n";
  return 2;
}
