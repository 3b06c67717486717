#include "cli/dedup/input_size.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "cli/bulk/record_reader.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kSampledInputs = 64;
constexpr uint64_t kSampledBytes = 1 << 20;  // of each, decompressed
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

// An n-gram begins at each word, but for the last ones.
uint64_t ItemsOf(std::string_view item, uint32_t ngram) {
  return ngram == 0 ? 1 : std::max<uint64_t>(WordsIn(item), ngram) - ngram + 1;
}

core::Outcome<Sample> SampleOf(const std::string& path, const InputSettings& settings, uint32_t ngram) {
  auto input = Input::Open(path, settings.decompress);
  if (!input) return tl::unexpected(input.error());
  uint64_t read_bytes = 0;
  RecordReader reader(
      [&]() -> core::Outcome<std::string_view> {
        auto bytes = input->Read();
        if (bytes) read_bytes += bytes->size();
        return bytes;
      },
      settings.format);
  Sample sample;
  while (reader.position() < kSampledBytes) {
    const auto record = reader.Next();
    if (!record && !reader.is_bad_record()) return tl::unexpected(input->name() + ": " + record.error());
    if (record && !*record) {
      sample.file_bytes = static_cast<double>(input->file_bytes());
      return sample;
    }
    if (record) sample.items += static_cast<double>(ItemsOf((*record)->item, ngram));
  }
  const double compression = static_cast<double>(input->file_position()) / static_cast<double>(read_bytes);
  sample.file_bytes = static_cast<double>(reader.position()) * compression;
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
