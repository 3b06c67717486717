#include "core/families/bloom/block_kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/families/bloom/blocked_bloom.h"
#include "core/memory/memory_image.h"
#include "tests/support/random_hashes.h"

namespace bitsieve::core {
namespace {

TEST(LaneSets, HaveTheirSize) {
  for (unsigned k = 1; k <= kLanes; ++k) {
    for (const uint16_t set : LaneSets(k)) ASSERT_EQ(std::popcount(set), static_cast<int>(k));
  }
}

TEST(LaneSets, UseEveryLaneAboutEquallyOften) {
  for (unsigned k = 1; k < kLanes; ++k) {
    std::array<double, kLanes> uses{};
    for (const uint16_t set : LaneSets(k)) {
      for (unsigned lane = 0; lane < kLanes; ++lane) uses[lane] += set >> lane & 1;
    }
    const double expected = kLaneSets * k / double{kLanes};
    const double deviation = std::sqrt(expected * (1 - k / double{kLanes}));
    for (const double count : uses) EXPECT_NEAR(count, expected, 4.5 * deviation) << k;
  }
}

// Persisted filters depend on these tables: a difference means that every blocked filter on every disk answers wrongly.
TEST(LaneSets, GoldenValues) {
  constexpr std::array<uint64_t, kLanes> kGolden{
      0x9184352e7ecab46dULL, 0x36ae6ee199d9e843ULL, 0x4daabcbf33bb1027ULL, 0xa3ba717ada15720fULL,
      0x9e3b118586061519ULL, 0x186b9884d617d7d9ULL, 0x80ab10d1cb79a336ULL, 0xaf6f13b6ec7aa258ULL,
      0xfe0180f3774ac11dULL, 0xe168b4079da1fc40ULL, 0xc22939c27df1fbbcULL, 0x2a5e3980064d5960ULL,
      0xe989a663067c20e3ULL, 0x9e5a2d25c00188e0ULL, 0xd6377e7e0831577fULL, 0x76f834f0e3f0f9e3ULL};
  for (unsigned k = 1; k <= kLanes; ++k) {
    EXPECT_EQ(Checksum(AsText(std::as_bytes(LaneSets(k)))), kGolden[k - 1]) << k;
  }
}

struct Lines {
  explicit Lines(uint64_t count) : memory(std::move(*BitMemory::Allocate(count * kLineBytes, budget))) {}
  MemoryBudget budget;
  BitMemory memory;
};

BlockArray ArrayOf(Lines& lines, uint32_t lines_per_item, unsigned lanes) {
  return {lines.memory.data(), &lines.memory, lines.memory.size_bytes() / kLineBytes, lines_per_item,
          LaneSets(lanes).data()};
}

// Sets the bits of an item as the comments of block_kernel.h define them, independently of the kernels.
void SetByDefinition(std::vector<uint8_t>& bytes, const KeyHash& hash, uint32_t lines_per_item, unsigned lanes) {
  const uint64_t count = bytes.size() / kLineBytes;
  uint64_t line = static_cast<uint64_t>((static_cast<unsigned __int128>(hash.low) * count) >> 64);
  for (uint32_t j = 0; j < lines_per_item; ++j) {
    if (j == 1) {
      const uint64_t first = line;
      line = static_cast<uint64_t>((static_cast<unsigned __int128>(hash.low * kSecondLine) * (count - 1)) >> 64);
      if (line >= first) ++line;
    }
    const uint16_t set = LaneSets(lanes)[(hash.low >> (10 * j)) % 1024];
    const auto word = static_cast<uint32_t>(hash.high >> (32 * j));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((set >> lane & 1) == 0) continue;
      const uint32_t bit = (word * kLaneSalts[lane]) >> 27;
      bytes[line * kLineBytes + lane * 4 + bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
    }
  }
}

struct KernelCase {
  const BlockKernel* kernel;
  uint32_t lines_per_item;
  unsigned lanes;
  uint64_t lines;
};

std::vector<KernelCase> KernelCases() {
  std::vector<KernelCase> cases;
  for (const BlockKernel* kernel : BlockKernels()) {
    for (const uint32_t lines_per_item : {1U, 2U}) {
      for (const unsigned lanes : {1U, 6U, 9U, 16U}) {
        for (const uint64_t lines : {2ULL, 3ULL, 1000ULL}) cases.push_back({kernel, lines_per_item, lanes, lines});
      }
    }
  }
  return cases;
}

class KernelTest : public testing::TestWithParam<KernelCase> {};

INSTANTIATE_TEST_SUITE_P(All, KernelTest, testing::ValuesIn(KernelCases()), [](const auto& test) {
  const KernelCase& c = test.param;
  return std::string(c.kernel->name) + "_" + std::to_string(c.lines_per_item) + "x" + std::to_string(c.lanes) + "_in_" +
         std::to_string(c.lines);
});

TEST_P(KernelTest, SetsTheBitsOfTheDefinition) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  Lines lines(line_count);
  const BlockArray array = ArrayOf(lines, lines_per_item, lanes);
  const std::vector<KeyHash> hashes = RandomKeyHashes(line_count * 4, 1);
  const std::vector<uint8_t> skip(hashes.size(), 0);
  std::vector<uint8_t> added(hashes.size());
  const AddProgress progress =
      kernel->add(array, hashes.data(), hashes.size(), skip.data(), added.data(), hashes.size());

