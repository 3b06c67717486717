#include "core/base/thread_name.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <thread>

namespace bitsieve::core {
namespace {

std::string NameAfter(const char* name) {
  char shown[kMaxThreadNameBytes + 1] = {};
  std::thread([&] {
    NameThread(name);
    pthread_getname_np(pthread_self(), shown, sizeof shown);
  }).join();
  return shown;
}

TEST(ThreadName, IsTheCallersAlone) {
  char before[kMaxThreadNameBytes + 1] = {}, after[kMaxThreadNameBytes + 1] = {};
  pthread_getname_np(pthread_self(), before, sizeof before);
  EXPECT_EQ(NameAfter("loop"), "loop");
  pthread_getname_np(pthread_self(), after, sizeof after);
  EXPECT_STREQ(before, after);
}

TEST(ThreadName, IsCutOffAtTheSystemsLength) { EXPECT_EQ(NameAfter("0123456789abcdefgh"), "0123456789abcde"); }

}  // namespace
}  // namespace bitsieve::core
