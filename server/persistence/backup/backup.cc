#include "server/persistence/backup/backup.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/filter_file.h"

namespace bitsieve::server {
namespace {

constexpr std::string_view kBackupSuffix = ".partial";
constexpr std::string_view kRestoreName = "restore.partial";
constexpr size_t kCopyBytes = 1 << 20;

// Runs the steps in order, until one fails.
core::Status AllOf(std::span<const std::function<core::Status()>> steps) {
  for (const auto& step : steps) {
    if (core::Status status = step(); !status) return status;
  }
  return {};
}

std::string SomeOf(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > kShown ? ", ..." : "");
}

// Removes the files in a directory and, if nothing else is there, the directory.
core::Status RemoveFiles(Disk& disk, const std::string& directory) {
  const core::Result<std::vector<std::string>> names = ListIfThere(disk, directory);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    if (core::Status status = disk.Remove(directory + "/" + name); !status) return status;
  }
  return disk.Remove(directory);
}

// Removes what is left of an interrupted copy, except for its lock.
core::Status RemoveCopy(Disk& disk, const std::string& path) {
  const DataLayout layout(path);
  const std::array<std::function<core::Status()>, 3> steps = {
      [&] { return disk.Remove(layout.manifest_path()); },
      [&] { return RemoveFiles(disk, layout.filters_path()); },
      [&] { return RemoveFiles(disk, layout.log_path()); },
  };
  return AllOf(steps);
}

core::Status CopyFile(const Disk& from, const std::string& source, Disk& to, const std::string& target,
                      const std::function<void(uint64_t)>& on_copied) {
  const core::Result<std::unique_ptr<ReadableFile>> reader = from.Open(source);
  if (!reader) return tl::unexpected(reader.error());
  core::Result<std::unique_ptr<WritableFile>> writer = to.Create(target);
  if (!writer) return tl::unexpected(std::move(writer.error()));
  std::vector<std::byte> buffer(std::min<uint64_t>(kCopyBytes, (*reader)->size()));
  core::Status status;
  for (uint64_t offset = 0; status && offset < (*reader)->size();) {
    const std::span bytes(buffer.data(), std::min<uint64_t>(buffer.size(), (*reader)->size() - offset));
    status = (*reader)->ReadAt(offset, bytes);
    if (status) status = (*writer)->Write(core::AsText(bytes));
    offset += bytes.size();
    on_copied(bytes.size());
  }
  if (status) status = (*writer)->Sync();
  if (status) status = (*writer)->Close();
  return status;
}

core::Status CheckAbsentOrEmpty(const Disk& disk, const std::string& target) {
  const core::Result<std::vector<std::string>> names = ListIfThere(disk, target);
  if (!names) return tl::unexpected(names.error());
  if (names->empty()) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument,
                    target + ": is not empty, it holds " + SomeOf(*names) + "; a backup needs a directory of its own");
}

// A copy that fails where the source is whole is the target's fault, and the other way round.
core::Result<Inspection> VerifyCopy(const PinnedDirectory& source, const Disk& disk, const std::string& path) {
  core::Result<Inspection> found = VerifyBackup(disk, path);
  if (found || found.error().code == core::ErrorCode::kIo) return found;
  const core::Result<Inspection> original = VerifyBackup(source, source.path());
  return original ? std::move(found) : original;
}

core::Result<Inspection> MakeCopy(const PinnedDirectory& source, Disk& disk, const std::string& path,
                                  const BackupProgress& progress) {
  if (core::Status status = CopyFiles(source, disk, path, progress); !status) {
    return tl::unexpected(std::move(status.error()));
  }
  progress("verifying", 0, source.bytes());
  return VerifyCopy(source, disk, path);
}

