// data_directory.h: the layout of a server's directory, and the lock that keeps a second server out.
//
//   MANIFEST             what the snapshot consists of; replaced by rename
//   MANIFEST.tmp         the next one, while it is written
//   filters/17.filter    one filter each; the number is the file id
//   log/00000….log       the log's segments; made by the log's writer
//   log/CURRENT          names the newest segment
//   quarantine/          damaged files that recovery set aside
//   LOCK                 locked while a server runs; holds its process id
//
// Files of other names are left alone. Thread-compatible. The disk outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "server/persistence/disk/disk.h"
#include "server/persistence/disk/manifest.h"

namespace bitsieve::server {

// Where things are below a path, whether they are there or not. Thread-safe.
class DataLayout {
 public:
  static constexpr std::string_view kManifestName = "MANIFEST";
  static constexpr std::string_view kTemporaryManifestName = "MANIFEST.tmp";

  explicit DataLayout(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string manifest_path() const { return PathOf(kManifestName); }
  std::string temporary_manifest_path() const { return PathOf(kTemporaryManifestName); }
  std::string filters_path() const { return PathOf("filters"); }
  std::string log_path() const { return PathOf("log"); }
  std::string quarantine_path() const { return PathOf("quarantine"); }
  std::string lock_path() const { return PathOf("LOCK"); }
  std::string FilterPath(uint64_t file_id) const { return filters_path() + "/" + FilterFileName(file_id); }

  static std::string FilterFileName(uint64_t file_id);
  // Nothing for a name that FilterFileName does not make.
  static std::optional<uint64_t> FilterFileId(std::string_view file_name);

 private:
  std::string PathOf(std::string_view name) const { return path_ + "/" + std::string(name); }

  std::string path_;
};

class DataDirectory : public DataLayout {
 public:
  // Makes the directory if it is not there, and takes the lock for as long as the object lives. kIo names the process
  // that has it.
  static core::Result<std::unique_ptr<DataDirectory>> Open(Disk& disk, const std::string& path);

  Disk& disk() const { return disk_; }

  // The two halves of replacing the manifest. After a failed Prepare the old one stands. After a failed Swap either may
  // stand, so that the files of both must stay.
  core::Status PrepareManifest(const Manifest& manifest, ChunkBuffer& buffer);
  core::Status SwapManifest();

 private:
  DataDirectory(Disk& disk, std::string path) : DataLayout(std::move(path)), disk_(disk) {}

  Disk& disk_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace bitsieve::server
