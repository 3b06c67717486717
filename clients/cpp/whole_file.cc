#include "clients/cpp/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace bitsieve::clients {

core::Result<WholeFile> WholeFile::Create(const std::string& path) {
  if (path.empty()) return core::Fail(core::ErrorCode::kIo, "the file to write has no name");
  WholeFile file(path, -1);
  file.descriptor_ = ::open(file.passing_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.descriptor_ < 0) return file.Failure();
  return file;
}

WholeFile WholeFile::StandardOutput() { return WholeFile("", STDOUT_FILENO); }

WholeFile::WholeFile(WholeFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

WholeFile::~WholeFile() {
  if (descriptor_ < 0 || path_.empty()) return;
  ::close(descriptor_);
  ::unlink(passing_path().c_str());
}

core::Status WholeFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return Failure();
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

core::Status WholeFile::Finish() {
  if (path_.empty()) return {};
  if (::fsync(descriptor_) != 0) return Failure();
  if (std::rename(passing_path().c_str(), path_.c_str()) != 0) return Failure();
  ::close(std::exchange(descriptor_, -1));
  return {};
}

// By errno.
tl::unexpected<core::Error> WholeFile::Failure() const {
  const std::string problem = std::system_category().message(errno);
  return core::Fail(core::ErrorCode::kIo, (path_.empty() ? "standard output" : path_) + ": " + problem);
}

}  // namespace bitsieve::clients
