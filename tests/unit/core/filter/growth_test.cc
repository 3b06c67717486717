// Growing touches no memory in proportion to its size: a filter that grows to many times its size takes, at that
// moment, the pages of the item that made it grow.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_type.h"
#include "core/memory/bit_memory.h"
#include "core/memory/huge_pages.h"

namespace bitsieve::core {
namespace {

// The pages that touching one takes: TSan keeps four of its own for each.
#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kPagesPerPage = 5;
#else
constexpr uint64_t kPagesPerPage = 1;
#endif

// Returns how many pages this thread has touched for the first time. The kernel counts them exactly; the resident pages
// of a process it sums up late.
uint64_t TouchedPages() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
  return static_cast<uint64_t>(usage.ru_minflt);
}

uint64_t ResidentBytes(const BitMemory& memory) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((memory.size_bytes() + page - 1) / page);
  EXPECT_EQ(mincore(const_cast<std::byte*>(memory.data()), memory.size_bytes(), resident.data()), 0);
  return page * static_cast<uint64_t>(
                    std::count_if(resident.begin(), resident.end(), [](auto flags) { return (flags & 1) != 0; }));
}

class KeptSmall : public testing::Test {
 protected:
  KeptSmall() { HugePages::BeginKeeping(); }
  ~KeptSmall() override { HugePages::EndKeeping(); }

  MemoryBudget budget_;
};

class GrowthTest : public testing::TestWithParam<FilterType> {
 protected:
  GrowthTest() { HugePages::BeginKeeping(); }
  ~GrowthTest() override { HugePages::EndKeeping(); }

  MemoryBudget budget_;
};

TEST_P(GrowthTest, TouchesNothingInProportionToItsSize) {
  FilterParams params;
  params.type = GetParam();
  params.capacity = 20'000;
  params.error_rate = 0.01;
  params.expansion = 1'024;  // the next part of 20 million items: 20 MB and more
  if (params.type == kRedisCuckooType) SetRedisCuckooParams(params, {2, 2000});
  ShareForStatedCapacity(params);
  const auto filter = std::move(*MakeFilter(params, budget_, SystemClock()));
  AddOutcome outcome{};
  for (uint64_t i = 0; budget_.used_bytes() < (10 << 20); ++i) {
    const uint64_t before = TouchedPages();
    const KeyHash hash = filter->HashOf(std::to_string(i));
    ASSERT_EQ(filter->Add({&hash, 1}, {&outcome, 1}), 1U);
    ASSERT_LE(outcome, AddOutcome::kAdded) << i;
    ASSERT_LT(TouchedPages() - before, 64 * kPagesPerPage) << i;
  }
}

// Those that grow by a further part; fingerprint and ribbon collect, and a window does not grow.
INSTANTIATE_TEST_SUITE_P(Types, GrowthTest,
                         testing::Values(kBlockedType, kClassicType, kCountingType, kCuckooType, kRedisBloomType,
                                         kRedisCuckooType),
                         [](const testing::TestParamInfo<FilterType>& test) {
                           return std::string(FilterTypeName(test.param));
                         });

TEST_F(KeptSmall, NewMemoryTakesSmallPagesAndBecomesHugeWhereItIsUsed) {
  constexpr uint64_t kPages = 16;
  const BitMemory memory = std::move(*BitMemory::Allocate(kPages * HugePages::kBytes, budget_));
  const auto touch = [&](uint64_t page, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += 4096) memory.data()[page * HugePages::kBytes + at] = std::byte{1};
  };
  touch(3, 1);
  touch(5, HugePages::kBytes / 2);
  EXPECT_LT(ResidentBytes(memory), HugePages::kBytes) << "a touched page is a small one";
  EXPECT_EQ(HugePages::MakeAll([] { return true; }), 1U) << "the one that is in use";
  EXPECT_EQ(HugePages::MakeAll([] { return true; }), 0U) << "it is made once";
  touch(3, HugePages::kBytes);
  EXPECT_EQ(HugePages::MakeAll([] { return true; }), 1U);
  for (uint64_t page = 0; page < kPages; ++page) touch(page, HugePages::kBytes);
  EXPECT_EQ(HugePages::MakeAll([] { return false; }), 1U) << "it stops when told to";
  EXPECT_EQ(HugePages::MakeAll([] { return true; }), kPages - 3);
  for (uint64_t at = 0; at < memory.size_bytes(); at += 4096) ASSERT_EQ(memory.data()[at], std::byte{1});
}

TEST_F(KeptSmall, MemoryMayDieWhileItsPagesAreMade) {
  std::vector<BitMemory> memories;
  for (int i = 0; i < 4; ++i) {
    memories.push_back(std::move(*BitMemory::Allocate(4 * HugePages::kBytes, budget_)));
    for (uint64_t at = 0; at < memories.back().size_bytes(); at += 4096) memories.back().data()[at] = std::byte{1};
  }
  uint64_t left = 0;
  HugePages::MakeAll([&] {
    if (!memories.empty()) memories.pop_back();
    ++left;
    return true;
  });
  EXPECT_LE(left, 16U - 3U) << "pages of what died are made no more";
  EXPECT_EQ(HugePages::MakeAll([] { return true; }), 0U);
}

}  // namespace
}  // namespace bitsieve::core
