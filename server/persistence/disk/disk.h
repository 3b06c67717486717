// disk.h: all that persistence asks of a file system, as an interface, so that tests can make it fail, run full or lose
// power at any step. Errors are kIo and name the path and the system's reason.
//
// What survives a power failure: bytes of a file after its Sync or a SyncFile, names in a directory after its
// SyncDirectory; nothing else may be relied on. A Disk is thread-safe; its files are thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bitsieve::server {

// Returns the directory of "/a/b/c" and of "/a/b/": "/a/b". That of "a" is ".".
std::string ParentOf(const std::string& path);

// A new file, written from its start to its end.
class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes what is still open, errors unheard
  // All of the bytes, or an error after which the file's end is unknown.
  virtual core::Status Write(std::string_view bytes) = 0;
  // After a failed Sync the bytes count as lost: a second Sync would not bring them back.
  virtual core::Status Sync() = 0;
  virtual core::Status Close() = 0;
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;  // bytes, when it was opened
  // Fills `out` from `offset` on; an error too if the file ends before.
  virtual core::Status ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;
};

// Held as long as the object lives; the system releases it when the process ends, however it ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Makes the file, or empties the one that is there.
  virtual core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) = 0;
  virtual core::Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const = 0;
  // Makes the bytes of an existing file durable, no matter who wrote them.
  virtual core::Status SyncFile(const std::string& path) = 0;
  // Atomic; replaces a file that has the name `to`.
  virtual core::Status Rename(const std::string& from, const std::string& to) = 0;
  // A file, or an empty directory. Nothing happens if there is none.
  virtual core::Status Remove(const std::string& path) = 0;
  // With its missing parents, and durably so. Nothing happens if it is there.
  virtual core::Status CreateDirectory(const std::string& path) = 0;
  virtual core::Status SyncDirectory(const std::string& path) = 0;
  // Names in the directory, in ascending order.
  virtual core::Result<std::vector<std::string>> List(const std::string& path) const = 0;
  // Makes the file if need be. An error names the process that holds the lock.
  virtual core::Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // The holder of the lock, as "process 17", without taking it; empty if it is free.
  virtual std::string LockHolder(const std::string& path) const = 0;
};

}  // namespace bitsieve::server
