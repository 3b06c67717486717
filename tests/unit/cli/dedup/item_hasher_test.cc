#include "cli/dedup/item_hasher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/dedup/big_buffer.h"
#include "cli/dedup/block.h"

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

// A block of one chunk with these records, which end with a newline.
Block BlockOf(const std::vector<std::string>& records, const RecordFormat& format) {
  Block block{.text = BigBuffer<char>(1 << 16), .ends = BigBuffer<uint32_t>(records.size())};
  for (const std::string& record : records) {
    std::memcpy(block.text.get() + block.bytes, record.data(), record.size());
    block.bytes += record.size();
    block.text[block.bytes++] = '\n';
    block.ends[block.records++] = static_cast<uint32_t>(block.bytes);
  }
  block.chunks.push_back({.parser = std::make_shared<RecordParser>(format), .records = records.size()});
  return block;
}

std::vector<core::KeyHash> HashesOf(const std::vector<std::string>& items, uint64_t seed = 0) {
  std::vector<core::KeyHash> hashes;
  for (const std::string& item : items) hashes.push_back(core::HashItem(item, seed));
  return hashes;
}

std::vector<core::KeyHash> All(const ItemHasher& hasher) { return {hasher.hashes().begin(), hasher.hashes().end()}; }

TEST(ItemHasher, WholeRecords) {
  std::vector<std::string> records;
  for (int i = 0; i < 600; ++i) records.push_back("record " + std::to_string(i) + (i % 3 == 0 ? "\r" : ""));
  const Block block = BlockOf(records, {});
  ItemHasher hasher({.seed = 5});
  EXPECT_FALSE(hasher.Hash(block, block.chunks[0], {}, false));
  EXPECT_EQ(All(hasher), HashesOf(records, 5));

  const Block crlf = BlockOf({"a\r", "b", "\r"}, {.field = "", .crlf = true});
  EXPECT_FALSE(hasher.Hash(crlf, crlf.chunks[0], {}, false));
  EXPECT_EQ(All(hasher), HashesOf({"a", "b", ""}, 5));
}

TEST(ItemHasher, Fields) {
  const Block block = BlockOf({"a\tb", "c", "d\te"}, {.kind = RecordFormat::kTsv, .field = "2"});
  ItemHasher hasher({});
  std::vector<uint32_t> counts(3);
  auto bad = hasher.Hash(block, block.chunks[0], counts, false);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->record, 1u);
  EXPECT_EQ(bad->problem, "has 1 columns, not 2");
  bad = hasher.Hash(block, block.chunks[0], counts, true);
  EXPECT_TRUE(bad);
  EXPECT_THAT(counts, ElementsAre(1, 0, 1));
  EXPECT_EQ(All(hasher), HashesOf({"b", "e"}));
}

TEST(ItemHasher, Ngrams) {
  const Block block = BlockOf({" a  b\tc ", "a b", "", " \t", "a b a b a b"}, {});
  ItemHasher hasher({.ngram = 3});
  std::vector<uint32_t> counts(5);
  EXPECT_FALSE(hasher.Hash(block, block.chunks[0], counts, false));
  EXPECT_THAT(counts, ElementsAre(1, 1, 1, 1, 2));
  const auto hashes = All(hasher);
  EXPECT_EQ(std::vector(hashes.begin(), hashes.begin() + 4), HashesOf({"a b c", "a b", "", ""}));
  EXPECT_THAT(std::vector(hashes.begin() + 4, hashes.end()), UnorderedElementsAreArray(HashesOf({"a b a", "b a b"})));
}

}  // namespace
}  // namespace bitsieve::cli