// Returns whether `target` holds what an interrupted restore left; false if it holds nothing. LOCK, which a server
// leaves in a directory that it never used, and lost+found, which a file system leaves, do not count. Anything else is
// an error.
core::Result<bool> IsCutShort(const Disk& disk, const std::string& target) {
  core::Result<std::vector<std::string>> names = disk.List(target);
  if (!names) return tl::unexpected(std::move(names.error()));
  const auto has = [&](std::string_view name) { return std::ranges::count(*names, name) != 0; };
  const bool cut_short = has(kRestoreName) && !has(DataLayout::kManifestName);
  std::erase_if(*names, [&](const std::string& name) {
    const bool is_of_restore = name == kRestoreName || name == "filters" || name == "log";
    return name == "LOCK" || name == "lost+found" || (cut_short && is_of_restore);
  });
  if (names->empty()) return cut_short;
  return core::Fail(core::ErrorCode::kInvalidArgument, target + ": is not empty, it holds " + SomeOf(*names) +
                                                           "; a restore needs an empty data directory");
}

core::Status PrepareRestore(Disk& disk, const DataLayout& layout, const DataLayout& staging) {
  const core::Result<bool> cut_short = IsCutShort(disk, layout.path());
  if (!cut_short) return tl::unexpected(cut_short.error());
  const std::array<std::function<core::Status()>, 4> steps = {
      [&] { return *cut_short ? RemoveCopy(disk, layout.path()) : core::Status(); },
      [&] { return disk.CreateDirectory(staging.path()); },
      [&] { return RemoveCopy(disk, staging.path()); },
      [&] { return disk.CreateDirectory(staging.filters_path()); },
  };
  return AllOf(steps);
}

core::Result<Inspection> FillAndVerify(const FillDirectory& fill, const Disk& disk, const std::string& path,
                                       const BackupProgress& progress) {
  if (core::Status status = fill(path); !status) return tl::unexpected(std::move(status.error()));
  progress("verifying", 0, 0);
  return VerifyBackup(disk, path);
}

// Renames the manifest last: without it no server starts on what is there.
core::Status PutInPlace(Disk& disk, const DataLayout& from, const DataLayout& to) {
  const core::Result<std::vector<std::string>> names = disk.List(from.path());
  if (!names) return tl::unexpected(names.error());
  const bool has_log = std::ranges::count(*names, "log") != 0;
  const std::array<std::function<core::Status()>, 7> steps = {
      [&] { return disk.Rename(from.filters_path(), to.filters_path()); },
      [&] { return has_log ? disk.Rename(from.log_path(), to.log_path()) : core::Status(); },
      [&] { return disk.SyncDirectory(to.path()); },
      [&] { return disk.Rename(from.manifest_path(), to.manifest_path()); },
      [&] { return disk.SyncDirectory(to.path()); },
      [&] { return disk.Remove(from.path()); },
      [&] { return disk.SyncDirectory(to.path()); },
  };
  return AllOf(steps);
}

}  // namespace

core::Status CopyFiles(const PinnedDirectory& source, Disk& disk, const std::string& target,
                       const BackupProgress& progress) {
  const DataLayout layout(target);
  const bool has_log =
      std::ranges::any_of(source.files(), [](const PinnedFile& f) { return f.name.starts_with("log/"); });
  core::Status status = disk.CreateDirectory(layout.filters_path());
  if (status && has_log) status = disk.CreateDirectory(layout.log_path());
  uint64_t done = 0;
  const auto on_copied = [&](uint64_t bytes) { progress("copying", done += bytes, source.bytes()); };
  for (const PinnedFile& file : source.files()) {
    if (!status) return status;
    status = CopyFile(source, source.path() + "/" + file.name, disk, target + "/" + file.name, on_copied);
  }
  if (status) status = disk.SyncDirectory(layout.filters_path());
  if (status && has_log) status = disk.SyncDirectory(layout.log_path());
  return status ? disk.SyncDirectory(target) : status;
}

