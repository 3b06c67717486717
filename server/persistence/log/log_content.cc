#include "server/persistence/log/log_content.h"

#include <span>
#include <string>
#include <utility>
#include <variant>

#include "core/base/bytes.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/disk/filter_file.h"

namespace bitsieve::server {

core::Result<log::Record> ContentWriter::Write(core::FilterImage& image) {
  const uint64_t body_bytes = image.body_bytes();
  const bool large = body_bytes > kMaxInlineBytes || image.header().size() > kMaxInlineBytes - body_bytes;
  return large ? WriteFile(image) : WriteInline(image);
}

core::Result<log::Record> ContentWriter::WriteInline(core::FilterImage& image) {
  log::Content content{.id = 0, .sequence = image.sequence(), .header = image.header(), .body = {}};
  content.body.resize(image.body_bytes());
  if (core::Status status = image.Read(0, std::as_writable_bytes(std::span(content.body))); !status) {
    return tl::unexpected(std::move(status.error()));
  }
  return content;
}

core::Result<log::Record> ContentWriter::WriteFile(core::FilterImage& image) {
  const uint64_t file_id = file_ids_.Take();
  const std::string path = directory_.FilterPath(file_id);
  ChunkBuffer buffer;
  core::Result<FileSeal> seal = WriteFilterFile(directory_.disk(), path, "", image, kDefaultChunkBytes, buffer);
  core::Status status =
      seal ? directory_.disk().SyncDirectory(directory_.filters_path()) : tl::unexpected(std::move(seal.error()));
  if (status) return log::Image{.id = 0, .sequence = image.sequence(), .file_id = file_id, .seal = *seal};
  (void)directory_.disk().Remove(path);  // to make room; recovery removes what this leaves
  return tl::unexpected(std::move(status.error()));
}

void ContentWriter::Discard(const log::Record& record) {
  const auto* image = std::get_if<log::Image>(&record);
  if (image != nullptr) (void)directory_.disk().Remove(directory_.FilterPath(image->file_id));
}

core::Result<std::unique_ptr<core::Filter>> ReadContent(const log::Content& content, core::MemoryBudget& budget,
                                                        const core::Clock& clock) {
  return core::DecodeFilter(content.header, core::AsBytes(content.body), budget, clock);
}

}  // namespace bitsieve::server
