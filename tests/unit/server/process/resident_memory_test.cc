#include "server/process/resident_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace bitsieve::server {
namespace {

constexpr size_t kMapped = size_t{64} << 20;
constexpr uint64_t kOthers = uint64_t{24} << 20;  // what the rest of the process, sanitizers included, takes meanwhile

TEST(ResidentBytes, CountsPagesFromTheirFirstTouchToTheirEnd) {
  const uint64_t before = ResidentBytes();
  ASSERT_GT(before, 0U);
  void* const mapped = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_LT(ResidentBytes(), before + kOthers) << "it was mapped, but not touched";

  auto* const bytes = static_cast<volatile std::byte*>(mapped);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < kMapped; i += page) bytes[i] = std::byte{1};
  EXPECT_GT(ResidentBytes(), before + kMapped - kOthers);

  ASSERT_EQ(munmap(mapped, kMapped), 0);
  EXPECT_LT(ResidentBytes(), before + kOthers);
}

}  // namespace
}  // namespace bitsieve::server
