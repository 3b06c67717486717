// Writes the generated files of the repository, or reports which are not current.
//   bitsieve_docs ROOT            writes them
//   bitsieve_docs --check ROOT    exit status 1 if one differs from what would be written

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "config/loader.h"
#include "core/filter/filter_type.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

struct GeneratedFile {
  std::string_view path;
  std::string content;
};

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::array<GeneratedFile, 5> GeneratedFiles(const std::filesystem::path& root) {
  constexpr std::string_view kFilters = "docs/filters/README.md";
  return {GeneratedFile{"config/bitsieve.example.json", config::ToJson(config::Options{})},
          GeneratedFile{"docs/configuration.md", ConfigurationPage()},
          GeneratedFile{"docs/commands.md", CommandsPage()}, GeneratedFile{"docs/metrics.md", MetricsPage()},
          GeneratedFile{kFilters, FiltersPage(ReadFile(root / kFilters))}};
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
  for (const GeneratedFile& file : GeneratedFiles(root)) {
    if (IsCurrent(root / file.path, file.content)) continue;
    std::cerr << file.path << " is not current: run scripts/docs\n";
    status = 1;
  }
  return status;
}

int WriteAll(const std::filesystem::path& root) {
  bool ok = true;
  for (const GeneratedFile& file : GeneratedFiles(root)) {
    if (!IsCurrent(root / file.path, file.content)) ok &= Write(root / file.path, file.content);
  }
  return ok ? 0 : 1;
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
