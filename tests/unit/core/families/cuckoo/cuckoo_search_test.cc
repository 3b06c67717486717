#include "core/families/cuckoo/cuckoo_search.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bitsieve::core {
namespace {

// Fingerprints in plain vectors, 0 where a slot is free.
class PlainTable {
 public:
  explicit PlainTable(uint64_t buckets) : geometry_({1, 0.01, buckets, 4, 12}, nullptr), slots_(buckets * 4) {}

  const CuckooGeometry& geometry() const { return geometry_; }
  const CuckooShape& shape() const { return geometry_.shape(); }
  uint32_t FreeSlot(uint64_t bucket) const {
    for (uint32_t slot = 0; slot < 4; ++slot) {
      if (FingerprintAt(bucket, slot) == 0) return slot;
    }
    return PackedBuckets::kNone;
  }
  uint64_t FingerprintAt(uint64_t bucket, uint32_t slot) const { return slots_[bucket * 4 + slot]; }
  const void* AddressOf(uint64_t bucket) const { return &slots_[bucket * 4]; }
  uint64_t& At(const CuckooWay::Place& place) { return slots_[place.bucket * 4 + place.slot]; }

 private:
  CuckooGeometry geometry_;
  std::vector<uint64_t> slots_;
};

struct Stored {
  CuckooPair pair;
  uint64_t fingerprint;
};

// Each fingerprint stays in one of its two buckets while the table is filled as far as it goes.
TEST(CuckooSearch, AWayMovesEachFingerprintToItsOtherBucket) {
  PlainTable table(500);
  std::mt19937_64 random(1);
  std::vector<Stored> stored;
  for (bool found = true; found;) {
    const CuckooKey key = table.geometry().KeyOf({random(), random()});
    const Stored item{table.geometry().Refine({}, key), table.geometry().FingerprintOf(key)};
    std::vector<uint64_t> visited;
    found = SearchWay(table, item.pair, 2000, [&](const CuckooWay& way) {
      way.ForEachBucket([&](uint64_t bucket) { visited.push_back(bucket); });
      const CuckooWay::Place free = way.ForEachMove([&](const CuckooWay::Place& from, const CuckooWay::Place& to) {
        EXPECT_EQ(table.At(to), 0) << "the slot is free";
        EXPECT_EQ(table.geometry().PartnerOf(from.bucket, table.At(from)), to.bucket);
        table.At(to) = std::exchange(table.At(from), 0);
      });
      EXPECT_TRUE(free.bucket == item.pair.bucket || free.bucket == item.pair.partner);
      EXPECT_EQ(table.At(free), 0);
      EXPECT_EQ(visited.back(), free.bucket);
      table.At(free) = item.fingerprint;
    });
    if (found) stored.push_back(item);
  }
  EXPECT_GT(stored.size(), 1900) << "of 2000 slots";
  for (const Stored& item : stored) {
    bool there = false;
    for (uint32_t slot = 0; slot < 4; ++slot) {
      there |= table.FingerprintAt(item.pair.bucket, slot) == item.fingerprint ||
               table.FingerprintAt(item.pair.partner, slot) == item.fingerprint;
    }
    ASSERT_TRUE(there);
  }
}

TEST(CuckooSearch, LooksAtNoMoreBucketsThanItMay) {
  PlainTable table(500);
  for (uint64_t bucket = 0; bucket < 500; ++bucket) {
    for (uint32_t slot = 0; slot < 4; ++slot) table.At({bucket, slot}) = 1 + (bucket * 4 + slot) % 4000;
  }
  const CuckooKey key = table.geometry().KeyOf({12345, 0xABC0000000000000});
  const CuckooPair pair = table.geometry().Refine({}, key);
  const auto never = [](const CuckooWay&) { FAIL() << "no slot is free"; };
  EXPECT_FALSE(SearchWay(table, pair, 0, never));
  EXPECT_FALSE(SearchWay(table, pair, 5000, never));
  // A slot that is one step away is found if one step may be taken.
  const uint64_t next = table.geometry().PartnerOf(pair.bucket, table.FingerprintAt(pair.bucket, 0));
  table.At({next, 2}) = 0;
  EXPECT_FALSE(SearchWay(table, pair, 0, never));
  EXPECT_TRUE(SearchWay(table, pair, 5000, [](const CuckooWay&) {}));
}

}  // namespace
}  // namespace bitsieve::core
