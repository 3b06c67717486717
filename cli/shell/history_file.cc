#include "cli/shell/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/descriptor.h"

namespace bitsieve::cli {

std::string HistoryFile::DefaultPath() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/bitsieve/history";
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.local/state/bitsieve/history";
}

std::vector<std::string> HistoryFile::Load() const {
  std::ifstream file(path_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.size() <= kMaxLines) return lines;
  const bool is_long = lines.size() > 2 * kMaxLines;
  lines.erase(lines.begin(), lines.end() - kMaxLines);
  if (!is_long) return lines;
  std::string kept;
  for (const std::string& line : lines) kept += line + "\n";
  Write(kept, O_TRUNC);
  return lines;
}

void HistoryFile::Append(std::string_view line) const { Write(std::string(line) + "\n", O_APPEND); }

void HistoryFile::Write(std::string_view lines, int flags) const {
  if (path_.empty()) return;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (std::filesystem::create_directories(folder, ignored)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
  }
  const int descriptor = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (descriptor < 0) return;
  const core::Descriptor file(descriptor);
  [[maybe_unused]] const ssize_t written = write(descriptor, lines.data(), lines.size());
}

}  // namespace bitsieve::cli
