#include "server/persistence/log/log_job.h"

#include <gtest/gtest.h>

#include <future>
#include <new>
#include <optional>
#include <thread>

namespace bitsieve::server {
namespace {

// Begins the job, waits until it has ended, and returns the outcome that was reported then.
core::Status RunToEnd(LogJob& job, LogJob::Work work) {
  std::promise<core::Status> ended;
  EXPECT_TRUE(job.Begin(std::move(work), [&](const core::Status& outcome) { ended.set_value(outcome); }));
  core::Status outcome = ended.get_future().get();
  EXPECT_TRUE(job.is_done());
  return outcome;
}

TEST(LogJobTest, RunsOnAThreadOfItsOwnAndLeavesItsOutcome) {
  LogJob job;
  EXPECT_FALSE(job.has_begun());
  std::promise<void> go_on;
  std::optional<std::thread::id> thread;
  ASSERT_TRUE(job.Begin(
      [&]() -> core::Status {
        go_on.get_future().wait();
        thread = std::this_thread::get_id();
        return core::Fail(core::ErrorCode::kIo, "no");
      },
      [](const core::Status&) {}));
  EXPECT_TRUE(job.has_begun());
  EXPECT_FALSE(job.is_done());
  go_on.set_value();
  const core::Status outcome = job.TakeOutcome();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "no");
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_FALSE(job.has_begun());
}

TEST(LogJobTest, MemoryThatIsRefusedIsTheOutcome) {
  LogJob job;
  const core::Status outcome = RunToEnd(job, []() -> core::Status { throw std::bad_alloc(); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::kOutOfMemory);
}

TEST(LogJobTest, AJobFollowsOneWhoseOutcomeNobodyTook) {
  LogJob job;
  EXPECT_FALSE(RunToEnd(job, []() -> core::Status { return core::Fail(core::ErrorCode::kIo, "no"); }));
  EXPECT_TRUE(RunToEnd(job, [] { return core::Status(); }));
  EXPECT_TRUE(job.TakeOutcome());
}

}  // namespace
}  // namespace bitsieve::server
