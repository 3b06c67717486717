#include "server/persistence/backup/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <system_error>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/quote.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/log/log_current.h"
#include "server/persistence/log/log_segment.h"

namespace bitsieve::server {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr int kFileMode = 0644;
constexpr int kDirectoryMode = 0755;
constexpr std::string_view kDirectories[] = {"filters", "log"};

using Writer = std::unique_ptr<archive, int (*)(archive*)>;
using Reader = std::unique_ptr<archive, int (*)(archive*)>;
using ArchiveEntry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

tl::unexpected<core::Error> FailOf(core::ErrorCode code, const std::string& what, archive* of) {
  const char* const reason = archive_error_string(of);
  return core::Fail(code, what + ": " + (reason == nullptr ? "unknown error" : reason));
}

// The library's own word is "Write error".
tl::unexpected<core::Error> FailToWrite(archive* out) {
  const int error = archive_errno(out);
  if (error <= 0) return FailOf(core::ErrorCode::kIo, "the archive cannot be written", out);
  return core::Fail(core::ErrorCode::kIo, "the archive cannot be written: " + std::system_category().message(error));
}

// ---- writing

core::Status AddHeader(archive* out, const std::string& name, uint64_t bytes, bool is_directory) {
  const ArchiveEntry entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), is_directory ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(entry.get(), is_directory ? kDirectoryMode : kFileMode);
  archive_entry_set_size(entry.get(), static_cast<int64_t>(bytes));
  if (archive_write_header(out, entry.get()) == ARCHIVE_OK) return {};
  return FailToWrite(out);
}

core::Status AddFile(archive* out, const PinnedDirectory& source, const PinnedFile& file, std::vector<std::byte>& block,
                     const std::function<void(uint64_t)>& on_written) {
  const auto reader = source.Open(source.path() + "/" + file.name);
  if (!reader) return tl::unexpected(reader.error());
  if (core::Status status = AddHeader(out, file.name, file.bytes, false); !status) return status;
  for (uint64_t offset = 0; offset < file.bytes;) {
    const std::span bytes(block.data(), std::min<uint64_t>(block.size(), file.bytes - offset));
    if (core::Status status = (*reader)->ReadAt(offset, bytes); !status) return status;
    if (archive_write_data(out, bytes.data(), bytes.size()) != static_cast<la_ssize_t>(bytes.size())) {
      return FailToWrite(out);
    }
    offset += bytes.size();
    on_written(bytes.size());
  }
  return {};
}

// ---- reading

class Extractor {
 public:
  Extractor(archive* in, const std::string& name, Disk& disk, const std::string& target, const ArchiveLimits& limits,
            const BackupProgress& progress)
      : in_(in), name_(name), disk_(disk), target_(target), limits_(limits), progress_(progress) {}

  core::Status Run() {
    for (archive_entry* entry = nullptr;;) {
      const int read = archive_read_next_header(in_, &entry);
      if (read == ARCHIVE_EOF) return SyncDirectories();
      if (read != ARCHIVE_OK) return FailOf(core::ErrorCode::kCorrupt, name_ + ": cannot be read", in_);
      if (core::Status status = Extract(entry); !status) return status;
    }
  }

 private:
  core::Status Extract(archive_entry* entry);
  core::Status ExtractFile(const std::string& member, uint64_t bytes);
  core::Status CopyData(WritableFile& file, const std::string& member, uint64_t bytes);
  core::Status SyncDirectories();
  static bool IsOurs(std::string_view member);
  tl::unexpected<core::Error> Refuse(std::string_view member, const std::string& reason) const {
    return core::Fail(core::ErrorCode::kCorrupt, name_ + ": " + core::Quoted(member) + " " + reason);
  }

  archive* const in_;
  const std::string& name_;
  Disk& disk_;
  const std::string& target_;
  const ArchiveLimits& limits_;
  const BackupProgress& progress_;
  std::set<std::string> seen_;
  uint64_t bytes_ = 0;
  std::vector<std::byte> block_ = std::vector<std::byte>(kBlockBytes);
};

bool Extractor::IsOurs(std::string_view member) {
  if (member == DataLayout::kManifestName) return true;
  const size_t slash = member.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view directory = member.substr(0, slash);
  const std::string_view file = member.substr(slash + 1);
  if (directory == "filters") return DataLayout::FilterFileId(file).has_value();
  return directory == "log" && (file == kLogCurrentName || LogFileStart(file));
}

