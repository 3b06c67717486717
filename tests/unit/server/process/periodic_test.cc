#include "server/process/periodic.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <optional>

namespace bitsieve::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class PeriodicTest : public testing::Test {
 protected:
  // Runs the context until `work` has run so many times in all.
  void RunUntil(int times) {
    while (ran_ < times) context_.run_one();
  }

  asio::io_context context_;
  int ran_ = 0;
};

TEST_F(PeriodicTest, WorksAgainAndAgainOnTheThreadOfTheContext) {
  Periodic periodic(context_, milliseconds(1), [this] { ++ran_; });
  periodic.Start();
  EXPECT_EQ(ran_, 0) << "nothing runs before the context does";
  RunUntil(5);
}

TEST_F(PeriodicTest, AnIntervalPassesBeforeEachTime) {
  const auto begin = steady_clock::now();
  Periodic periodic(context_, milliseconds(20), [this] { ++ran_; });
  periodic.Start();
  RunUntil(1);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(20));
  RunUntil(2);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(40));
}

TEST_F(PeriodicTest, WorkThatRunsOutOfMemoryIsDoneAgain) {
  Periodic periodic(context_, milliseconds(1), [this] {
    if (++ran_ < 3) throw std::bad_alloc();
  });
  periodic.Start();
  EXPECT_NO_THROW(RunUntil(4));
}

TEST_F(PeriodicTest, NothingRunsAfterItsEnd) {
  std::optional<Periodic> periodic(std::in_place, context_, milliseconds(1), [this] { ++ran_; });
  periodic->Start();
  RunUntil(1);
  periodic.reset();
  context_.run();  // returns: nothing is left to wait for
  EXPECT_EQ(ran_, 1);
}

}  // namespace
}  // namespace bitsieve::server
