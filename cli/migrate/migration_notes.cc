#include "cli/migrate/migration_notes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/quote.h"

namespace bitsieve::cli {

// Names are any bytes.
std::string MigrationNotes::Line(std::string_view filter) {
  std::string line;
  for (const char each : filter) {
    const bool plain = core::IsPrintable(each) && each != '\\';
    line += plain ? std::string(1, each) : core::HexEscaped(each);
  }
  return line;
}

MigrationNotes::MigrationNotes(std::string path, int descriptor, std::unordered_set<std::string> begun)
    : path_(std::move(path)), descriptor_(descriptor), begun_(std::move(begun)) {}

MigrationNotes::MigrationNotes(MigrationNotes&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      begun_(std::move(other.begun_)) {}

MigrationNotes::~MigrationNotes() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

core::Outcome<MigrationNotes> MigrationNotes::Open(const std::string& path, const std::string& migration) {
  const std::string title = "bitsieve migrate " + Line(migration);
  std::unordered_set<std::string> begun;
  std::ifstream file(path);
  std::string line;
  const bool is_new = !std::getline(file, line);
  if (!is_new && line != title) {
    return tl::unexpected(path + ": belongs to \"" + line + "\"; remove it to begin again, or give another file");
  }
  while (std::getline(file, line)) begun.insert(line);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return tl::unexpected(path + ": " + std::system_category().message(errno));
  MigrationNotes notes(path, descriptor, std::move(begun));
  if (is_new) {
    if (auto written = notes.Write(title); !written) return tl::unexpected(written.error());
  }
  return notes;
}

core::Outcome<void> MigrationNotes::Add(std::string_view filter) { return Write(Line(filter)); }

core::Outcome<void> MigrationNotes::Write(std::string line) {
  line += '\n';
  if (::write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return {};
  return tl::unexpected(path_ + ": " + std::system_category().message(errno));
}

void MigrationNotes::Remove() { ::unlink(path_.c_str()); }

}  // namespace bitsieve::cli
