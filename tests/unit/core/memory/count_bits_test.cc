#include "core/memory/count_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bitsieve::core {
namespace {

std::vector<std::byte> RandomBytes(size_t size) {
  std::mt19937_64 random(7);
  std::vector<std::byte> bytes(size);
  // Many fields of all zeros, many of one bit, some of more.
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & random() & random());
  return bytes;
}

uint64_t CountOneByOne(std::span<const std::byte> bytes, uint32_t field_bits) {
  uint64_t count = 0;
  for (const std::byte byte : bytes) {
    for (uint32_t bit = 0; bit < 8; bit += field_bits) {
      count += (std::to_integer<uint32_t>(byte) >> bit & ((1U << field_bits) - 1)) != 0;
    }
  }
  return count;
}

TEST(CountBits, OfAnyLengthFromAnywhere) {
  const std::vector<std::byte> bytes = RandomBytes(1000);
  for (size_t from = 0; from < 70; ++from) {
    for (size_t size = 0; size < 300; ++size) {
      const auto piece = std::span(bytes).subspan(from, size);
      ASSERT_EQ(CountSetBits(piece), CountOneByOne(piece, 1)) << size << " bytes from " << from;
    }
  }
}

TEST(CountBits, FieldsAreCountedOnceWhateverIsInThem) {
  const std::vector<std::byte> bytes = RandomBytes(1000);
  for (const uint32_t field_bits : {1U, 2U, 4U, 8U}) {
    for (size_t size = 0; size < 100; ++size) {
      const auto piece = std::span(bytes).subspan(size, size);
      ASSERT_EQ(CountSetFields(piece, field_bits), CountOneByOne(piece, field_bits)) << size << " bytes";
    }
  }
  EXPECT_EQ(CountSetFields(std::vector(100, std::byte{0xFF}), 4), 200U);
}

}  // namespace
}  // namespace bitsieve::core
