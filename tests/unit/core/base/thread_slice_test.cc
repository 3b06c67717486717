#include "core/base/thread_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <thread>

namespace bitsieve::core {
namespace {

TEST(ThreadSlice, LeavesPolicyAndPriorityAsTheyAre) {
  std::thread([] {
    const int nice = getpriority(PRIO_PROCESS, 0);
    const int policy = sched_getscheduler(0);
    RequestShortSlices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice);
    EXPECT_EQ(sched_getscheduler(0), policy);
  }).join();
}

}  // namespace
}  // namespace bitsieve::core
