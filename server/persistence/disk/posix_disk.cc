#include "server/persistence/disk/posix_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "core/base/descriptor.h"

namespace bitsieve::server {
namespace {

using core::Descriptor;

tl::unexpected<core::Error> FailWith(const std::string& path, std::string_view act, int error) {
  return core::Fail(core::ErrorCode::kIo,
                    path + ": cannot " + std::string(act) + ": " + std::system_category().message(error));
}

// open(2), again while signals interrupt it; -1 and errno on failure.
int OpenDescriptor(const std::string& path, int flags) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

constexpr uint64_t kStartWritingBytes = 8 << 20;

int SyncDescriptor(int descriptor) {
  int result;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result;
}

bool IsDirectory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  core::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return FailWith(path_, "write", errno);
      bytes.remove_prefix(static_cast<size_t>(written));
      written_ += static_cast<uint64_t>(written);
    }
    if (written_ - started_ >= kStartWritingBytes) StartWriting();
    return {};
  }
  core::Status Sync() override {
    if (SyncDescriptor(descriptor_.get()) != 0) return FailWith(path_, "sync", errno);
    return {};
  }
  core::Status Close() override {
    // On Linux the descriptor is gone even if close returns EINTR.
    if (::close(descriptor_.Release()) != 0 && errno != EINTR) return FailWith(path_, "close", errno);
    return {};
  }

 private:
  // So that the disk works while the rest is still being made, and does not get all of it at once with the sync. Only a
  // hint: its failure changes nothing.
  void StartWriting() {
    ::sync_file_range(descriptor_.get(), static_cast<off64_t>(started_), static_cast<off64_t>(written_ - started_),
                      SYNC_FILE_RANGE_WRITE);
    started_ = written_;
  }

  const std::string path_;
  Descriptor descriptor_;
  uint64_t written_ = 0;
  uint64_t started_ = 0;  // of them, those whose writing the system was asked to start
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(std::string path, Descriptor descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  uint64_t size() const override { return size_; }

  core::Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t read = ::pread(descriptor_.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) return FailWith(path_, "read", errno);
      if (read == 0) return core::Fail(core::ErrorCode::kIo, path_ + ": ends at byte " + std::to_string(offset));
      offset += static_cast<uint64_t>(read);
      out = out.subspan(static_cast<size_t>(read));
    }
    return {};
  }

 private:
  const std::string path_;
  const Descriptor descriptor_;
  const uint64_t size_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  const Descriptor descriptor_;  // closing it unlocks
};

// Waits only briefly: a query for the lock's holder takes the lock for an instant, which must not keep a server out.
bool TakeLock(int descriptor) {
  constexpr int kLockTries = 10;
  constexpr useconds_t kPauseMicroseconds = 2000;
  for (int i = 1; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK || i == kLockTries) return false;
    ::usleep(kPauseMicroseconds);
  }
  return true;
}

// The process id that the holder of a lock wrote into it; "another process" if there is none to be read.
std::string HolderOf(int descriptor) {
  char text[32];
  const ssize_t size = ::pread(descriptor, text, sizeof text, 0);
  const std::string_view digits(text, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t end = digits.find_first_not_of("0123456789");
  const std::string pid(digits.substr(0, end));
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  const size_t end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

core::Result<std::unique_ptr<WritableFile>> PosixDisk::Create(const std::string& path) {
  Descriptor descriptor(OpenDescriptor(path, O_WRONLY | O_CREAT | O_TRUNC));
  if (descriptor.get() < 0) return FailWith(path, "create", errno);
  return std::make_unique<PosixWritableFile>(path, std::move(descriptor));
}

core::Result<std::unique_ptr<ReadableFile>> PosixDisk::Open(const std::string& path) const {
  Descriptor descriptor(OpenDescriptor(path, O_RDONLY | O_NONBLOCK));  // a pipe in its place must not hang the start
  if (descriptor.get() < 0) return FailWith(path, "open", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) return FailWith(path, "stat", errno);
  if (!S_ISREG(status.st_mode)) return core::Fail(core::ErrorCode::kIo, path + ": is not a regular file");
  ::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // only a hint: its failure changes nothing
  return std::make_unique<PosixReadableFile>(path, std::move(descriptor), static_cast<uint64_t>(status.st_size));
}

core::Status PosixDisk::SyncFile(const std::string& path) {
  const Descriptor descriptor(OpenDescriptor(path, O_RDONLY | O_NONBLOCK));
  if (descriptor.get() < 0) return FailWith(path, "open", errno);
  if (SyncDescriptor(descriptor.get()) != 0) return FailWith(path, "sync", errno);
  return {};
}

core::Status PosixDisk::Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return FailWith(from, "rename to " + to, errno);
  return {};
}

core::Status PosixDisk::Remove(const std::string& path) {
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) return FailWith(path, "remove", errno);
  return {};
}

core::Status PosixDisk::CreateDirectory(const std::string& path) {
  if (IsDirectory(path)) return {};
  const std::string parent = ParentOf(path);
  if (const core::Status made = CreateDirectory(parent); !made) return made;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return FailWith(path, "create the directory", errno);
  if (!IsDirectory(path)) return FailWith(path, "create the directory", ENOTDIR);
  return SyncDirectory(parent);
}

core::Status PosixDisk::SyncDirectory(const std::string& path) {
  const Descriptor descriptor(OpenDescriptor(path, O_RDONLY | O_DIRECTORY));
  if (descriptor.get() < 0) return FailWith(path, "open the directory", errno);
  if (SyncDescriptor(descriptor.get()) != 0) return FailWith(path, "sync the directory", errno);
  return {};
}

core::Result<std::vector<std::string>> PosixDisk::List(const std::string& path) const {
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (directory == nullptr) return FailWith(path, "list the directory", errno);
  std::vector<std::string> names;
  for (errno = 0; const dirent* const entry = ::readdir(directory.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return FailWith(path, "list the directory", errno);
  std::sort(names.begin(), names.end());
  return names;
}

core::Result<std::unique_ptr<FileLock>> PosixDisk::Lock(const std::string& path) {
  Descriptor descriptor(OpenDescriptor(path, O_RDWR | O_CREAT));
  if (descriptor.get() < 0) return FailWith(path, "create", errno);
  if (!TakeLock(descriptor.get())) {
    if (errno != EWOULDBLOCK) return FailWith(path, "lock", errno);
    return core::Fail(core::ErrorCode::kIo, path + ": held by " + HolderOf(descriptor.get()) +
                                                "; a data directory serves one server at a time");
  }
  // Shown to a process that is refused the lock. The lock holds without it, so a full disk does not stop the start.
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor.get(), 0) == 0) (void)!::pwrite(descriptor.get(), pid.data(), pid.size(), 0);
  return std::make_unique<PosixFileLock>(std::move(descriptor));
}

std::string PosixDisk::LockHolder(const std::string& path) const {
  const Descriptor descriptor(OpenDescriptor(path, O_RDONLY | O_NONBLOCK));
  if (descriptor.get() < 0) return "";
  // Shared, so that two concurrent queries do not take each other for the holder.
  const bool held = ::flock(descriptor.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return held ? HolderOf(descriptor.get()) : "";
}

}  // namespace bitsieve::server