core::Status Extractor::Extract(archive_entry* entry) {
  const char* const path = archive_entry_pathname(entry);
  std::string member = path == nullptr ? "" : path;
  while (member.starts_with("./")) member.erase(0, 2);
  const auto type = archive_entry_filetype(entry);
  if (type == AE_IFDIR) {
    while (member.ends_with('/')) member.pop_back();
    if (member.empty() || member == "." || std::ranges::count(kDirectories, member) != 0) return {};
  }
  if (type != AE_IFREG || !IsOurs(member)) return Refuse(member, "is not part of a backup");
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr) {
    return Refuse(member, "is a link");
  }
  if (archive_entry_sparse_count(entry) != 0) return Refuse(member, "is sparse, which no file of a backup is");
  if (!seen_.insert(member).second) return Refuse(member, "appears more than once");
  if (seen_.size() > limits_.files)
    return Refuse(member, "is more than the " + std::to_string(limits_.files) + " files allowed");
  const int64_t bytes = archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : -1;
  if (bytes < 0) return Refuse(member, "has no length");
  if (static_cast<uint64_t>(bytes) > limits_.bytes - bytes_) {
    return Refuse(member, "has " + std::to_string(bytes) + " bytes, but there is room for only " +
                              std::to_string(limits_.bytes - bytes_) + " more");
  }
  return ExtractFile(member, static_cast<uint64_t>(bytes));
}

core::Status Extractor::ExtractFile(const std::string& member, uint64_t bytes) {
  const std::string path = target_ + "/" + member;
  if (const size_t slash = member.find('/'); slash != std::string::npos) {
    if (core::Status status = disk_.CreateDirectory(target_ + "/" + member.substr(0, slash)); !status) return status;
  }
  const auto file = disk_.Create(path);
  if (!file) return tl::unexpected(file.error());
  core::Status status = CopyData(**file, member, bytes);
  if (status) status = (*file)->Sync();
  if (status) status = (*file)->Close();
  return status;
}

core::Status Extractor::CopyData(WritableFile& file, const std::string& member, uint64_t bytes) {
  for (uint64_t done = 0;;) {
    const la_ssize_t read = archive_read_data(in_, block_.data(), block_.size());
    if (read < 0)
      return FailOf(core::ErrorCode::kCorrupt, name_ + ": " + core::Quoted(member) + " cannot be read", in_);
    if (read == 0) {
      if (done == bytes) return {};
      return Refuse(member, "ends after " + std::to_string(done) + " of " + std::to_string(bytes) + " bytes");
    }
    done += static_cast<uint64_t>(read);
    bytes_ += static_cast<uint64_t>(read);
    if (done > bytes) return Refuse(member, "has more bytes than it states");
    const std::span data(block_.data(), static_cast<size_t>(read));
    if (core::Status status = file.Write(core::AsText(data)); !status) return status;
    progress_("extracting", bytes_, 0);
  }
}

core::Status Extractor::SyncDirectories() {
  for (const std::string_view directory : kDirectories) {
    const std::string path = target_ + "/" + std::string(directory);
    const auto begins = [&](const std::string& member) { return member.starts_with(std::string(directory) + "/"); };
    if (std::ranges::none_of(seen_, begins)) continue;
    if (core::Status status = disk_.SyncDirectory(path); !status) return status;
  }
  return disk_.SyncDirectory(target_);
}

}  // namespace

core::Status WriteArchive(const PinnedDirectory& source, int descriptor, Compression compression,
                          const BackupProgress& progress) {
  const Writer out(archive_write_new(), archive_write_free);
  if (out == nullptr) return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for an archive");
  bool ok = archive_write_set_format_pax_restricted(out.get()) == ARCHIVE_OK;
  if (compression == Compression::kGzip) ok = ok && archive_write_add_filter_gzip(out.get()) == ARCHIVE_OK;
  if (compression == Compression::kZstd) ok = ok && archive_write_add_filter_zstd(out.get()) == ARCHIVE_OK;
  archive_write_set_bytes_in_last_block(out.get(), 1);  // zeros after the end of a compressed stream are an error
  if (!ok || archive_write_open_fd(out.get(), descriptor) != ARCHIVE_OK) {
    return FailOf(core::ErrorCode::kIo, "the archive cannot be started", out.get());
  }
  core::Status status = AddHeader(out.get(), "filters/", 0, true);
  std::vector<std::byte> block(kBlockBytes);
  uint64_t done = 0;
  const auto on_written = [&](uint64_t bytes) { progress("copying", done += bytes, source.bytes()); };
  for (const PinnedFile& file : source.files()) {
    if (status) status = AddFile(out.get(), source, file, block, on_written);
  }
  if (!status) archive_write_fail(out.get());  // so that it gets no end
  if (!status || archive_write_close(out.get()) == ARCHIVE_OK) return status;
  return FailToWrite(out.get());
}

core::Status ExtractArchive(const ArchiveSource& source, Disk& disk, const std::string& target,
                            const ArchiveLimits& limits, const BackupProgress& progress) {
  const Reader in(archive_read_new(), archive_read_free);
  if (in == nullptr) return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for an archive");
  archive_read_support_format_tar(in.get());
  archive_read_support_filter_gzip(in.get());
  archive_read_support_filter_zstd(in.get());
  const int opened = source.descriptor >= 0
                         ? archive_read_open_fd(in.get(), source.descriptor, kBlockBytes)
                         : archive_read_open_memory(in.get(), source.bytes.data(), source.bytes.size());
  if (opened != ARCHIVE_OK) return FailOf(core::ErrorCode::kCorrupt, source.name + ": is not an archive", in.get());
  return Extractor(in.get(), source.name, disk, target, limits, progress).Run();
}

}  // namespace bitsieve::server
