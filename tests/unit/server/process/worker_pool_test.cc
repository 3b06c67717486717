#include "server/process/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace bitsieve::server {

using namespace commands;

namespace {

TEST(WorkerPoolTest, RunsAllWorkInTheOrderOfItsWeight) {
  WorkerPool pool(2);  // one of them at most takes kLarge work, and so runs it in order
  std::vector<int> ran;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) pool.Run(Weight::kLarge, [&ran, i] { ran.push_back(i); });
  pool.Run(Weight::kLarge, [&done] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(ran.size(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<size_t>(i)], i);
}

TEST(WorkerPoolTest, LargeWorkLeavesAThreadToTheOther) {
  WorkerPool pool(3);
  std::promise<void> released;
  const std::shared_future<void> release = released.get_future().share();
  std::latch ended(4);
  for (int i = 0; i < 4; ++i) {
    pool.Run(Weight::kLarge, [&ended, release] {
      release.wait();
      ended.count_down();
    });
  }
  std::promise<void> many;
  pool.Run(Weight::kMany, [&many] { many.set_value(); });
  many.get_future().wait();  // for ever, if the large work had taken every thread
  released.set_value();
  ended.wait();
}

TEST(WorkerPoolTest, StopWaitsForWhatRunsAndDropsWhatWaits) {
  std::atomic<bool> begun{false}, ended{false}, ran_later{false};
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  std::promise<void> released;
  WorkerPool pool(2);
  pool.Run(Weight::kLarge, [&, release = released.get_future().share()] {
    begun = true;
    begun.notify_all();
    release.wait();
    ended = true;
  });
  begun.wait(false);
  pool.Run(Weight::kLarge, [&ran_later, held = std::move(held)] { ran_later = true; });
  std::thread stopper([&pool] { pool.Stop(); });
  while (!watched.expired()) std::this_thread::yield();  // until Stop has dropped what waits
  released.set_value();
  stopper.join();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(ran_later);
  pool.Run(Weight::kMany, [&ran_later] { ran_later = true; });
  pool.Stop();
  EXPECT_FALSE(ran_later);
}

}  // namespace
}  // namespace bitsieve::server
