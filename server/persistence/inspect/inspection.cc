#include "server/persistence/inspect/inspection.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/quote.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/pack.h"
#include "server/persistence/log/log_content.h"
#include "server/persistence/log/log_current.h"

namespace bitsieve::server {
namespace {

constexpr int kReadTries = 5;  // while a server replaces its snapshot under the reader

class Inspector {
 public:
  Inspector(const Disk& disk, const std::string& path, InspectDepth depth) : disk_(disk), layout_(path), depth_(depth) {
    found_.path = path;
    found_.verified = depth != InspectDepth::kHeads;
  }

  core::Result<Inspection> Run() {
    if (core::Status status = ListTop(); !status) return tl::unexpected(std::move(status.error()));
    found_.lock_holder = disk_.LockHolder(layout_.lock_path());
    LoadManifest();
    InspectFilters();
    InspectLog();
    FindLeftovers();
    return std::move(found_);
  }

 private:
  core::Status ListTop();
  bool Has(std::string_view name) const { return std::binary_search(top_.begin(), top_.end(), name); }
  std::vector<std::string> List(const std::string& path, std::string_view name);
  void LoadManifest();
  void InspectFilters();
  void InspectFilter(InspectedFilter& filter);
  void InspectPack(const ManifestPack& listed);
  void InspectRecord(const Pack& pack, const ManifestPack& listed, uint32_t record);
  bool IsPresent(uint64_t file_id) const { return std::binary_search(file_ids_.begin(), file_ids_.end(), file_id); }
  core::Result<core::ImageSummary> ReadFilter(const std::string& path, const FileSeal& seal, uint64_t& body_bytes);
  void InspectLog();
  void FindNewestSegment();
  void ReadSegmentHead(const LogFile& file, bool last);
  void ReadWholeLog(const std::vector<LogFile>& files);
  void InspectImage(const log::Image& image);
  void InspectContent(const log::Content& content);
  void FindLeftovers();
  InspectedFile FileAt(const std::string& path);
  void AddDamage(const core::Error& error, const std::string& about = {});

