#include "server/persistence/backup/pinned_directory.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "server/persistence/log/log_current.h"

namespace bitsieve::server {
namespace {

// How long acknowledged changes may wait in a server's memory before they are in its log.
constexpr std::chrono::milliseconds kUntilWritten{100};
// How long pinning is tried again. A try fails when a further manifest was put in place in the few milliseconds that it
// takes to open what has changed: on a busy machine, a server that saves without a pause can cause that hundreds of
// times.
constexpr std::chrono::seconds kPinning{60};

// The last bytes of a file identify its content.
core::Result<FileSeal> SealOf(const ReadableFile& file) {
  FileSeal seal{file.size(), 0};
  if (seal.bytes < sizeof seal.checksum) return seal;
  const std::span bytes(reinterpret_cast<std::byte*>(&seal.checksum), sizeof seal.checksum);
  const core::Status status = file.ReadAt(seal.bytes - bytes.size(), bytes);
  if (!status) return tl::unexpected(status.error());
  return seal;
}

}  // namespace

// A view of a file that several share, limited to the bytes that count.
class PinnedDirectory::View final : public ReadableFile {
 public:
  explicit View(Held held) : held_(std::move(held)) {}

  uint64_t size() const override { return held_.bytes; }
  core::Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return held_.file->ReadAt(offset, out);
  }

 private:
  const Held held_;
};

core::Result<std::unique_ptr<PinnedDirectory>> PinnedDirectory::Pin(const Disk& disk, const std::string& path) {
  std::unique_ptr<PinnedDirectory> pinned(new PinnedDirectory(disk, path));
  const bool in_use = !disk.LockHolder(pinned->layout_.lock_path()).empty();
  if (in_use) std::this_thread::sleep_for(kUntilWritten);
  core::Status status = pinned->PinAll();
  const auto end = std::chrono::steady_clock::now() + kPinning;
  // A file that a server removes between two steps looks missing, so all is tried again until nothing has changed.
  bool unchanged = pinned->IsUnchanged();
  while (!unchanged && std::chrono::steady_clock::now() < end) {
    pinned->DropAllButFilters();
    status = pinned->PinAll();
    unchanged = pinned->IsUnchanged();
  }
  if (status && !unchanged) {
    status = core::Fail(core::ErrorCode::kIo, path + ": its snapshot kept being replaced while it was opened, for " +
                                                  std::to_string(kPinning.count()) + " s");
  }
  if (status) status = pinned->ReadLogThrough();
  if (!status) return tl::unexpected(std::move(status.error()));
  pinned->ListFiles();
  return pinned;
}

core::Status PinnedDirectory::PinAll() {
  const core::Result<std::vector<std::string>> top = disk_.List(layout_.path());
  if (!top) return tl::unexpected(top.error());
  if (!std::binary_search(top->begin(), top->end(), DataLayout::kManifestName)) {
    return core::Fail(core::ErrorCode::kIo, layout_.path() + ": holds no snapshot of Bitsieve: there is no MANIFEST");
  }
  core::Status status = Hold(layout_.manifest_path());
  if (!status) return status;
  core::Result<Manifest> manifest = ReadManifest(*this, layout_.manifest_path(), buffer_);
  if (!manifest) return tl::unexpected(std::move(manifest.error()));
  manifest_ = std::move(*manifest);
  status = HoldLog();
  return status ? HoldFilters() : status;
}

core::Status PinnedDirectory::Hold(const std::string& path) {
  core::Result<std::unique_ptr<ReadableFile>> file = disk_.Open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  const uint64_t bytes = (*file)->size();
  held_[path] = {std::move(*file), bytes};
  return {};
}

// Opens CURRENT before the segments, so that the segment it names is there, and the newest segment last.
core::Status PinnedDirectory::HoldLog() {
  if (core::Status status = HoldCurrent(); !status) return status;
  core::Result<std::vector<LogFile>> files = ListLog(disk_, layout_.log_path());
  if (!files) return tl::unexpected(std::move(files.error()));
  // A newer segment may be there that CURRENT does not name yet.
  const uint64_t begin = std::min(LogBeginOf(manifest_), newest_.value_or(UINT64_MAX));
  const auto beyond =
      std::find_if(files->begin(), files->end(), [begin](const LogFile& file) { return file.start > begin; });
  log_.assign(beyond == files->begin() ? beyond : beyond - 1, files->end());
  for (const LogFile& file : log_) {
    if (core::Status status = Hold(file.path); !status) return status;
  }
  return {};
}

// Without a log there is no CURRENT.
core::Status PinnedDirectory::HoldCurrent() {
  newest_.reset();
  if (!manifest_.has_log) return {};
  if (core::Status held = Hold(CurrentPath()); !held) {
    const core::Result<uint64_t> unheld = ReadLogCurrent(disk_, layout_.log_path());
    return unheld ? held : tl::unexpected(unheld.error());  // which tells a missing file from one that cannot be read
  }
  const core::Result<uint64_t> start = ReadLogCurrent(*this, layout_.log_path());
  if (!start) return tl::unexpected(start.error());
  newest_ = *start;
  return {};
}

