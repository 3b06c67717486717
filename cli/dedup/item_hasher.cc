#include "cli/dedup/item_hasher.h"

#include <algorithm>
#include <array>

namespace bitsieve::cli {
namespace {

// The whitespace of ASCII in any locale.
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::optional<ItemHasher::BadRecord> ItemHasher::Hash(const Block& block, const Chunk& chunk,
                                                      std::span<uint32_t> counts, bool skip_bad) {
  if (counts.empty()) {
    HashWhole(block, chunk);
    return std::nullopt;
  }
  hashes_.clear();
  std::optional<BadRecord> first_bad;
  RecordParser parser = *chunk.parser;
  for (size_t i = 0; i < chunk.records; ++i) {
    const auto record = parser.Parse(WithoutEnd(block.RecordOf(chunk, i), parser.format()));
    counts[i] = 0;
    if (!record) {
      if (!first_bad) first_bad = BadRecord{i, record.error()};
      if (!skip_bad) return first_bad;
    } else if (ngram_ != 0) {
      counts[i] = AppendNgrams(record->item);
    } else {
      hashes_.push_back(core::HashItem(record->item, seed_));
      counts[i] = 1;
    }
  }
  return first_bad;
}

void ItemHasher::HashWhole(const Block& block, const Chunk& chunk) {
  constexpr size_t kBatch = 256;
  std::array<std::string_view, kBatch> items;
  const RecordFormat& format = chunk.parser->format();
  const size_t end_bytes = format.kind == RecordFormat::kBinary ? 0 : 1;
  hashes_.resize(chunk.records);
  size_t begin = chunk.begin;
  for (size_t done = 0; done < chunk.records; done += kBatch) {
    const size_t count = std::min(kBatch, chunk.records - done);
    for (size_t i = 0; i < count; ++i) {
      const size_t end = block.EndOf(chunk, done + i);
      items[i] = {block.text.get() + begin, end - begin - end_bytes};
      if (format.crlf && items[i].ends_with('\r')) items[i].remove_suffix(1);
      begin = end;
    }
    core::HashItems(core::HashKind::kXxh3, std::span(items).first(count), seed_,
                    std::span(hashes_).subspan(done, count));
  }
}

void ItemHasher::FindWords(std::string_view text) {
  words_.clear();
  places_.clear();
  for (size_t at = 0; at < text.size();) {
    if (IsSpace(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && !IsSpace(text[at])) ++at;
    if (!words_.empty()) words_ += ' ';
    places_.emplace_back(words_.size(), words_.size() + at - begin);
    words_.append(text, begin, at - begin);
  }
}

uint32_t ItemHasher::AppendNgrams(std::string_view text) {
  FindWords(text);
  items_.clear();
  const std::string_view words = words_;
  if (places_.size() < ngram_) items_.push_back(words);
  for (size_t last = ngram_ - 1; last < places_.size(); ++last) {
    const size_t begin = places_[last + 1 - ngram_].first;
    items_.push_back(words.substr(begin, places_[last].second - begin));
  }
  const size_t before = hashes_.size();
  hashes_.resize(before + items_.size());
  core::HashItems(core::HashKind::kXxh3, items_, seed_, std::span(hashes_).subspan(before));
  const auto begin = hashes_.begin() + static_cast<ptrdiff_t>(before);
  std::sort(begin, hashes_.end(), [](const core::KeyHash& a, const core::KeyHash& b) {
    return a.low != b.low ? a.low < b.low : a.high < b.high;
  });
  hashes_.erase(std::unique(begin, hashes_.end()), hashes_.end());
  return static_cast<uint32_t>(hashes_.size() - before);
}

}  // namespace bitsieve::cli