core::Status WriteSnapshotOf(const core::Filter& filter, const std::string& name, Disk& disk,
                             const std::string& target) {
  constexpr uint64_t kFileId = 1;
  const DataLayout layout(target);
  if (core::Status status = disk.CreateDirectory(layout.filters_path()); !status) return status;
  ChunkBuffer buffer;
  const core::Result<FileSeal> seal =
      WriteFilterFile(disk, layout.FilterPath(kFileId), name, *filter.Capture(), kDefaultChunkBytes, buffer);
  if (!seal) return tl::unexpected(seal.error());
  const Manifest manifest{.snapshot_number = 1,
                          .saved_unix_ms = core::SystemClock().WallMs(),
                          .next_file_id = kFileId + 1,
                          .filters = {{.name = name, .file_id = kFileId, .seal = *seal}},
                          .packs = {}};
  const std::array<std::function<core::Status()>, 3> steps = {
      [&] { return disk.SyncDirectory(layout.filters_path()); },
      [&] { return WriteManifest(disk, layout.manifest_path(), manifest, buffer); },
      [&] { return disk.SyncDirectory(target); },
  };
  return AllOf(steps);
}

core::Result<Inspection> VerifyBackup(const Disk& disk, const std::string& path) {
  core::Result<Inspection> found = Inspect(disk, path, InspectDepth::kChecksums);
  if (!found) return found;
  std::string problems;
  for (const auto* lines : {&found->damage, &found->unreadable}) {
    for (const std::string& line : *lines) problems += (problems.empty() ? "" : "\n") + line;
  }
  if (problems.empty() && !found->has_manifest) problems = path + ": holds no snapshot: there is no MANIFEST";
  if (problems.empty()) return found;
  return core::Fail(core::ErrorCode::kCorrupt, std::move(problems));
}

core::Result<Inspection> BackUp(const PinnedDirectory& source, Disk& disk, const std::string& target,
                                const BackupProgress& progress) {
  const std::string partial = target + std::string(kBackupSuffix);
  const DataLayout layout(partial);
  core::Status status = CheckAbsentOrEmpty(disk, target);
  if (status) status = disk.CreateDirectory(partial);
  if (!status) return tl::unexpected(std::move(status.error()));
  const core::Result<std::unique_ptr<FileLock>> lock = disk.Lock(layout.lock_path());
  if (!lock) return tl::unexpected(lock.error());
  status = RemoveCopy(disk, partial);
  if (!status) return tl::unexpected(std::move(status.error()));
  core::Result<Inspection> made = MakeCopy(source, disk, partial, progress);
  status = made ? disk.Remove(layout.lock_path()) : core::Status(tl::unexpected(made.error()));
  if (status) status = disk.SyncDirectory(partial);
  if (status) status = disk.Rename(partial, target);
  if (status) status = disk.SyncDirectory(ParentOf(target));
  if (status) return made;
  // Makes room; the next backup removes what is left.
  (void)RemoveCopy(disk, partial);
  (void)disk.Remove(layout.lock_path());
  (void)disk.Remove(partial);
  return tl::unexpected(std::move(status.error()));
}

core::Result<Inspection> Restore(const FillDirectory& fill, Disk& disk, const std::string& target,
                                 const BackupProgress& progress) {
  const DataLayout layout(target);
  const DataLayout staging(target + "/" + std::string(kRestoreName));
  core::Status status = disk.CreateDirectory(target);
  // Checked before locking as well, since the lock leaves a file.
  if (status) status = IsCutShort(disk, target).map([](bool) {});
  if (!status) return tl::unexpected(std::move(status.error()));
  const core::Result<std::unique_ptr<FileLock>> lock = disk.Lock(layout.lock_path());
  if (!lock) return tl::unexpected(lock.error());
  status = PrepareRestore(disk, layout, staging);
  if (!status) return tl::unexpected(std::move(status.error()));
  core::Result<Inspection> found = FillAndVerify(fill, disk, staging.path(), progress);
  if (found) {
    status = PutInPlace(disk, staging, layout);
    return status ? std::move(found) : tl::unexpected(std::move(status.error()));
  }
  // Makes room; the next restore removes what is left.
  (void)RemoveCopy(disk, staging.path());
  (void)disk.Remove(staging.path());
  return found;
}

}  // namespace bitsieve::server
