// pinned_directory.h: the files of a data directory as a `kill -9` at one moment would have left them, held open, so
// that a running server can neither remove them nor add to them in the reader's eyes. A disk that can only be read.
//
// A server replaces its manifest by a rename, never changes a filter file, and appends only to the newest segment of
// its log. So the manifest is opened first, then the log (the length of the newest segment is the moment), then the
// filter files. If manifest and CURRENT are still the same after that, nothing that is needed was removed in between.
// If not, all is done again; files that were found stay open, so that a server which saves without a pause is caught up
// with.
//
// Everything acknowledged as durable before Pin is in it; of a running server, everything acknowledged, unless its disk
// has stopped (docs/durability.md). Takes no lock and sends nothing to the server.
// Thread-compatible. The disk outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/disk.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/log/log_reader.h"

namespace bitsieve::server {

struct PinnedFile {
  std::string name;  // within the directory: "filters/17.filter"
  uint64_t bytes = 0;
};

class PinnedDirectory final : public Disk {
 public:
  // Returns kIo if the directory cannot be read or there is no snapshot at that path, kCorrupt if something is damaged
  // or missing, and kUnsupported if it is of a newer version: the message names the file.
  static core::Result<std::unique_ptr<PinnedDirectory>> Pin(const Disk& disk, const std::string& path);

  const std::string& path() const { return layout_.path(); }
  // Returns all files that a start needs and no others; the manifest is last.
  const std::vector<PinnedFile>& files() const { return listed_; }
  uint64_t bytes() const;

  // Open and List serve only what is pinned; LockHolder asks the disk.
  core::Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override;
  core::Result<std::vector<std::string>> List(const std::string& path) const override;
  std::string LockHolder(const std::string& path) const override { return disk_.LockHolder(path); }
  // All others return kIo.
  core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override;
  core::Status SyncFile(const std::string& path) override { return Refuse(path); }
  core::Status Rename(const std::string& from, const std::string&) override { return Refuse(from); }
  core::Status Remove(const std::string& path) override { return Refuse(path); }
  core::Status CreateDirectory(const std::string& path) override { return Refuse(path); }
  core::Status SyncDirectory(const std::string& path) override { return Refuse(path); }
  core::Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

 private:
  struct Held {
    std::shared_ptr<const ReadableFile> file;
    uint64_t bytes = 0;  // that count
  };
  class View;

  PinnedDirectory(const Disk& disk, const std::string& path) : disk_(disk), layout_(path) {}
  core::Status PinAll();
  core::Status Hold(const std::string& path);
  core::Status HoldLog();
  core::Status HoldCurrent();
  core::Status HoldFilters();
  void DropAllButFilters();
  bool IsUnchanged() const;
  bool IsUnchanged(const std::string& path) const;
  std::string CurrentPath() const;
  core::Status ReadLogThrough();
  void ListFiles();
  static tl::unexpected<core::Error> Refuse(const std::string& path);

  const Disk& disk_;
  const DataLayout layout_;
  std::map<std::string, Held> held_;  // by path
  Manifest manifest_;
  std::optional<uint64_t> newest_;            // where the segment that CURRENT names begins
  std::vector<LogFile> log_;                  // the segments that the manifest needs
  std::vector<uint64_t> needed_;              // filter files, ascending
  std::map<uint64_t, core::Error> unopened_;  // why, of files that the manifest does not name
  std::vector<PinnedFile> listed_;
  ChunkBuffer buffer_;
};

}  // namespace bitsieve::server
