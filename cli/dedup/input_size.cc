#include "cli/dedup/input_size.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

#include "cli/bulk/record_reader.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kSampledInputs = 16;
constexpr uint64_t kSampledBytes = 1 << 20;  // of each, on disk
constexpr double kMargin = 1.1;              // for files whose first records are longer than the rest

struct Sample {
  double items = 0;
  double file_bytes = 0;  // in which these items lie, on disk
};

uint64_t WordsIn(std::string_view text) {
  uint64_t words = 0;
  bool in_word = false;
  for (const char c : text) {
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    words += !is_space && !in_word;
    in_word = !is_space;
  }
  return words;
}

// An n-gram begins at each word, except for the last ones.
uint64_t ItemsOf(std::string_view item, uint32_t ngram) {
  return ngram == 0 ? 1 : std::max<uint64_t>(WordsIn(item), ngram) - ngram + 1;
}

// Reads an input, and knows how many bytes of the file the decompressed ones came from.
class SampledInput {
 public:
  explicit SampledInput(Input input) : input_(std::move(input)) {}

  core::Outcome<std::string_view> Read() {
    auto bytes = input_.Read();
    if (!bytes) return bytes;
    // The file is read in blocks, and some bytes ahead: what lies between the begins of two blocks counts.
    if (const uint64_t position = input_.file_position(); position != file_bytes_) {
      file_bytes_ = position;
      bytes_ = bytes_read_;
      if (first_file_bytes_ == 0) {
        first_file_bytes_ = file_bytes_;
        first_bytes_ = bytes_;
      }
    }
    bytes_read_ += bytes->size();
    return bytes;
  }
  uint64_t file_bytes_done() const { return file_bytes_ - first_file_bytes_; }
  // Returns the bytes of the file per decompressed byte. At least one byte was done.
  double Ratio() const { return static_cast<double>(file_bytes_done()) / static_cast<double>(bytes_ - first_bytes_); }
  const Input& input() const { return input_; }

 private:
  Input input_;
  uint64_t bytes_read_ = 0;
  // At the begins of the first block and of the last one.
  uint64_t first_file_bytes_ = 0;
  uint64_t first_bytes_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t bytes_ = 0;
};

core::Outcome<Sample> SampleOf(const std::string& path, const InputSettings& settings, uint32_t ngram) {
  auto opened = Input::Open(path, settings.decompress);
  if (!opened) return tl::unexpected(opened.error());
  SampledInput input(std::move(*opened));
  RecordReader reader([&input] { return input.Read(); }, settings.format);
  Sample sample;
  while (input.file_bytes_done() < kSampledBytes) {
    const auto record = reader.Next();
    if (!record && !reader.is_bad_record()) return tl::unexpected(input.input().name() + ": " + record.error());
    if (record && !*record) {
      sample.file_bytes = static_cast<double>(input.input().file_bytes());
      return sample;
    }
    if (record) sample.items += static_cast<double>(ItemsOf((*record)->item, ngram));
  }
  sample.file_bytes = static_cast<double>(reader.position()) * input.Ratio();
  return sample;
}

}  // namespace

core::Outcome<std::optional<uint64_t>> EstimateItems(const InputSettings& settings, uint32_t ngram) {
  double file_bytes = 0;
  for (const std::string& path : settings.paths) {
    std::error_code error;
    if (path == "-" || !std::filesystem::is_regular_file(path, error)) return std::nullopt;
    file_bytes += static_cast<double>(std::filesystem::file_size(path, error));
  }
  Sample all;
  const size_t step = (settings.paths.size() + kSampledInputs - 1) / kSampledInputs;
  for (size_t i = 0; i < settings.paths.size(); i += step) {
    const auto sample = SampleOf(settings.paths[i], settings, ngram);
    if (!sample) return tl::unexpected(sample.error());
    all.items += sample->items;
    all.file_bytes += sample->file_bytes;
  }
  if (all.file_bytes <= 0) return 1;
  return std::max<uint64_t>(static_cast<uint64_t>(std::ceil(kMargin * all.items * file_bytes / all.file_bytes)), 1);
}

}  // namespace bitsieve::cli
