#include "core/memory/deferred_unmap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>
#include <vector>

#include "core/memory/bit_memory.h"

namespace bitsieve::core {
namespace {

constexpr uint64_t kLarge = 100 << 20;

bool IsMapped(const void* at) {
  unsigned char resident;
  const auto page = reinterpret_cast<uintptr_t>(at) / 4096 * 4096;
  return mincore(reinterpret_cast<void*>(page), 4096, &resident) == 0;
}

class DeferredUnmapTest : public testing::Test {
 protected:
  DeferredUnmapTest() { DeferredUnmap::BeginServing(); }
  ~DeferredUnmapTest() override {
    DeferredUnmap::EndServing();
    DeferredUnmap::UnmapAll();
  }
  BitMemory Allocate(uint64_t bytes) { return std::move(*BitMemory::Allocate(bytes, budget_)); }

  MemoryBudget budget_;
};

TEST_F(DeferredUnmapTest, WhatDiesIsNotUnmappedByTheThreadThatLetsItDie) {
  const std::byte* data = nullptr;
  {
    const BitMemory memory = Allocate(kLarge);
    data = memory.data();
    std::memset(memory.data(), 1, kLarge);
  }
  EXPECT_EQ(budget_.used_bytes(), 0U) << "the next filter has room at once";
  EXPECT_TRUE(IsMapped(data));
  EXPECT_TRUE(IsMapped(data + kLarge - 1));
  DeferredUnmap::UnmapAll();
  for (uint64_t at = 0; at < kLarge; at += 1 << 20) EXPECT_FALSE(IsMapped(data + at)) << at;
  EXPECT_FALSE(IsMapped(data + kLarge - 1));
}

TEST_F(DeferredUnmapTest, WithoutAServerAndWhenSmallItGoesAtOnce) {
  const std::byte* data = nullptr;
  {
    const BitMemory memory = Allocate(256 << 10);
    data = memory.data();
    std::memset(memory.data(), 1, memory.size_bytes());
  }
  EXPECT_FALSE(IsMapped(data));
  DeferredUnmap::EndServing();
  {
    const BitMemory memory = Allocate(kLarge);
    data = memory.data();
    std::memset(memory.data(), 1, kLarge);
  }
  EXPECT_FALSE(IsMapped(data + kLarge / 2));
  DeferredUnmap::BeginServing();
}

TEST_F(DeferredUnmapTest, NoMoreWaitsThanIsAllowed) {
  constexpr uint64_t kHalf = DeferredUnmap::kMaxBytes / 2;  // never touched: only addresses
  std::vector<const std::byte*> data;
  for (int i = 0; i < 3; ++i) data.push_back(Allocate(kHalf - (4 << 20)).data());
  // All three may lie at the same place only if each was unmapped at once.
  EXPECT_TRUE(IsMapped(data[0] + kHalf / 2));
  EXPECT_TRUE(IsMapped(data[1] + kHalf / 2));
  EXPECT_NE(data[0], data[1]);
  EXPECT_FALSE(IsMapped(data[2] + kHalf / 2));
}

TEST_F(DeferredUnmapTest, ManyThreadsHandOverWhileOneServes) {
  std::atomic<bool> stop{false};
  std::thread server([&] {
    while (!stop) DeferredUnmap::UnmapAll();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 300; ++i) {
        const BitMemory memory = Allocate(2 << 20);
        memory.data()[i] = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  server.join();
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