  std::vector<uint8_t> expected(line_count * kLineBytes);
  for (const KeyHash& hash : hashes) SetByDefinition(expected, hash, lines_per_item, lanes);
  EXPECT_EQ(std::memcmp(expected.data(), lines.memory.data(), expected.size()), 0);
  EXPECT_EQ(progress.done, hashes.size());
  EXPECT_EQ(progress.bits_set, CountSetBits(lines.memory.bytes()));
}

TEST_P(KernelTest, AnswersAsTheBitsSay) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  Lines lines(line_count);
  const BlockArray array = ArrayOf(lines, lines_per_item, lanes);
  std::vector<uint8_t> bytes(line_count * kLineBytes);
  for (const KeyHash& hash : RandomKeyHashes(line_count * 20, 2)) SetByDefinition(bytes, hash, lines_per_item, lanes);
  std::memcpy(lines.memory.data(), bytes.data(), bytes.size());

  const std::vector<KeyHash> asked = RandomKeyHashes(2000, 3);
  std::vector<uint8_t> present(asked.size(), 0);
  kernel->may_contain(array, asked.data(), asked.size(), present.data());
  for (size_t i = 0; i < asked.size(); ++i) {
    std::vector<uint8_t> with = bytes;
    SetByDefinition(with, asked[i], lines_per_item, lanes);
    ASSERT_EQ(present[i], with == bytes ? 1 : 0) << i;
  }
}

TEST_P(KernelTest, StopsBeforeTheFirstNewItemWithoutRoom) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  if (line_count < 1000 || lanes < 6) return;  // elsewhere chance hits come in between
  Lines lines(line_count);
  const BlockArray array = ArrayOf(lines, lines_per_item, lanes);
  std::vector<KeyHash> hashes = RandomKeyHashes(6, 4);
  hashes[2] = hashes[0];  // there already when it comes
  const std::vector<uint8_t> skip{0, 1, 0, 0, 0, 0};
  std::vector<uint8_t> added(6, 9);
  const AddProgress progress = kernel->add(array, hashes.data(), 6, skip.data(), added.data(), 2);
  EXPECT_EQ(progress.done, 4U);
  EXPECT_EQ(progress.added, 2U);
  EXPECT_EQ(std::vector<uint8_t>(added.begin(), added.begin() + 4), (std::vector<uint8_t>{1, 0, 0, 1}));
}

