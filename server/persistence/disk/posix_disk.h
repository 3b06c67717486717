// posix_disk.h: the real disk. Thread-safe; its files are thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

class PosixDisk final : public Disk {
 public:
  core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  core::Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override;
  core::Status SyncFile(const std::string& path) override;
  core::Status Rename(const std::string& from, const std::string& to) override;
  core::Status Remove(const std::string& path) override;
  core::Status CreateDirectory(const std::string& path) override;
  core::Status SyncDirectory(const std::string& path) override;
  core::Result<std::vector<std::string>> List(const std::string& path) const override;
  core::Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  std::string LockHolder(const std::string& path) const override;
};

}  // namespace bitsieve::server
