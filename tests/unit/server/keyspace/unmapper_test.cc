#include "server/keyspace/unmapper.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "core/memory/bit_memory.h"

namespace bitsieve::server {
namespace {

constexpr uint64_t kLarge = 64 << 20;

// Other memory may have the address by then, such as what a thread reserves for its heap when it ends: that is empty.
bool IsMapped(void* page) {
  unsigned char resident = 0;
  return ::mincore(page, static_cast<size_t>(::sysconf(_SC_PAGESIZE)), &resident) == 0 && (resident & 1) != 0;
}

// Returns a page that has been written.
void* PageOf(std::byte* bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  bytes[kLarge / 2] = std::byte{1};
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(bytes + kLarge / 2) / page * page);
}

TEST(Unmapper, LargeMemoryThatDiedIsUnmappedByItsThread) {
  core::MemoryBudget budget;
  const Unmapper unmapper;
  std::optional<core::BitMemory> memory = std::move(*core::BitMemory::Allocate(kLarge, budget));
  void* const page = PageOf(memory->data());
  ASSERT_TRUE(IsMapped(page));
  memory.reset();
  for (int i = 0; i < 5'000 && IsMapped(page); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(IsMapped(page));
}

TEST(Unmapper, AtItsEndNothingWaits) {
  core::MemoryBudget budget;
  void* page;
  {
    const Unmapper unmapper;
    const core::BitMemory memory = std::move(*core::BitMemory::Allocate(kLarge, budget));
    page = PageOf(memory.data());
  }
  EXPECT_FALSE(IsMapped(page));
}

}  // namespace
}  // namespace bitsieve::server
