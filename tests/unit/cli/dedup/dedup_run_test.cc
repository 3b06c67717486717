#include "cli/dedup/dedup_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/dedup/block_writer.h"
#include "cli/dedup/channel.h"
#include "cli/dedup/dedup_plan.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;

TEST(Channel, EndsWhenItIsClosedAndEmpty) {
  Channel<int> channel;
  channel.Put(1);
  channel.Put(2);
  channel.Close();
  EXPECT_EQ(channel.Take(), 1);
  EXPECT_EQ(channel.Take(), 2);
  EXPECT_EQ(channel.Take(), std::nullopt);
}

class DedupRunTest : public testing::Test {
 protected:
  DedupRunTest() { std::ofstream(request_.files[0]) << "a\nb\na\n"; }

  std::string PathOf(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string ContentOf(const std::string& name) const {
    std::ifstream in(PathOf(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Runs the request as the program does, and returns the error.
  std::string Run() {
    auto plan = DedupPlan::Make(request_);
    if (!plan) return plan.error();
    if (plan->was_complete()) return "complete";
    core::MemoryBudget budget;
    auto state = plan->MakeSeen(budget);
    if (!state) return state.error();
    LoadProgress progress(LoadProgress::Form::kNone, 0);
    DedupRun run(plan->settings(), state->seen, plan->outputs(), progress, [this] { return is_interrupted_; });
    core::Outcome<void> done;
    if (state->progress) done = run.Continue(*state->progress);
    if (done) done = run.Run();
    counts_ = run.total();
    return done ? "" : done.error();
  }

  const TemporaryDirectory directory_;
  bool is_interrupted_ = false;
  DedupCounts counts_;
  DedupRequest request_{.files = {PathOf("in")}, .format = {}, .output = PathOf("out"), .exact = true};
};

TEST_F(DedupRunTest, WritesAndCounts) {
  EXPECT_EQ(Run(), "");
  EXPECT_EQ(ContentOf("out"), "a\nb\n");
  EXPECT_EQ(counts_, (DedupCounts{3, 2, 0, 6, 4}));
}

TEST_F(DedupRunTest, ContinuesFromItsCheckpoint) {
  request_.resume = true;
  request_.state = PathOf("seen");
  is_interrupted_ = true;
  EXPECT_EQ(Run(), "");
  EXPECT_TRUE(std::filesystem::exists(PathOf("out.bitsieve-dedup")));
  EXPECT_FALSE(std::filesystem::exists(PathOf("out")));
  is_interrupted_ = false;
  EXPECT_EQ(Run(), "");
  EXPECT_EQ(ContentOf("out"), "a\nb\n");
  EXPECT_TRUE(std::filesystem::exists(PathOf("seen")));
  EXPECT_FALSE(std::filesystem::exists(PathOf("out.bitsieve-dedup")));
  // Killed before anyone knew that it had ended, it would be run again.
  EXPECT_EQ(Run(), "complete");
  EXPECT_EQ(ContentOf("out"), "a\nb\n");
  // Another run continues with what it saw.
  request_.output = PathOf("other");
  EXPECT_EQ(Run(), "");
  EXPECT_EQ(ContentOf("other"), "");
}

// A run can end at any moment: before its output has its name, or before its state has.
TEST_F(DedupRunTest, FinishesWhatWasComplete) {
  request_.resume = true;
  request_.state = PathOf("seen");
  for (const bool is_named : {false, true}) {
    std::ofstream(PathOf(is_named ? "out" : "out.new")) << "x\n";
    const auto plan = DedupPlan::Make(request_);
    ASSERT_TRUE(plan) << plan.error();
    core::MemoryBudget budget;
    const SeenSet seen = SeenSet::Make(plan->params(), budget).value();
    server::PosixDisk disk;
    const DedupProgress complete{.command = plan->settings().command,
                                 .position = {.input = 1},
                                 .output_bytes = {2},
                                 .counts = {{3, 1, 0, 6, 2}},
                                 .is_complete = true};
    ASSERT_TRUE(WriteDedupState(disk, plan->settings().checkpoint, seen, &complete));
    EXPECT_EQ(Run(), "");
    EXPECT_EQ(ContentOf("out"), "x\n");
    EXPECT_EQ(counts_.records, 3u);
    EXPECT_TRUE(std::filesystem::remove(PathOf("seen")));
    EXPECT_FALSE(std::filesystem::exists(PathOf("out.bitsieve-dedup")));
    std::filesystem::remove(PathOf("out"));
  }
}

TEST_F(DedupRunTest, ACheckpointIsNoState) {
  request_.resume = true;
  is_interrupted_ = true;
  EXPECT_EQ(Run(), "");
  request_ = {.files = request_.files,
              .format = {},
              .output = PathOf("other"),
              .exact = true,
              .state = PathOf("out.bitsieve-dedup")};
  EXPECT_THAT(Run(), HasSubstr("is of an interrupted run, not of one that has ended"));
}

TEST_F(DedupRunTest, RequestsThatCannotBe) {
  request_.output_dir = "d";
  EXPECT_THAT(request_.Problem(), HasSubstr("give one of the two"));
  request_.output = "-";
  EXPECT_EQ(request_.Problem(), "");
  request_.files = {"-"};
  EXPECT_THAT(request_.Problem(), HasSubstr("standard input has no name"));
  request_.output_dir = "";
  request_.resume = true;
  EXPECT_THAT(request_.Problem(), HasSubstr("--resume needs files"));
}

}  // namespace
}  // namespace bitsieve::cli
