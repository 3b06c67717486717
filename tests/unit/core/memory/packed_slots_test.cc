#include "core/memory/packed_slots.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bitsieve::core {
namespace {

class PackedSlotsOfWidth : public testing::TestWithParam<uint32_t> {};

TEST_P(PackedSlotsOfWidth, HoldWhatWasSetAndNothingElseChanges) {
  constexpr uint64_t kSlots = 500;
  const uint32_t bits = GetParam();
  std::vector<uint64_t> memory(PackedSlots::BytesFor(kSlots, bits) / 8);
  PackedSlots slots(reinterpret_cast<std::byte*>(memory.data()), bits);
  std::vector<uint64_t> expected(kSlots);
  std::mt19937_64 random(bits);
  for (int round = 0; round < 5000; ++round) {
    const uint64_t slot = random() % kSlots;
    expected[slot] = random() >> (64 - bits);
    slots.Set(slot, expected[slot]);
    ASSERT_LT(slots.ByteOf(slot) + 8, memory.size() * 8);
  }
  for (uint64_t slot = 0; slot < kSlots; ++slot) ASSERT_EQ(slots.Get(slot), expected[slot]) << slot;
  EXPECT_EQ(memory.back(), 0U) << "the spare word stays as it is";
}

TEST_P(PackedSlotsOfWidth, LargestValueNextToEmptyOnes) {
  const uint32_t bits = GetParam();
  std::vector<uint64_t> memory(PackedSlots::BytesFor(100, bits) / 8);
  PackedSlots slots(reinterpret_cast<std::byte*>(memory.data()), bits);
  const uint64_t largest = (uint64_t{1} << bits) - 1;
  for (uint64_t slot = 1; slot < 100; slot += 2) slots.Set(slot, largest);
  for (uint64_t slot = 0; slot < 100; ++slot) ASSERT_EQ(slots.Get(slot), slot % 2 == 0 ? 0 : largest) << slot;
}

INSTANTIATE_TEST_SUITE_P(All, PackedSlotsOfWidth, testing::Range(1U, PackedSlots::kMaxBits + 1));

}  // namespace
}  // namespace bitsieve::core
