#include "cli/dedup/block_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kReadBytes = 512 << 10;  // more than an input gives at a time, as a rule

constexpr size_t kEndBytes = 2;

size_t TextBytes(const BlockLimits& limits) {
  return limits.text_bytes + limits.chunk_bytes + kMaxRecordBytes + kReadBytes + kEndBytes;
}

bool IsFull(const Block& block, size_t consumed, const BlockLimits& limits) {
  return consumed >= limits.text_bytes || block.records >= limits.records ||
         block.chunks.size() >= BlockLimits::kChunks;
}

}  // namespace

Block BlockReader::MakeBlock(const BlockLimits& limits) {
  return {.text = BigBuffer<char>(TextBytes(limits)), .ends = BigBuffer<uint32_t>(limits.records)};
}

uint64_t BlockReader::BytesOfBlock(const BlockLimits& limits) {
  return limits.text_bytes + limits.chunk_bytes + limits.records * sizeof(uint32_t);
}

core::Outcome<std::string> FirstRecord(const std::string& path, const InputSettings& settings) {
  auto input = Input::Open(path, settings.decompress);
  if (!input) return tl::unexpected(input.error());
  RecordEnds ends(settings.format);
  std::string text;
  size_t scanned = 0;
  while (text.size() <= kMaxRecordBytes) {
    const auto bytes = input->Read();
    if (!bytes) return tl::unexpected(bytes.error());
    text += *bytes;
    uint32_t end = 0;
    const auto found = ends.Find(text, 0, scanned, {&end, 1});
    if (found.count != 0) text.resize(end);
    if (found.count != 0 || bytes->empty()) return std::string(WithoutEnd(text, settings.format));
    scanned = found.scanned;
  }
  return tl::unexpected(path + ": the first line is longer than " + std::to_string(kMaxRecordBytes) + " bytes");
}

core::Outcome<void> BlockReader::SkipTo(const InputPosition& position) {
  for (size_t i = 0; i < position.input; ++i) {
    const auto input = Input::Open(settings_.paths[i], settings_.decompress);
    if (!input) return tl::unexpected(input.error());
    file_bytes_before_ += input->file_bytes();
  }
  const bool has_header = RecordParser(settings_.format).needs_header();
  if (has_header && (position.input != 0 || position.bytes != 0)) {
    const auto header = FirstRecord(settings_.paths[0], settings_);
    if (!header) return tl::unexpected(header.error());
    first_header_ = *header;
  }
  position_ = position;
  if (position.bytes == 0) return {};
  // Before the input is opened, since inputs of one thread share the memory that they read into.
  core::Outcome<std::string> header;
  if (has_header) header = FirstRecord(settings_.paths[position.input], settings_);
  if (!header) return tl::unexpected(header.error());
  if (auto opened = OpenInput(); !opened) return opened;
  if (has_header) {
    if (auto read = parser_->ReadHeader(*header); !read) return tl::unexpected(input_->name() + ": " + read.error());
  }
  for (uint64_t left = position.bytes; left > 0;) {
    const auto bytes = input_->Read();
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) return tl::unexpected(input_->name() + ": is shorter than when it was read before");
    rest_ = bytes->substr(std::min<uint64_t>(left, bytes->size()));
    left -= bytes->size() - rest_.size();
  }
  return {};
}

core::Outcome<void> BlockReader::Read(Block& block) {
  block.records = 0;
  block.chunks.clear();
  carried_.copy(block.text.get(), carried_.size());
  filled_ = carried_.size();
  scanned_ = consumed_ = 0;
  ends_.Reset();  // the text carried over begins with a record, and is scanned again
  while (!IsFull(block, consumed_, settings_.limits) && position_.input < settings_.paths.size()) {
    if (!input_) {
      if (auto opened = OpenInput(); !opened) return opened;
    }
    if (auto filled = FillChunk(block); !filled) return filled;
  }
  carried_.assign(block.text.get() + consumed_, filled_ - consumed_);
  block.bytes = consumed_;
  block.end = position_;
  block.is_last = position_.input == settings_.paths.size();
  block.file_bytes_read = file_bytes_before_ + (input_ ? input_->file_position() : 0);
  return {};
}

core::Outcome<void> BlockReader::OpenInput() {
  auto input = Input::Open(settings_.paths[position_.input], settings_.decompress, is_stopped_);
  if (!input) return tl::unexpected(input.error());
  input_.emplace(std::move(*input));
  parser_ = std::make_shared<RecordParser>(settings_.format);
  ends_.Reset();
  at_end_ = false;
  return {};
}

void BlockReader::EndInput() {
  file_bytes_before_ += input_->file_bytes();
  input_.reset();
  position_ = {.input = position_.input + 1};
}

