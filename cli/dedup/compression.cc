#include "cli/dedup/compression.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

namespace bitsieve::cli {
namespace {

struct ArchiveCloser {
  void operator()(archive* output) const { archive_write_free(output); }
};
struct EntryCloser {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

la_ssize_t AppendTo(archive*, void* text, const void* bytes, size_t count) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

// Without the time, by which the output would differ from run to run, and without padding.
bool PrepareWriting(archive* output, Compression compression) {
  const int added =
      compression == Compression::kGzip ? archive_write_add_filter_gzip(output) : archive_write_add_filter_zstd(output);
  if (archive_write_set_format_raw(output) != ARCHIVE_OK || added != ARCHIVE_OK) return false;
  if (compression == Compression::kGzip &&
      archive_write_set_filter_option(output, "gzip", "timestamp", nullptr) != ARCHIVE_OK) {
    return false;
  }
  return archive_write_set_bytes_in_last_block(output, 1) == ARCHIVE_OK;
}

}  // namespace

Compression CompressionOf(std::string_view path) {
  if (path.ends_with(".gz")) return Compression::kGzip;
  return path.ends_with(".zst") || path.ends_with(".zstd") ? Compression::kZstd : Compression::kNone;
}

core::Outcome<std::string> Compressed(std::string_view text, Compression compression) {
  if (compression == Compression::kNone) return std::string(text);
  std::string compressed;
  const std::unique_ptr<archive, ArchiveCloser> output(archive_write_new());
  const std::unique_ptr<archive_entry, EntryCloser> entry(archive_entry_new());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  const bool done =
      PrepareWriting(output.get(), compression) &&
      archive_write_open(output.get(), &compressed, nullptr, AppendTo, nullptr) == ARCHIVE_OK &&
      archive_write_header(output.get(), entry.get()) == ARCHIVE_OK &&
      archive_write_data(output.get(), text.data(), text.size()) == static_cast<la_ssize_t>(text.size()) &&
      archive_write_close(output.get()) == ARCHIVE_OK;
  if (done) return compressed;
  const char* const problem = archive_error_string(output.get());
  return tl::unexpected(std::string("cannot be compressed: ") + (problem == nullptr ? "libarchive failed" : problem));
}

}  // namespace bitsieve::cli
