#include "server/net/handler_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace bitsieve::server {
namespace {

class HandlerMemoryTest : public ::testing::Test {
 protected:
  static constexpr size_t kSmall = 64;

  bool IsInPlace(const void* taken) const {
    const auto* const byte = static_cast<const std::byte*>(taken);
    const auto* const begin = reinterpret_cast<const std::byte*>(&memory_);
    return std::less_equal<>()(begin, byte) && std::less<>()(byte, begin + sizeof memory_);
  }

  HandlerMemory memory_;
};

TEST_F(HandlerMemoryTest, OneOperationAfterTheOtherIsInPlace) {
  for (int i = 0; i < 3; ++i) {
    void* const taken = memory_.Take(kSmall);
    EXPECT_TRUE(IsInPlace(taken));
    memory_.Give(taken);
  }
}

TEST_F(HandlerMemoryTest, ASecondOperationAtTheSameTimeTakesFromTheHeap) {
  void* const first = memory_.Take(kSmall);
  void* const second = memory_.Take(kSmall);
  EXPECT_FALSE(IsInPlace(second));
  memory_.Give(second);
  void* const third = memory_.Take(kSmall);
  EXPECT_FALSE(IsInPlace(third)) << "the first is still there";
  memory_.Give(first);
  void* const fourth = memory_.Take(kSmall);
  EXPECT_TRUE(IsInPlace(fourth));
  memory_.Give(fourth);
  memory_.Give(third);
}

TEST_F(HandlerMemoryTest, ALargeOperationTakesFromTheHeapAndLeavesThePlaceFree) {
  void* const large = memory_.Take(sizeof memory_ + 1);
  EXPECT_FALSE(IsInPlace(large));
  void* const small = memory_.Take(kSmall);
  EXPECT_TRUE(IsInPlace(small));
  memory_.Give(small);
  memory_.Give(large);
}

TEST_F(HandlerMemoryTest, AHandlersAllocatorTakesFromItsMemory) {
  int got = 0;
  InPlace handler(memory_, [&got](int value) { got = value; });
  auto allocator =
      std::allocator_traits<decltype(handler.get_allocator())>::rebind_alloc<double>(handler.get_allocator());
  double* const taken = allocator.allocate(1);
  EXPECT_TRUE(IsInPlace(taken));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(taken) % alignof(double), 0U);
  allocator.deallocate(taken, 1);
  handler(7);
  EXPECT_EQ(got, 7);
}

TEST_F(HandlerMemoryTest, AllocatorsAreEqualIfTheyShareTheirMemory) {
  HandlerMemory other;
  const HandlerAllocator<std::byte> allocator(memory_);
  EXPECT_TRUE(allocator == HandlerAllocator<int>(memory_));
  EXPECT_FALSE(allocator == HandlerAllocator<int>(other));
}

}  // namespace
}  // namespace bitsieve::server
