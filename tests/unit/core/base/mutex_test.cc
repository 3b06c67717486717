#include "core/base/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace bitsieve::core {
namespace {

TEST(Mutex, OneThreadAtATimeHoldsIt) {
  Mutex mutex;
  int inside = 0;
  int most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5'000; ++j) {
        const LockGuard lock(mutex);
        most = std::max(most, ++inside);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(Mutex, AnUnlockGuardLetsOthersInForAsLongAsItLives) {
  Mutex mutex;
  bool other_was_in = false;
  const LockGuard lock(mutex);
  {
    const UnlockGuard unlock(mutex);
    std::thread([&] {
      const LockGuard other(mutex);
      other_was_in = true;
    }).join();
  }
  EXPECT_TRUE(other_was_in);
}

TEST(ConditionVariable, WaitReturnsWithTheMutexHeldOnceNotified) {
  Mutex mutex;
  ConditionVariable changed;
  bool is_set = false;
  std::thread setter([&] {
    {
      const LockGuard lock(mutex);
      is_set = true;
    }
    changed.NotifyOne();
  });
  {
    const LockGuard lock(mutex);
    while (!is_set) changed.Wait(mutex);
    EXPECT_TRUE(is_set);
  }
  setter.join();
}

TEST(ConditionVariable, WaitUntilSaysWhetherTheTimeHasCome) {
  Mutex mutex;
  ConditionVariable changed;
  const LockGuard lock(mutex);
  const auto time = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  while (changed.WaitUntil(mutex, time)) continue;
  EXPECT_GE(std::chrono::steady_clock::now(), time);
}

TEST(ConditionVariable, NotifyAllWakesEveryThread) {
  Mutex mutex;
  ConditionVariable changed;
  bool go = false;
  int awake = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const LockGuard lock(mutex);
      while (!go) changed.Wait(mutex);
      ++awake;
    });
  }
  {
    const LockGuard lock(mutex);
    go = true;
  }
  changed.NotifyAll();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(awake, 3);
}

}  // namespace
}  // namespace bitsieve::core
