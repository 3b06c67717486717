#include "cli/dedup/outputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace bitsieve::cli {
namespace {

// The error: an output is one of the inputs.
core::Outcome<void> CheckOutput(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  if (output == "-" || !std::filesystem::exists(output, error)) return {};
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(input, output, error) && std::filesystem::is_regular_file(output, error)) {
      return tl::unexpected(output + ": is an input, which is never overwritten; write to another name");
    }
  }
  return {};
}

}  // namespace

Outputs::Outputs(std::vector<OutputFile> files, bool is_one, bool compress)
    : files_(std::move(files)), is_one_(is_one) {
  for (const OutputFile& file : files_) {
    compressions_.push_back(compress ? cli::CompressionOf(file.path()) : Compression::kNone);
  }
}

core::Outcome<Outputs> Outputs::OfAll(const std::vector<std::string>& inputs, const std::string& path, bool compress) {
  if (auto checked = CheckOutput(path, inputs); !checked) return tl::unexpected(checked.error());
  std::vector<OutputFile> files;
  files.emplace_back(path);
  return Outputs(std::move(files), true, compress);
}

core::Outcome<Outputs> Outputs::OfEach(const std::vector<std::string>& inputs, const std::string& directory,
                                       bool compress) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!std::filesystem::is_directory(directory)) {
    return tl::unexpected(directory + ": is no directory, and cannot be made one");
  }
  std::map<std::string, std::string> input_of;
  std::vector<OutputFile> files;
  for (const std::string& input : inputs) {
    const std::string path = (std::filesystem::path(directory) / std::filesystem::path(input).filename()).string();
    const auto [other, is_new] = input_of.emplace(path, input);
    if (!is_new) {
      return tl::unexpected(path + " would be the output of both " + other->second + " and " + input +
                            "; their names must differ");
    }
    if (auto checked = CheckOutput(path, inputs); !checked) return tl::unexpected(checked.error());
    files.emplace_back(path);
  }
  return Outputs(std::move(files), false, compress);
}

bool Outputs::are_files() const { return std::ranges::all_of(files_, &OutputFile::is_regular); }

core::Outcome<void> Outputs::Begin() { return files_[0].Open(); }

core::Outcome<void> Outputs::Continue(const std::vector<uint64_t>& bytes) {
  for (size_t i = 0; i < std::min(bytes.size(), files_.size()); ++i) {
    open_ = i;
    if (i != 0) files_[i - 1].Close();
    if (auto opened = files_[i].Open(bytes[i]); !opened) return opened;
  }
  return {};
}

void Outputs::Expect(const std::vector<uint64_t>& bytes) {
  for (size_t i = 0; i < std::min(bytes.size(), files_.size()); ++i) files_[i].Expect(bytes[i]);
}

std::vector<uint64_t> Outputs::bytes() const {
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i <= open_; ++i) bytes.push_back(files_[i].bytes());
  return bytes;
}

// A compressed file of no bytes would not be one.
core::Outcome<void> Outputs::Complete() {
  OutputFile& file = files_[open_];
  if (file.bytes() == 0 && compressions_[open_] != Compression::kNone) {
    const auto empty = Compressed("", compressions_[open_]);
    if (!empty) return tl::unexpected(file.path() + ": " + empty.error());
    if (auto written = file.Write(*empty); !written) return written;
  }
  file.Close();
  return {};
}

core::Outcome<void> Outputs::AdvanceTo(size_t output) {
  while (open_ < output) {
    if (auto completed = Complete(); !completed) return completed;
    ++open_;
    if (auto opened = files_[open_].Open(); !opened) return opened;
  }
  return {};
}

core::Outcome<void> Outputs::Write(const Block& block) {
  for (const Chunk& chunk : block.chunks) {
    const size_t output = is_one_ ? 0 : chunk.input;
    if (auto advanced = AdvanceTo(output); !advanced) return advanced;
    const std::string_view text = chunk.compressed.empty() ? block.KeptText(chunk) : chunk.compressed;
    if (auto written = files_[output].Write(text); !written) return written;
  }
  return {};
}

core::Outcome<void> Outputs::End() {
  if (auto advanced = AdvanceTo(files_.size() - 1); !advanced) return advanced;
  return Complete();
}

core::Outcome<void> Outputs::Sync() {
  for (OutputFile& file : files_) {
    if (auto synced = file.Sync(); !synced) return synced;
  }
  return {};
}

core::Outcome<void> Outputs::Finish() {
  for (OutputFile& file : files_) {
    if (auto finished = file.Finish(); !finished) return finished;
  }
  return {};
}

void Outputs::Discard() {
  for (OutputFile& file : files_) file.Discard();
}

}  // namespace bitsieve::cli
