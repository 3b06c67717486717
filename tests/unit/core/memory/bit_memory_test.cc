#include "core/memory/bit_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/memory/count_bits.h"

namespace bitsieve::core {
namespace {

class BitMemorySizes : public testing::TestWithParam<uint64_t> {};

TEST_P(BitMemorySizes, IsZeroAlignedAndAccountedFor) {
  MemoryBudget budget;
  {
    Result<BitMemory> memory = BitMemory::Allocate(GetParam(), budget);
    ASSERT_TRUE(memory);
    EXPECT_EQ(budget.used_bytes(), GetParam());
    EXPECT_EQ(memory->size_bytes(), GetParam());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % kLineBytes, 0U);
    EXPECT_EQ(CountSetBits(memory->bytes()), 0U);
    memory->data()[0] = std::byte{1};
    memory->data()[GetParam() - 1] = std::byte{0xFF};
    EXPECT_EQ(CountSetBits(memory->bytes()), 9U);
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(SmallMappedAndHuge, BitMemorySizes,
                         testing::Values(64, 4096, 128 * 1024 - 64, 128 * 1024, (2 << 20) - 64, 2 << 20,
                                         (8 << 20) + 64));

TEST(BitMemory, AsksTheBudgetFirst) {
  MemoryBudget budget(1000);
  const Result<BitMemory> refused = BitMemory::Allocate(1024, budget);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(BitMemory, SystemRefusalIsAnErrorAndGivesTheReservationBack) {
  MemoryBudget budget;
  EXPECT_FALSE(BitMemory::Allocate(uint64_t{1} << 60, budget));
  EXPECT_FALSE(BitMemory::Allocate(UINT64_MAX - 63, budget));
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(BitMemory, MovesWithItsReservation) {
  MemoryBudget budget;
  BitMemory a = std::move(*BitMemory::Allocate(256, budget));
  a.data()[3] = std::byte{7};
  BitMemory b(std::move(a));
  EXPECT_EQ(b.data()[3], std::byte{7});
  EXPECT_EQ(budget.used_bytes(), 256U);
  b = std::move(*BitMemory::Allocate(64, budget));
  EXPECT_EQ(b.size_bytes(), 64U);
}

TEST(BitMemory, CopyOutTakesAnyRange) {
  MemoryBudget budget;
  const BitMemory memory = std::move(*BitMemory::Allocate(256, budget));
  for (int i = 0; i < 256; ++i) memory.data()[i] = static_cast<std::byte>(i);
  for (size_t offset = 0; offset <= 40; ++offset) {
    for (size_t size = 0; size <= 40; ++size) {
      std::vector<std::byte> out(size);
      memory.CopyOut(offset, out);
      ASSERT_EQ(size == 0 ? 0 : std::memcmp(out.data(), memory.data() + offset, size), 0) << offset << " " << size;
    }
  }
}

TEST(MemoryBudget, LimitHoldsAndOverflowIsRefused) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.TryTake(60));
  EXPECT_FALSE(budget.TryTake(41));
  EXPECT_FALSE(budget.TryTake(UINT64_MAX));
  EXPECT_TRUE(budget.TryTake(40));
  budget.GiveBack(100);
  budget.set_limit_bytes(0);
  EXPECT_TRUE(budget.TryTake(1 << 30));
}

TEST(MemoryBudget, APartTakesFromBothOrFromNeither) {
  MemoryBudget whole(100), part(50, &whole);
  EXPECT_TRUE(part.TryTake(40));
  EXPECT_EQ(whole.used_bytes(), 40u);
  EXPECT_FALSE(part.TryTake(20));
  EXPECT_EQ(part.refusals(), 1u);
  EXPECT_TRUE(whole.TryTake(55));
  EXPECT_FALSE(part.TryTake(10)) << "the whole has five left";
  EXPECT_EQ(whole.refusals(), 1u);
  EXPECT_EQ(part.refusals(), 1u);
  EXPECT_EQ(part.used_bytes(), 40u);
  EXPECT_EQ(whole.used_bytes(), 95u);
  EXPECT_EQ(part.free_bytes(), 10u);
  EXPECT_EQ(whole.free_bytes(), 5u);
  part.GiveBack(40);
  EXPECT_EQ(part.used_bytes(), 0u);
  EXPECT_EQ(whole.used_bytes(), 55u);
}

TEST(MemoryBudget, APartThatMovesTakesWhatItHoldsAlong) {
  MemoryBudget whole, other(10, &whole), part(0, &whole);
  EXPECT_TRUE(part.TryTake(40));
  part.MoveTo(other);
  EXPECT_EQ(other.used_bytes(), 40u) << "beyond its limit";
  EXPECT_EQ(whole.used_bytes(), 40u);
  EXPECT_FALSE(part.TryTake(1));
  part.GiveBack(40);
  EXPECT_EQ(other.used_bytes(), 0u);
  EXPECT_EQ(whole.used_bytes(), 0u);
}

}  // namespace
}  // namespace bitsieve::core