// Where there is room for all items, adding uses another path than where it must stop. In chunks, with items that are
// skipped and items that are already there, both do the same.
TEST_P(KernelTest, RoomForAllChangesNothing) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  Lines roomy(line_count), tight(line_count);
  std::vector<KeyHash> hashes = RandomKeyHashes(256, 6);
  for (size_t i = 3; i < hashes.size(); i += 7) hashes[i] = hashes[i - 3];
  std::vector<uint8_t> skip(hashes.size(), 0);
  for (size_t i = 0; i < skip.size(); i += 5) skip[i] = 1;
  constexpr size_t kChunk = 64;
  for (size_t done = 0; done < hashes.size(); done += kChunk) {
    std::vector<uint8_t> added(kChunk, 9), expected(kChunk, 9);
    const AddProgress all = kernel->add(ArrayOf(roomy, lines_per_item, lanes), hashes.data() + done, kChunk,
                                        skip.data() + done, added.data(), kChunk);
    AddProgress some{0, 0, 0};
    for (size_t i = 0; i < kChunk; ++i) {
      const AddProgress one =
          kernel->add(ArrayOf(tight, lines_per_item, lanes), &hashes[done + i], 1, &skip[done + i], &expected[i], 0);
      if (one.done == 1) continue;
      ASSERT_EQ(skip[done + i], 0);
      const MemoryImage image(tight.memory, line_count * kLineBytes, {tight.budget, Patience::kLose});
      const AddProgress added_now =
          kernel->add(ArrayOf(tight, lines_per_item, lanes), &hashes[done + i], 1, &skip[done + i], &expected[i], 1);
      some.added += added_now.added;
      some.bits_set += added_now.bits_set;
    }
    EXPECT_EQ(added, expected);
    EXPECT_EQ(all.done, kChunk);
    EXPECT_EQ(all.added, some.added);
    EXPECT_EQ(all.bits_set, some.bits_set);
  }
  EXPECT_EQ(std::memcmp(roomy.memory.data(), tight.memory.data(), line_count * kLineBytes), 0);
}

TEST_P(KernelTest, AddsOneItemAsItAddsMany) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  Lines single(line_count), batch(line_count);
  const std::vector<KeyHash> hashes = RandomKeyHashes(256, 8);
  const std::vector<uint8_t> skip(hashes.size(), 0);
  std::vector<uint8_t> added(hashes.size());
  const AddProgress progress = kernel->add(ArrayOf(batch, lines_per_item, lanes), hashes.data(), hashes.size(),
                                           skip.data(), added.data(), hashes.size());
  uint64_t bits_set = 0;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const unsigned set_now = kernel->add_one(ArrayOf(single, lines_per_item, lanes), hashes[i]);
    EXPECT_EQ(set_now != 0, added[i] != 0) << i;
    bits_set += set_now;
  }
  EXPECT_EQ(bits_set, progress.bits_set);
  EXPECT_EQ(std::memcmp(single.memory.data(), batch.memory.data(), line_count * kLineBytes), 0);
}

TEST_P(KernelTest, LeavesLinesOfSkippedItemsAlone) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  Lines lines(line_count);
  const std::vector<KeyHash> hashes = RandomKeyHashes(64, 7);
  const std::vector<uint8_t> skip(hashes.size(), 1);
  std::vector<uint8_t> added(hashes.size(), 9);
  const AddProgress progress =
      kernel->add(ArrayOf(lines, lines_per_item, lanes), hashes.data(), hashes.size(), skip.data(), added.data(), 64);
  EXPECT_EQ(progress.done, hashes.size());
  EXPECT_EQ(progress.added, 0U);
  EXPECT_EQ(progress.bits_set, 0U);
  EXPECT_EQ(added, std::vector<uint8_t>(hashes.size(), 0));
  EXPECT_EQ(CountSetBits(lines.memory.bytes()), 0U);
}

// A lookup keeps results that are already set: another sub-filter may have found the item.
TEST_P(KernelTest, LookupsLeaveWhatIsFoundAlready) {
  const auto& [kernel, lines_per_item, lanes, line_count] = GetParam();
  Lines lines(line_count);
  const std::vector<KeyHash> hashes = RandomKeyHashes(64, 8);
  std::vector<uint8_t> present(hashes.size(), 0);
  for (size_t i = 0; i < present.size(); i += 3) present[i] = 1;
  const std::vector<uint8_t> before = present;
  kernel->may_contain(ArrayOf(lines, lines_per_item, lanes), hashes.data(), hashes.size(), present.data());
  EXPECT_EQ(present, before);
}

TEST(BlockKernels, PortableIsAlwaysThereAndLast) {
  ASSERT_FALSE(BlockKernels().empty());
  EXPECT_STREQ(BlockKernels().back()->name, "portable");
}

TEST(SecondLine, IsAlwaysAnotherLine) {
  Lines lines(7);
  const BlockArray array = ArrayOf(lines, 2, 6);
  for (const KeyHash& hash : RandomKeyHashes(10'000, 5)) {
    const uint64_t first = FirstLine(array, hash);
    const uint64_t second = SecondLine(array, hash, first);
    ASSERT_NE(first, second);
    ASSERT_LT(second, 7U);
  }
}

}  // namespace
}  // namespace bitsieve::core