  const Disk& disk_;
  const DataLayout layout_;
  const InspectDepth depth_;
  Inspection found_;
  std::vector<std::string> top_;
  std::vector<uint64_t> file_ids_;  // in filters/, ascending
  uint64_t log_begin_ = 0;          // where the manifest needs the log from
  std::set<uint64_t> image_ids_;    // of the files that the log names
  ChunkBuffer buffer_;
};

// Distinguishes files that are damaged from files that cannot be read, which may still be whole.
void Inspector::AddDamage(const core::Error& error, const std::string& about) {
  const bool damaged = error.code == core::ErrorCode::kCorrupt;
  (damaged ? found_.damage : found_.unreadable).push_back(error.message + about);
}

core::Status Inspector::ListTop() {
  core::Result<std::vector<std::string>> names = disk_.List(layout_.path());
  if (!names) return tl::unexpected(std::move(names.error()));
  top_ = std::move(*names);
  if (Has(DataLayout::kManifestName) || Has("filters")) return {};
  return core::Fail(core::ErrorCode::kIo,
                    layout_.path() + ": holds no data of Bitsieve: neither MANIFEST nor filters/");
}

std::vector<std::string> Inspector::List(const std::string& path, std::string_view name) {
  if (!Has(name)) return {};
  core::Result<std::vector<std::string>> names = disk_.List(path);
  if (names) return std::move(*names);
  AddDamage(names.error());
  return {};
}

void Inspector::LoadManifest() {
  for (const std::string& name : List(layout_.filters_path(), "filters")) {
    if (const std::optional<uint64_t> id = DataLayout::FilterFileId(name)) file_ids_.push_back(*id);
  }
  std::sort(file_ids_.begin(), file_ids_.end());
  if (!Has(DataLayout::kManifestName)) {
    const bool has_log = !ListIfThere(disk_, layout_.log_path()).value_or(std::vector<std::string>()).empty();
    if (!file_ids_.empty() || has_log) {
      found_.damage.push_back(layout_.manifest_path() + ": is missing, but there are filters or a log");
    }
    return;
  }
  core::Result<Manifest> manifest = ReadManifest(disk_, layout_.manifest_path(), buffer_);
  if (!manifest) return AddDamage(manifest.error());
  found_.has_manifest = true;
  found_.manifest = std::move(*manifest);
  log_begin_ = LogBeginOf(found_.manifest);
}

void Inspector::InspectFilters() {
  for (ManifestEntry& entry : found_.manifest.filters) {
    const std::string path = layout_.FilterPath(entry.file_id);
    found_.filters.push_back({.entry = std::move(entry), .path = path, .summary = {}});
  }
  found_.manifest.filters.clear();
  for (InspectedFilter& filter : found_.filters) InspectFilter(filter);
  for (const ManifestPack& pack : found_.manifest.packs) InspectPack(pack);
  std::sort(found_.filters.begin(), found_.filters.end(),
            [](const InspectedFilter& a, const InspectedFilter& b) { return a.entry.name < b.entry.name; });
}

void Inspector::InspectFilter(InspectedFilter& filter) {
  const std::string about = " (filter " + core::PrintableName(filter.entry.name) + ")";
  if (!IsPresent(filter.entry.file_id)) {
    found_.damage.push_back(filter.path + ": is missing, but the manifest lists it" + about);
    return;
  }
  const core::Result<core::ImageSummary> summary = ReadFilter(filter.path, filter.entry.seal, filter.body_bytes);
  if (!summary) return AddDamage(summary.error(), about);
  filter.summary = *summary;
}

void Inspector::InspectPack(const ManifestPack& listed) {
  const std::string path = layout_.FilterPath(listed.file_id);
  const std::string about =
      " (" + std::to_string(std::count(listed.live.begin(), listed.live.end(), true)) + " filters)";
  if (!IsPresent(listed.file_id)) {
    found_.damage.push_back(path + ": is missing, but the manifest lists it" + about);
    return;
  }
  const core::Result<Pack> pack = Pack::Read(disk_, path, listed.seal, buffer_);
  if (!pack) return AddDamage(pack.error(), about);
  if (pack->records() != listed.live.size()) {
    found_.damage.push_back(path + ": has a different number of records than the manifest says" + about);
    return;
  }
  for (uint32_t i = 0; i < pack->records(); ++i) {
    if (listed.live[i]) InspectRecord(*pack, listed, i);
  }
}

void Inspector::InspectRecord(const Pack& pack, const ManifestPack& listed, uint32_t record) {
  const core::Result<PackedFilter> packed = pack.Record(record);
  if (!packed) return AddDamage(packed.error());
  InspectedFilter& filter = found_.filters.emplace_back();
  filter.entry.name = packed->name;
  filter.entry.file_id = listed.file_id;
  filter.entry.seal = {pack.record_bytes(record), pack.record_checksum(record)};
  filter.entry.expires_unix_ms = packed->expires_unix_ms;
  filter.entry.filter_id = packed->filter_id;
  filter.entry.sequence = packed->sequence;
  filter.entry.freezing = packed->freezing;
  filter.path = layout_.FilterPath(listed.file_id);
  filter.record = record;
  filter.body_bytes = packed->body.size();
  core::Result<core::ImageSummary> summary = core::SummarizeImage(packed->header);
  if (summary && depth_ == InspectDepth::kContents) {
    core::MemoryBudget budget;
    const auto decoded = core::DecodeFilter(packed->header, core::AsBytes(packed->body), budget, core::SystemClock());
    if (!decoded) summary = tl::unexpected(decoded.error());
  }
  if (summary) {
    filter.summary = *summary;
  } else {
    AddDamage(pack.Located(record, *packed, summary.error()));
  }
}

core::Result<core::ImageSummary> Inspector::ReadFilter(const std::string& path, const FileSeal& seal,
                                                       uint64_t& body_bytes) {
  const core::Result<FilterFileHead> head = ReadFilterFileHead(disk_, path, seal, buffer_);
  if (!head) return tl::unexpected(head.error());
  body_bytes = head->body_bytes;
  core::Result<core::ImageSummary> summary = core::SummarizeImage(head->image_header);
  if (!summary) return core::Fail(summary.error().code, path + ": " + summary.error().message);
  if (depth_ == InspectDepth::kHeads) return summary;
  if (depth_ == InspectDepth::kChecksums) {
    const core::Status whole = VerifyFilterFile(disk_, path, seal, buffer_);
    return whole ? summary : tl::unexpected(whole.error());
  }
  core::MemoryBudget budget;
  const auto filter = ReadFilterFile(disk_, path, seal, budget, core::SystemClock(), buffer_);
  if (!filter) return tl::unexpected(filter.error());
  return summary;
}

void Inspector::InspectLog() {
  const core::Result<std::vector<LogFile>> files = ListLog(disk_, layout_.log_path());
  if (!files) return AddDamage(files.error());
  FindNewestSegment();
  for (const LogFile& file : *files) {
    found_.log.push_back({file.path, file.start, FileAt(file.path).bytes, {}});
    if (!found_.verified) ReadSegmentHead(file, &file == &files->back());
  }
  if (found_.verified) return ReadWholeLog(*files);
  const auto is_newest = [this](const LogFile& file) { return file.start == found_.newest_segment; };
  if (found_.newest_segment && std::none_of(files->begin(), files->end(), is_newest)) {
    found_.damage.push_back(layout_.log_path() + ": the newest segment, " + LogFileName(*found_.newest_segment) +
                            ", is missing");
  }
}

void Inspector::FindNewestSegment() {
  if (!found_.manifest.has_log) return;
  const core::Result<uint64_t> start = ReadLogCurrent(disk_, layout_.log_path());
  if (!start) return AddDamage(start.error());
  found_.newest_segment = *start;
}

// Reports an unreadable head, unless there is no CURRENT and a crash may have left the last segment without a whole
// head.
void Inspector::ReadSegmentHead(const LogFile& file, bool last) {
  core::Result<LogSegmentReader> reader = LogSegmentReader::Open(disk_, file.path, file.start);
  if (!reader) return AddDamage(reader.error());
  const core::Status head = reader->ReadHead();
  if (head) return;
  const bool torn = last && !found_.newest_segment && head.error().code == core::ErrorCode::kCorrupt &&
                    reader->size() <= kLogHeadBytes;
  if (!torn) AddDamage(head.error());
}

// Reads the log from where the snapshot needs it; without a snapshot, from its beginning.
void Inspector::ReadWholeLog(const std::vector<LogFile>& files) {
  if (files.empty() && !found_.newest_segment) return;
  const uint64_t from = found_.has_manifest ? log_begin_ : files.front().start;
  std::vector<log::Image> images;
  size_t index = 0;
  const VisitRecord visit = [&](uint64_t position, const log::Record& record) -> core::Status {
    while (index + 1 < files.size() && files[index + 1].start <= position) ++index;
    ++found_.log[index].records[static_cast<size_t>(log::KindOf(record))];
    if (const auto* image = std::get_if<log::Image>(&record)) images.push_back(*image);
    if (const auto* content = std::get_if<log::Content>(&record)) InspectContent(*content);
    return {};
  };
  core::Result<LogScan> scan = ReadLog(disk_, files, from, visit, found_.newest_segment);
  if (!scan) return AddDamage(scan.error());
  found_.scan = std::move(*scan);
  if (found_.scan.damage) found_.damage.push_back(found_.scan.damage->reason);
  if (found_.scan.missing) found_.damage.push_back(layout_.log_path() + ": " + *found_.scan.missing);
  for (const log::Image& image : images) InspectImage(image);
  found_.images = image_ids_.size();
}

void Inspector::InspectImage(const log::Image& image) {
  if (!image_ids_.insert(image.file_id).second) return;
  const std::string path = layout_.FilterPath(image.file_id);
  const std::string about = " (filter " + std::to_string(image.id) + " of the log)";
  if (!IsPresent(image.file_id)) {
    found_.damage.push_back(path + ": is missing, but the log names it" + about);
    return;
  }
  uint64_t body_bytes = 0;
  const core::Result<core::ImageSummary> summary = ReadFilter(path, image.seal, body_bytes);
  if (!summary) AddDamage(summary.error(), about);
}

void Inspector::InspectContent(const log::Content& content) {
  if (depth_ != InspectDepth::kContents) return;
  core::MemoryBudget budget;
  const auto filter = ReadContent(content, budget, core::SystemClock());
  if (!filter) AddDamage(filter.error(), " (filter " + std::to_string(content.id) + " of the log)");
}

void Inspector::FindLeftovers() {
  std::set<uint64_t> known = std::move(image_ids_);
  for (const InspectedFilter& filter : found_.filters) known.insert(filter.entry.file_id);
  for (const ManifestPack& pack : found_.manifest.packs) known.insert(pack.file_id);
  for (const uint64_t id : file_ids_) {
    if (!known.contains(id)) found_.leftovers.push_back(FileAt(layout_.FilterPath(id)));
  }
  if (Has(DataLayout::kTemporaryManifestName)) {
    found_.leftovers.push_back(FileAt(layout_.temporary_manifest_path()));
  }
  const auto in_log = ListIfThere(disk_, layout_.log_path()).value_or(std::vector<std::string>());
  for (const std::string& name : in_log) {
    if (IsTemporaryLogFile(name)) found_.leftovers.push_back(FileAt(layout_.log_path() + "/" + name));
  }
  for (const std::string& name : List(layout_.quarantine_path(), "quarantine")) {
    found_.quarantined.push_back(FileAt(layout_.quarantine_path() + "/" + name));
  }
}

InspectedFile Inspector::FileAt(const std::string& path) {
  const core::Result<std::unique_ptr<ReadableFile>> file = disk_.Open(path);
  return {path, file ? (*file)->size() : 0};
}

bool IsClean(const Inspection& found) { return found.damage.empty() && found.unreadable.empty(); }

}  // namespace

core::Result<Inspection> Inspect(const Disk& disk, const std::string& path, InspectDepth depth) {
  core::Result<Inspection> found = Inspector(disk, path, depth).Run();
  // A file that a running server removes during an inspection looks missing: only damage found twice counts.
  for (int i = 1; i < kReadTries && found && !IsClean(*found) && !found->lock_holder.empty(); ++i) {
    core::Result<Inspection> again = Inspector(disk, path, depth).Run();
    const bool same = again && again->damage == found->damage && again->unreadable == found->unreadable;
    found = std::move(again);
    if (same) break;
  }
  return found;
}

}  // namespace bitsieve::server
