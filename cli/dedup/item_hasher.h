// item_hasher.h: the items of a chunk's records, as hashes: whole records, fields, or the n-grams of a text. Confined
// to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/dedup/block.h"
#include "cli/dedup/seen_set.h"
#include "core/hash/key_hash.h"

namespace bitsieve::cli {

class ItemHasher {
 public:
  explicit ItemHasher(const SeenParams& params) : seed_(params.seed), ngram_(params.ngram) {}

  // A record that has no item, and why.
  struct BadRecord {
    size_t record;  // of the chunk
    std::string problem;
  };

  // Hashes the items of all records, which hashes() then returns in order. `counts`, if it is not empty, gets the
  // number of items of each record, 0 for a bad one; without it, each record is one item. Returns the first bad
  // record, and stops there unless `skip_bad`.
  std::optional<BadRecord> Hash(const Block& block, const Chunk& chunk, std::span<uint32_t> counts, bool skip_bad);
  std::span<const core::KeyHash> hashes() const { return hashes_; }

  // Returns whether records of this format have one item each, and no bad one can be among them.
  static bool IsPlain(const RecordFormat& format, const SeenParams& params) {
    return !format.has_fields() && params.ngram == 0;
  }

 private:
  void HashWhole(const Block& block, const Chunk& chunk);
  // Appends the hashes of a text's n-grams, each once. Returns their number.
  uint32_t AppendNgrams(std::string_view text);
  // Splits a text at whitespace into words with one space between them.
  void FindWords(std::string_view text);

  const uint64_t seed_;
  const uint32_t ngram_;
  std::vector<core::KeyHash> hashes_;
  std::string words_;                              // of the text, with a space between them
  std::vector<std::pair<size_t, size_t>> places_;  // of each word: where it begins and ends
  std::vector<std::string_view> items_;
};

}  // namespace bitsieve::cli
