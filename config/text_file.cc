#include "config/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/base/descriptor.h"

namespace bitsieve::config {
namespace {

using core::ErrorCode;

tl::unexpected<core::Error> Failed(const std::string& path, const char* what) {
  return core::Fail(ErrorCode::kIo, path + ": " + what + ": " + std::strerror(errno));
}

// Appends to `text` until the end of the file, or until there is a byte too many.
bool ReadUpTo(int file, size_t most_bytes, std::string& text) {
  while (text.size() <= most_bytes) {
    constexpr size_t kAtOnce = 64 * 1024;
    const size_t size = text.size();
    text.resize(size + kAtOnce);
    const ssize_t bytes = ::read(file, text.data() + size, kAtOnce);
    text.resize(size + static_cast<size_t>(bytes > 0 ? bytes : 0));
    if (bytes == 0) return true;
    if (bytes < 0 && errno != EINTR) return false;
  }
  return true;
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(file, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) text.remove_prefix(static_cast<size_t>(bytes));
  }
  return true;
}

// A durable file with this text, and with owner and mode of the other.
core::Status WriteLike(const std::string& model, const std::string& path, std::string_view text) {
  struct stat like = {};
  if (::stat(model.c_str(), &like) != 0) return Failed(model, "cannot be written");
  const core::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return Failed(path, "cannot be written");
  if (::fchown(file.get(), like.st_uid, like.st_gid) != 0) return Failed(path, "cannot be given the owner of the file");
  if (::fchmod(file.get(), like.st_mode & 07777) != 0 || !WriteAll(file.get(), text) || ::fsync(file.get()) != 0) {
    return Failed(path, "cannot be written");
  }
  return {};
}

// The content is there, whatever becomes of this: without it, a power failure may bring the old one back.
void SyncDirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const core::Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) (void)::fsync(opened.get());
}

}  // namespace

core::Result<std::string> ReadTextFile(const std::string& path, size_t most_bytes) {
  const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (file.get() < 0 || !ReadUpTo(file.get(), most_bytes, text)) return Failed(path, "cannot be read");
  if (text.size() <= most_bytes) return text;
  return core::Fail(ErrorCode::kInvalidArgument,
                    path + ": is too large: it may have at most " + std::to_string(most_bytes) + " bytes");
}

core::Status ReplaceTextFile(const std::string& path, std::string_view text) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (real == nullptr) return Failed(path, "cannot be written");
  const std::string target = real.get();
  const std::string temporary = target + ".tmp";
  core::Status written = WriteLike(target, temporary, text);
  if (written && ::rename(temporary.c_str(), target.c_str()) != 0) written = Failed(target, "cannot be replaced");
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  SyncDirectoryOf(target);
  return {};
}

}  // namespace bitsieve::config
