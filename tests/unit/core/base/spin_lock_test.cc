#include "core/base/spin_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace bitsieve::core {
namespace {

TEST(SpinLock, TellsWhoeverHeldItThatOthersWait) {
  SpinLock lock;
  EXPECT_FALSE(lock.TakeWaiting());
  lock.lock();
  std::thread other([&lock] { const std::lock_guard guard(lock); });
  while (!lock.TakeWaiting()) std::this_thread::yield();
  lock.unlock();
  other.join();
  lock.TakeWaiting();  // it may have waited after that, too
  EXPECT_FALSE(lock.TakeWaiting());
}

TEST(SpinLock, AThreadThatGivesWayLetsOthersIn) {
  SpinLock lock;
  std::atomic<bool> stop{false};
  uint64_t turns = 0;  // protected by lock
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      const std::lock_guard guard(lock);
      ++turns;
    }
    stop = true;
  });
  while (!stop) {
    lock.GiveWay();
    const std::lock_guard guard(lock);
  }
  other.join();
  EXPECT_EQ(turns, 1000U);
}

}  // namespace
}  // namespace bitsieve::core
