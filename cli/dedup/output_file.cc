#include "cli/dedup/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace bitsieve::cli {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  is_regular_ = path_ != "-" && (stat(path_.c_str(), &status) != 0 || S_ISREG(status.st_mode));
}

std::string OutputFile::Failure() const {
  return (path_ == "-" ? "standard output" : path_) + ": cannot be written: " + std::system_category().message(errno);
}

core::Outcome<void> OutputFile::Open(uint64_t bytes) {
  constexpr mode_t kMode = 0666;
  if (path_ == "-") {
    descriptor_ = core::Descriptor(dup(STDOUT_FILENO));
  } else if (!is_regular_) {
    descriptor_ = core::Descriptor(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    const int how = O_WRONLY | O_CREAT | O_CLOEXEC | (bytes == 0 ? O_TRUNC : 0);
    descriptor_ = core::Descriptor(open(unfinished_path().c_str(), how, kMode));
  }
  if (descriptor_.get() < 0) return tl::unexpected(Failure());
  was_opened_ = true;
  bytes_ = bytes;
  if (bytes == 0) return {};
  struct stat status {};
  if (fstat(descriptor_.get(), &status) != 0) return tl::unexpected(Failure());
  if (static_cast<uint64_t>(status.st_size) < bytes) {
    return tl::unexpected(unfinished_path() + ": is shorter than the interrupted run left it");
  }
  const auto length = static_cast<off_t>(bytes);
  if (ftruncate(descriptor_.get(), length) != 0 || lseek(descriptor_.get(), length, SEEK_SET) != length) {
    return tl::unexpected(Failure());
  }
  return {};
}

core::Outcome<void> OutputFile::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return tl::unexpected(Failure());
    text.remove_prefix(static_cast<size_t>(written));
    bytes_ += static_cast<uint64_t>(written);
  }
  return {};
}

core::Outcome<void> OutputFile::Sync() {
  if (!is_regular_ || bytes_ == synced_bytes_) return {};
  const core::Descriptor file(open(unfinished_path().c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || fdatasync(file.get()) != 0) return tl::unexpected(Failure());
  synced_bytes_ = bytes_;
  return {};
}

core::Outcome<void> OutputFile::Finish() {
  Close();
  if (!is_regular_ || std::rename(unfinished_path().c_str(), path_.c_str()) == 0) return {};
  struct stat status {};
  const bool is_done =
      errno == ENOENT && stat(path_.c_str(), &status) == 0 && static_cast<uint64_t>(status.st_size) == bytes_;
  if (is_done) return {};
  return tl::unexpected(Failure());
}

void OutputFile::Discard() {
  Close();
  if (is_regular_ && was_opened_) std::remove(unfinished_path().c_str());
}

}  // namespace bitsieve::cli