core::Outcome<void> BlockReader::FillChunk(Block& block) {
  Chunk chunk{.input = position_.input,
              .parser = parser_,
              .is_header = parser_->needs_header(),
              .records_before = position_.records,
              .begin = consumed_,
              .first = block.records};
  while (!Scan(block, chunk)) {
    if (scanned_ < filled_) continue;
    if (filled_ - RecordBegin(block, chunk) > kMaxRecordBytes) {
      return tl::unexpected(Located(position_.records + chunk.records + 1,
                                    "is longer than " + std::to_string(kMaxRecordBytes) + " bytes"));
    }
    if (!at_end_) {
      if (auto read = ReadMore(block); !read) return read;
      continue;
    }
    if (auto ended = EndLastRecord(block, chunk); !ended) return ended;
    break;
  }
  if (chunk.is_header) {
    if (auto taken = TakeHeader(block, chunk); !taken) return taken;
  }
  CloseChunk(block, chunk);
  return {};
}

bool BlockReader::Scan(Block& block, Chunk& chunk) {
  const size_t boundary = chunk.begin + settings_.limits.chunk_bytes;
  const size_t most =
      std::min(chunk.is_header ? 1 : settings_.limits.chunk_records, settings_.limits.records - block.records);
  // Beyond the boundary there is only a record that is longer than a chunk.
  const bool is_long = chunk.records == 0 && scanned_ >= boundary;
  const std::string_view text(block.text.get(), is_long ? filled_ : std::min(filled_, boundary));
  if (scanned_ < text.size()) {
    const size_t room = is_long ? 1 : most - chunk.records;
    const auto found =
        ends_.Find(text, RecordBegin(block, chunk), scanned_, {block.ends.get() + chunk.first + chunk.records, room});
    chunk.records += found.count;
    scanned_ = found.scanned;
  }
  return chunk.records == most || (chunk.records != 0 && scanned_ >= boundary);
}

size_t BlockReader::RecordBegin(const Block& block, const Chunk& chunk) const {
  return block.BeginOf(chunk, chunk.records);
}

core::Outcome<void> BlockReader::ReadMore(Block& block) {
  if (rest_.empty()) {
    const auto bytes = input_->Read();
    if (!bytes) return tl::unexpected(bytes.error());
    rest_ = *bytes;
    at_end_ = rest_.empty();
  }
  const std::string_view now = rest_.substr(0, kReadBytes);
  now.copy(block.text.get() + filled_, now.size());  // nothing at the end
  filled_ += now.size();
  rest_.remove_prefix(now.size());
  return {};
}

core::Outcome<void> BlockReader::EndLastRecord(Block& block, Chunk& chunk) {
  const size_t begin = RecordBegin(block, chunk);
  if (begin == filled_) return {};
  if (settings_.format.kind == RecordFormat::kBinary) {
    return tl::unexpected(Located(position_.records + chunk.records + 1,
                                  "has " + std::to_string(filled_ - begin) + " bytes, not " +
                                      std::to_string(settings_.format.record_bytes) + ": the input ends"));
  }
  if (settings_.format.crlf && block.text[filled_ - 1] != '\r') block.text[filled_++] = '\r';
  block.text[filled_++] = settings_.format.end();
  block.ends[chunk.first + chunk.records++] = static_cast<uint32_t>(filled_);
  return {};
}

core::Outcome<void> BlockReader::TakeHeader(const Block& block, Chunk& chunk) {
  const std::string_view row =
      chunk.records == 0 ? std::string_view() : WithoutEnd(block.RecordOf(chunk, 0), settings_.format);
  if (auto read = parser_->ReadHeader(row); !read) return tl::unexpected(input_->name() + ": " + read.error());
  if (position_.input == 0) first_header_ = row;
  if (!settings_.joins_headers || position_.input == 0) return {};
  chunk.is_written = false;
  if (row == first_header_) return {};
  return tl::unexpected(input_->name() + ": the first line is not that of " + settings_.paths[0] +
                        ", so the two cannot be one table: it is " + core::Quoted(row.substr(0, 200)) +
                        "; --output-dir writes one output per input");
}

void BlockReader::CloseChunk(Block& block, Chunk& chunk) {
  const size_t end = RecordBegin(block, chunk);
  position_.bytes += end - chunk.begin;
  position_.records += chunk.records;
  consumed_ = end;
  scanned_ = std::max(scanned_, consumed_);
  block.records += chunk.records;
  if (chunk.records != 0) block.chunks.push_back(chunk);
  if (at_end_ && rest_.empty() && consumed_ == filled_) EndInput();
}

std::string BlockReader::Located(uint64_t record, const std::string& problem) const {
  return input_->name() + ": " + parser_->Located(record, problem);
}

}  // namespace bitsieve::cli