// Opens the filter files that the manifest does not name as well: the log may name them. If not, it makes no difference
// that one cannot be opened, for example since the server has removed it.
core::Status PinnedDirectory::HoldFilters() {
  unopened_.clear();
  const std::vector<uint64_t> listed = FileIdsOf(manifest_);
  const core::Result<std::vector<std::string>> names = ListIfThere(disk_, layout_.filters_path());
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    const std::optional<uint64_t> id = DataLayout::FilterFileId(name);
    if (!id || held_.contains(layout_.FilterPath(*id))) continue;
    core::Status status = Hold(layout_.FilterPath(*id));
    if (status) continue;
    if (std::binary_search(listed.begin(), listed.end(), *id)) return status;
    unopened_[*id] = std::move(status.error());
  }
  for (const uint64_t id : listed) {
    if (held_.contains(layout_.FilterPath(id))) continue;
    return core::Fail(core::ErrorCode::kCorrupt, layout_.FilterPath(id) + ": is missing, but the manifest lists it");
  }
  return {};
}

// Keeps only the filter files of the manifest, which are whole; others may have been opened while they were written.
void PinnedDirectory::DropAllButFilters() {
  std::map<std::string, Held> kept;
  for (const uint64_t id : FileIdsOf(manifest_)) {
    if (auto file = held_.extract(layout_.FilterPath(id))) kept.insert(std::move(file));
  }
  held_ = std::move(kept);
}

// If the manifest is unchanged, no filter file that is needed was removed; if CURRENT is, no segment was: obsolete ones
// are removed some time after the manifest was put in place, but not before CURRENT names a newer one.
bool PinnedDirectory::IsUnchanged() const {
  return IsUnchanged(layout_.manifest_path()) && (!manifest_.has_log || IsUnchanged(CurrentPath()));
}

bool PinnedDirectory::IsUnchanged(const std::string& path) const {
  const auto held = held_.find(path);
  const core::Result<std::unique_ptr<ReadableFile>> now = disk_.Open(path);
  if (held == held_.end() || !now) return held == held_.end() && !now;
  const core::Result<FileSeal> before = SealOf(*held->second.file);
  const core::Result<FileSeal> after = SealOf(**now);
  return before && after && *before == *after;
}

std::string PinnedDirectory::CurrentPath() const { return layout_.log_path() + "/" + std::string(kLogCurrentName); }

// Reads the log to its end. The end of a record that was being written does not count, and files that only it names are
// not needed.
core::Status PinnedDirectory::ReadLogThrough() {
  needed_ = FileIdsOf(manifest_);
  const VisitRecord visit = [this](uint64_t, const log::Record& record) -> core::Status {
    if (const auto* image = std::get_if<log::Image>(&record)) needed_.push_back(image->file_id);
    return {};
  };
  if (log_.empty() && !newest_) return {};
  const core::Result<LogScan> scan = ReadLog(*this, log_, LogBeginOf(manifest_), visit, newest_);
  if (!scan) return tl::unexpected(scan.error());
  if (scan->damage) return core::Fail(core::ErrorCode::kCorrupt, scan->damage->reason);
  if (scan->missing) return core::Fail(core::ErrorCode::kCorrupt, layout_.log_path() + ": " + *scan->missing);
  if (scan->torn && scan->torn->offset >= kLogHeadBytes) held_.at(scan->torn->path).bytes = scan->torn->offset;
  std::sort(needed_.begin(), needed_.end());
  needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
  for (const uint64_t id : needed_) {
    if (held_.contains(layout_.FilterPath(id))) continue;
    if (const auto unopened = unopened_.find(id); unopened != unopened_.end()) return tl::unexpected(unopened->second);
    return core::Fail(core::ErrorCode::kCorrupt, layout_.FilterPath(id) + ": is missing, but the log names it");
  }
  return {};
}

void PinnedDirectory::ListFiles() {
  const auto add = [this](const std::string& path) {
    const auto held = held_.find(path);
    if (held != held_.end()) listed_.push_back({path.substr(layout_.path().size() + 1), held->second.bytes});
  };
  std::map<std::string, Held> needed;
  for (const uint64_t id : needed_) add(layout_.FilterPath(id));
  for (const LogFile& file : log_) add(file.path);
  add(CurrentPath());
  add(layout_.manifest_path());
  for (const PinnedFile& file : listed_) needed.insert(held_.extract(layout_.path() + "/" + file.name));
  held_ = std::move(needed);
}

uint64_t PinnedDirectory::bytes() const {
  uint64_t bytes = 0;
  for (const PinnedFile& file : listed_) bytes += file.bytes;
  return bytes;
}

core::Result<std::unique_ptr<ReadableFile>> PinnedDirectory::Open(const std::string& path) const {
  const auto held = held_.find(path);
  if (held != held_.end()) return std::make_unique<View>(held->second);
  return core::Fail(core::ErrorCode::kIo, path + ": is not there");
}

core::Result<std::vector<std::string>> PinnedDirectory::List(const std::string& path) const {
  std::vector<std::string> names;
  const std::string prefix = path + "/";
  for (auto file = held_.lower_bound(prefix); file != held_.end() && file->first.starts_with(prefix); ++file) {
    const std::string rest = file->first.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('/'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

core::Result<std::unique_ptr<WritableFile>> PinnedDirectory::Create(const std::string& path) { return Refuse(path); }

core::Result<std::unique_ptr<FileLock>> PinnedDirectory::Lock(const std::string& path) { return Refuse(path); }

tl::unexpected<core::Error> PinnedDirectory::Refuse(const std::string& path) {
  return core::Fail(core::ErrorCode::kIo, path + ": can only be read");
}

}  // namespace bitsieve::server
