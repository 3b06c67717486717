#include "clients/cpp/filter_copy.h"

#include <algorithm>
#include <utility>

#include "clients/cpp/mapped_file.h"
#include "clients/cpp/whole_file.h"
#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/filter/change_runs.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::clients {

namespace {

constexpr std::string_view kMagic = "BSFO";
constexpr uint16_t kVersion = 1;
constexpr size_t kChunkBytes = 1 << 20;  // read while they are in the processor's cache

std::string HeadOf(std::string_view key, const FilterCopy& copy, int64_t saved_ms) {
  std::string head;
  core::ByteWriter out(head);
  out.PutBytes(kMagic);
  out.Put(kVersion);
  out.Put(uint16_t{0});
  out.Put(saved_ms);
  out.PutString(copy.position);
  out.PutString(key);
  out.Put(core::Checksum(head));
  return head;
}

tl::unexpected<core::Error> CorruptFile(const std::string& path, std::string_view problem) {
  return core::Fail(core::ErrorCode::kCorrupt, path + ": " + std::string(problem));
}

}  // namespace

core::Status FilterCopy::Apply(std::string_view runs) {
  while (!runs.empty()) {
    const core::Result<core::ChangeRun> run = core::TakeChangeRun(runs);
    if (!run) return tl::unexpected(run.error());
    if (core::Status status = core::ApplyChangeRun(*filter, clock, *run); !status) return status;
  }
  return {};
}

core::Status ArrivingCopy::Append(std::string_view chunk) {
  if (decoder_ == nullptr) {
    core::Result<core::OpenedDump> opened = core::OpenFilterDump(chunk, copy_->budget, copy_->clock);
    if (!opened) return tl::unexpected(std::move(opened).error());
    decoder_ = std::move(opened->decoder);
    chunk.remove_prefix(opened->head_bytes);
  }
  for (; !chunk.empty(); chunk.remove_prefix(std::min(kChunkBytes, chunk.size()))) {
    core::Status status = decoder_->Append(core::AsBytes(chunk.substr(0, kChunkBytes)));
    if (!status) return status;
  }
  return {};
}

core::Result<std::unique_ptr<FilterCopy>> ArrivingCopy::Finish(std::string position) {
  if (decoder_ == nullptr) return core::Fail(core::ErrorCode::kCorrupt, "the dump is empty");
  core::Result<std::unique_ptr<core::Filter>> filter = decoder_->Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  copy_->filter = std::move(*filter);
  copy_->position = std::move(position);
  return std::move(copy_);
}

core::Status SaveCopy(const std::string& path, std::string_view key, const FilterCopy& copy, int64_t saved_ms) {
  core::Result<WholeFile> file = WholeFile::Create(path);
  if (!file) return tl::unexpected(file.error());
  if (core::Status status = file->Write(HeadOf(key, copy, saved_ms)); !status) return status;
  core::DumpStream stream(copy.filter->Capture());
  std::string chunk;
  while (!stream.AtEnd()) {
    chunk.clear();
    if (core::Status status = stream.Read(kChunkBytes, chunk); !status) return status;
    if (core::Status status = file->Write(chunk); !status) return status;
  }
  return file->Finish();
}

core::Result<SavedCopy> LoadCopy(const std::string& path, std::string_view key, uint64_t limit_bytes) {
  core::Result<MappedFile> file = MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  file->ExpectWholeReads();
  const std::string_view bytes = core::AsText(file->bytes());
  core::ByteReader in(bytes);
  const bool is_known = in.GetBytes(kMagic.size()) == kMagic && in.Get<uint16_t>() == kVersion;
  in.Get<uint16_t>();
  const auto saved_ms = in.Get<int64_t>();
  const std::string_view position = in.GetString();
  const std::string_view saved_key = in.GetString();
  const size_t head_bytes = bytes.size() - in.remaining();
  const auto checksum = in.Get<uint64_t>();
  if (!in.ok() || !is_known || checksum != core::Checksum(bytes.substr(0, head_bytes))) {
    return CorruptFile(path, "not a copy of a filter, or damaged");
  }
  if (saved_key != key) return CorruptFile(path, "a copy of another filter");
  ArrivingCopy arriving(limit_bytes);
  core::Status status = arriving.Append(bytes.substr(head_bytes + sizeof checksum));
  if (!status) return CorruptFile(path, status.error().message);
  auto copy = arriving.Finish(std::string(position));
  if (!copy) return CorruptFile(path, copy.error().message);
  return SavedCopy{std::move(*copy), saved_ms};
}

}  // namespace bitsieve::clients
