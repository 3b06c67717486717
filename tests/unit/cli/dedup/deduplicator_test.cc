#include "cli/dedup/deduplicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "cli/dedup/block_reader.h"
#include "cli/dedup/chunk_items.h"
#include "cli/dedup/worker_team.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

TEST(WorkerTeam, DoesEachTaskOnce) {
  for (const size_t workers : {1, 2, 7}) {
    WorkerTeam team(workers);
    EXPECT_EQ(team.size(), workers);
    for (const size_t tasks : {0, 1, 5, 1000}) {
      std::vector<int> done(tasks);
      team.Run(tasks, [&](size_t task, size_t worker) {
        ++done[task];
        EXPECT_LT(worker, workers);
      });
      EXPECT_EQ(std::accumulate(done.begin(), done.end(), size_t{0}), tasks);
      EXPECT_THAT(done, testing::Each(1));
    }
  }
}

class DeduplicatorTest : public testing::Test {
 protected:
  // Returns what is left of these lines, in blocks and chunks of few records.
  std::string KeptOf(const std::string& text, size_t threads, const SeenParams& params, double threshold) {
    const std::string path = directory_.path() + "/input";
    std::ofstream(path, std::ios::binary) << text;
    const BlockLimits limits{.text_bytes = 400, .records = 20, .chunk_bytes = 100, .chunk_records = 6};
    const InputSettings input{.paths = {path}, .format = {}, .limits = limits};
    core::MemoryBudget budget;
    SeenSet seen = SeenSet::Make(params, budget).value();
    WorkerTeam team(threads);
    Deduplicator deduplicator({.names = {path}, .format = {}, .limits = limits, .threshold = threshold}, seen, team);
    BlockReader reader(input, [] { return false; });
    Block block = BlockReader::MakeBlock(limits);
    std::string kept;
    while (!block.is_last) {
      EXPECT_TRUE(reader.Read(block));
      EXPECT_TRUE(deduplicator.Run(block));
      for (const Chunk& chunk : block.chunks) kept += block.KeptText(chunk);
    }
    return kept;
  }

  TemporaryDirectory directory_;
};

TEST_F(DeduplicatorTest, KeepsFirstOccurrences) {
  std::string text, expected;
  std::vector<bool> seen(100);
  for (unsigned i = 0; i < 1000; ++i) {
    const unsigned number = i * i % 100;
    const std::string line = std::to_string(number) + "\n";
    text += line;
    if (!seen[number]) expected += line;
    seen[number] = true;
  }
  for (const size_t threads : {1, 2, 5}) {
    for (const bool exact : {false, true}) {
      EXPECT_EQ(KeptOf(text, threads, {.exact = exact, .error_rate = 1e-6, .items = 100}, 1), expected);
    }
  }
}

TEST_F(DeduplicatorTest, DropsTextsOfKnownNgrams) {
  const std::string text =
      "a b c d e f\n"  // 5 pairs
      "a b c d x y\n"  // 3 of 5 were seen
      "a b c d x z\n"  // 4 of 5, by the one before
      "q\nq\n"         // shorter than a pair: as a whole
      "r s r s r s\n"  // 2 different pairs, none of which was seen before the text
      "s r\n";
  EXPECT_EQ(KeptOf(text, 2, {.exact = true, .items = 100, .ngram = 2}, 0.8),
            "a b c d e f\na b c d x y\nq\nr s r s r s\n");
}

}  // namespace
}  // namespace bitsieve::cli
