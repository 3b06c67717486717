#include "clients/cpp/shown_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace bitsieve::clients {
namespace {

constexpr uint64_t kAlive = 0x600DF00D;

struct Object {
  explicit Object(uint64_t its_number) : number(its_number) {}
  ~Object() { alive.fill(0); }

  const uint64_t number;
  std::array<uint64_t, 64> alive = [] {
    std::array<uint64_t, 64> all;
    all.fill(kAlive);
    return all;
  }();
};

bool IsAlive(const Object& object) {
  uint64_t all = kAlive;
  for (const uint64_t each : object.alive) all &= each;
  return all == kAlive;
}

TEST(ShownCopy, ShowsTheLatest) {
  ShownCopy<Object> copy;
  for (uint64_t i = 0; i < 3; ++i) {
    copy.Show(std::make_unique<Object>(i));
    EXPECT_EQ(copy.Read([](const Object& object) { return object.number; }), i);
    EXPECT_EQ(copy.get()->number, i);
  }
}

// More threads than there are slots, so that some of them share one.
TEST(ShownCopy, NoReaderSeesAnObjectThatIsGone) {
  constexpr int kThreads = 70;
  constexpr uint64_t kShown = 1000;
  ShownCopy<Object> copy;
  copy.Show(std::make_unique<Object>(0));
  std::atomic<bool> done{false};
  std::atomic<int> begun{0};
  std::atomic<uint64_t> dead{0}, backwards{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < kThreads; ++i) {
    readers.emplace_back([&] {
      for (uint64_t last = 0, reads = 0; !done.load(); ++reads) {
        if (reads == 1) ++begun;
        const uint64_t number = copy.Read([&](const Object& object) {
          if (reads % 16 == 0) std::this_thread::yield();
          if (!IsAlive(object)) ++dead;
          return object.number;
        });
        if (number < last) ++backwards;
        last = number;
      }
    });
  }
  while (begun.load() < kThreads) std::this_thread::yield();
  for (uint64_t i = 1; i <= kShown; ++i) copy.Show(std::make_unique<Object>(i));
  done = true;
  readers.clear();
  EXPECT_EQ(dead, 0U);
  EXPECT_EQ(backwards, 0U);
}

}  // namespace
}  // namespace bitsieve::clients
