#include "core/memory/memory_source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/filter/filter_factory.h"
#include "core/filter/staging.h"
#include "core/memory/bit_memory.h"
#include "tests/support/filter_types.h"

namespace bitsieve::core {
namespace {

constexpr uint64_t kItemsOfAFilter = 200'000;
// Upper limit of the budget that objects and tables of pointers take in addition to the source's memory.
constexpr uint64_t kOverheadBytes = 16 * 1024;

std::map<void*, size_t> held;  // and how many bytes each has; the tests have one thread
uint64_t held_bytes = 0;
uint64_t allocations = 0;
bool refuses = false;

void* Allocate(size_t bytes, size_t alignment) {
  if (refuses) return nullptr;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  std::memset(memory, 0, bytes);
  held[memory] = bytes;
  held_bytes += bytes;
  ++allocations;
  return memory;
}

void Free(void* memory, size_t bytes) {
  const auto found = held.find(memory);
  ASSERT_NE(found, held.end());
  EXPECT_EQ(found->second, bytes);
  held.erase(found);
  held_bytes -= bytes;
  std::free(memory);
}

class MemorySourceTest : public testing::TestWithParam<const FilterTypeRow*> {
 protected:
  MemorySourceTest() {
    refuses = false;
    UseMemorySource({Allocate, Free});
  }
  ~MemorySourceTest() override {
    EXPECT_TRUE(held.empty()) << held_bytes << " bytes were not freed";
    EXPECT_EQ(budget_.used_bytes(), 0U);
    UseMemorySource(kSystemMemory);
  }

  std::unique_ptr<Filter> Make() {
    FilterParams params;
    params.type = GetParam()->type;
    params.capacity = kItemsOfAFilter;
    params.expansion = 2;
    params.seed = 42;
    test::SetRequiredParams(params);
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  static void Add(Filter& filter, uint64_t first, uint64_t count) {
    std::vector<KeyHash> hashes;
    for (uint64_t i = 0; i < count; ++i) hashes.push_back(filter.HashOf(std::to_string(first + i)));
    std::vector<AddOutcome> outcomes(count);
    EXPECT_EQ(filter.Add(hashes, outcomes), count);
  }
  void ExpectAllFromSource() const {
    EXPECT_LE(held_bytes, budget_.used_bytes());
    EXPECT_LT(budget_.used_bytes() - held_bytes, kOverheadBytes);
  }

  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Types, MemorySourceTest, testing::ValuesIn(FilterTypes().begin(), FilterTypes().end()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST_P(MemorySourceTest, AllOfAFilterComesFromTheSourceAndGoesBack) {
  const auto filter = Make();
  ExpectAllFromSource();
  Add(*filter, 0, 2 * kItemsOfAFilter);
  EXPECT_GT(held_bytes, kItemsOfAFilter / 8);
  ExpectAllFromSource();
}

TEST_P(MemorySourceTest, ImagesAndCopiesToo) {
  const auto filter = Make();
  Add(*filter, 0, kItemsOfAFilter / 2);
  const uint64_t before = allocations;
  const auto image = filter->Capture();
  Add(*filter, kItemsOfAFilter / 2, kItemsOfAFilter / 2);
  std::vector<std::byte> body(image->body_bytes());
  ASSERT_TRUE(image->Read(0, body));
  EXPECT_GT(allocations, before);
  const auto copy = CloneFilter(*filter, budget_, SystemClock()).value();
  EXPECT_GT(held_bytes, kItemsOfAFilter / 4);
  if (Staging* const staging = filter->staging()) {
    staging->Close();
    const auto frozen = staging->Build(budget_, [] { return true; });
    ASSERT_TRUE(frozen);
    ExpectAllFromSource();
  }
}

TEST_P(MemorySourceTest, WhatTheSourceRefusesIsOutOfMemory) {
  refuses = true;
  const auto refused = BitMemory::Allocate(4096, budget_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace bitsieve::core
