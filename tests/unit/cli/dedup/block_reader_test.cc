#include "cli/dedup/block_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cli/dedup/input_size.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;

class BlockReaderTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // Returns all records, with "/" where an input ends; begins a new reader at the end of each `resume_after`-th block.
  std::vector<std::string> RecordsOf(const InputSettings& settings, size_t resume_after = SIZE_MAX) {
    std::vector<std::string> records;
    auto reader = std::make_unique<BlockReader>(settings, [] { return false; });
    Block block = BlockReader::MakeBlock(settings.limits);
    size_t input = 0;
    for (size_t blocks = 1; !block.is_last; ++blocks) {
      const auto read = reader->Read(block);
      if (!read) return {read.error()};
      EXPECT_LE(block.records, settings.limits.records);
      for (const Chunk& chunk : block.chunks) {
        EXPECT_LE(chunk.records, settings.limits.chunk_records);
        for (; input < chunk.input; ++input) records.emplace_back("/");
        for (size_t i = 0; i < chunk.records; ++i) records.emplace_back(block.RecordOf(chunk, i));
      }
      if (blocks % resume_after != 0 || block.is_last) continue;
      const InputPosition end = block.end;
      reader = std::make_unique<BlockReader>(settings, [] { return false; });
      EXPECT_TRUE(reader->SkipTo(end));
    }
    return records;
  }

  TemporaryDirectory directory_;
};

constexpr BlockLimits kSmall{.text_bytes = 100, .records = 9, .chunk_bytes = 40, .chunk_records = 4};

TEST_F(BlockReaderTest, BlocksTogetherAreTheInput) {
  std::string text;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 300; ++i) {
    expected.push_back(std::string(i * 7 % 61, 'x') + "\n");
    text += expected.back();
  }
  const InputSettings settings{
      .paths = {Write("a", text), Write("none", ""), Write("b", "y")}, .format = {}, .limits = kSmall};
  expected.insert(expected.end(), {"/", "/", "y\n"});
  EXPECT_EQ(RecordsOf(settings), expected);
  for (const size_t resume_after : {1, 2, 3}) EXPECT_EQ(RecordsOf(settings, resume_after), expected);
}

TEST_F(BlockReaderTest, RowsAreWhole) {
  const std::vector<std::string> rows{"n,a\n", "1,\"x\ny\"\n", "2,\"" + std::string(200, '\n') + "\"\n", "3,z\n"};
  std::string text;
  for (const std::string& row : rows) text += row;
  const InputSettings settings{.paths = {Write("a.csv", text)},
                               .format = {.kind = RecordFormat::kCsv, .field = "a"},
                               .joins_headers = true,
                               .limits = kSmall};
  EXPECT_EQ(RecordsOf(settings), rows);
  EXPECT_EQ(RecordsOf(settings, 1), rows);
}

TEST_F(BlockReaderTest, FirstLinesOfOneOutputAreOne) {
  const InputSettings settings{.paths = {Write("a.tsv", "n\ta\n1\tx\n"), Write("b.tsv", "n\tb\n1\tx\n")},
                               .format = {.kind = RecordFormat::kTsv, .field = "n"},
                               .joins_headers = true,
                               .limits = kSmall};
  EXPECT_THAT(RecordsOf(settings)[0], HasSubstr("b.tsv: the first line is not that of"));
}

TEST_F(BlockReaderTest, AFileThatBecameShorterIsFound) {
  const InputSettings settings{.paths = {Write("a", "1\n2\n")}, .format = {}, .limits = kSmall};
  BlockReader reader(settings, [] { return false; });
  const auto skipped = reader.SkipTo({.input = 0, .bytes = 5, .records = 2});
  ASSERT_FALSE(skipped);
  EXPECT_THAT(skipped.error(), HasSubstr("a: is shorter than when it was read before"));
}

TEST_F(BlockReaderTest, ItemsAreEstimatedFromTheSize) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += "ten words " + std::to_string(1'000'000 + i) + "\n";
  const InputSettings settings{.paths = {Write("a", text), Write("b", text)}, .format = {}};
  EXPECT_NEAR(static_cast<double>(EstimateItems(settings, 0).value().value()), 880'000, 20'000);
  EXPECT_NEAR(static_cast<double>(EstimateItems(settings, 2).value().value()), 1'760'000, 40'000);
  EXPECT_EQ(EstimateItems({.paths = {"-"}, .format = {}}, 0).value(), std::nullopt);
  EXPECT_EQ(EstimateItems({.paths = {Write("none", "")}, .format = {}}, 0).value(), 1u);
}

}  // namespace
}  // namespace bitsieve::cli
