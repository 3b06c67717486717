#include "core/families/bloom/spread_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "core/families/bloom/positions.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

constexpr uint64_t kPlaces = 1000;

// An array in which about seven of eight places are set, so that items end at different ones of theirs.
class Cells {
 public:
  Cells() {
    for (uint64_t place = 0; place < kPlaces; ++place) set_[place] = Mix64(place) % 8 != 0;
  }
  uint64_t IsSet(uint64_t place) const { return set_[place] ? 1 : 0; }
  // Returns whether that many of the first places of the item are set.
  bool AreFirstSet(const KeyHash& hash, uint32_t count) const {
    Positions positions(hash, kPlaces);
    bool all = true;
    for (uint32_t i = 0; i < count; ++i) all &= set_[positions.Next()];
    return all;
  }

 private:
  std::array<bool, kPlaces> set_;
};

std::vector<KeyHash> Hashes(size_t count) {
  std::vector<KeyHash> hashes(count);
  for (size_t i = 0; i < count; ++i) hashes[i] = {Mix64(2 * i), Mix64(2 * i + 1)};
  return hashes;
}

class SpreadLookup : public testing::TestWithParam<uint32_t> {
 protected:
  SpreadArray<Positions> ArrayOf(uint64_t bytes) const { return {kPlaces, GetParam(), bytes}; }

  const Cells cells_;
};

// Batches that are larger than what is examined together, and of one item.
TEST_P(SpreadLookup, FindsWhatHasAllPlacesSet) {
  const auto is_set = [&](uint64_t place) { return cells_.IsSet(place); };
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1} << 30}) {
    for (const size_t count : {0, 1, 2, 63, 64, 65, 1000}) {
      const std::vector<KeyHash> hashes = Hashes(count);
      std::vector<uint8_t> present(count);
      MarkPresent(ArrayOf(bytes), hashes, present, is_set, [](uint64_t) {});
      for (size_t i = 0; i < count; ++i) {
        const bool expected = cells_.AreFirstSet(hashes[i], GetParam());
        EXPECT_EQ(present[i] != 0, expected) << i << " of " << count;
        EXPECT_EQ(IsPresent(ArrayOf(bytes), hashes[i], is_set), expected) << i;
      }
    }
  }
}

// A mark may be that of another sub-filter.
TEST_P(SpreadLookup, LeavesTheMarksOfOthers) {
  const std::vector<KeyHash> hashes = Hashes(100);
  std::vector<uint8_t> present(hashes.size(), 1);
  MarkPresent(
      ArrayOf(1), hashes, present, [](uint64_t) { return uint64_t{0}; }, [](uint64_t) {});
  EXPECT_EQ(std::count(present.begin(), present.end(), 1), 100);
}

TEST_P(SpreadLookup, LoadsTheOtherPlacesOfWhatMayBeThereInALargeArray) {
  const std::vector<KeyHash> hashes = Hashes(100);
  std::vector<uint8_t> present(hashes.size());
  std::multiset<uint64_t> loaded, expected;
  MarkPresent(
      ArrayOf(uint64_t{1} << 30), hashes, present, [&](uint64_t place) { return cells_.IsSet(place); },
      [&](uint64_t place) { loaded.insert(place); });
  for (const KeyHash& hash : hashes) {
    if (!cells_.AreFirstSet(hash, std::min(kFirstPlaces, GetParam()))) continue;
    Positions positions(hash, kPlaces);
    for (uint32_t i = 0; i < GetParam(); ++i) {
      const uint64_t place = positions.Next();
      if (i >= kFirstPlaces) expected.insert(place);
    }
  }
  EXPECT_EQ(loaded, expected);
}

INSTANTIATE_TEST_SUITE_P(HashFunctions, SpreadLookup, testing::Values(1, 2, 3, 4, 7, 20, 64));

}  // namespace
}  // namespace bitsieve::core
