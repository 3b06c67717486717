#include "core/families/cuckoo/cuckoo_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "core/families/cuckoo/cuckoo_sizing.h"

namespace bitsieve::core {
namespace {

using TableChain = Chain<CuckooTable>;

class CuckooTableTest : public testing::Test {
 protected:
  static constexpr uint32_t kEnough = 2000;

  void Append(TableChain& chain, const CuckooShape& shape) {
    auto table = CuckooTable::Make(shape, chain.newest(), budget_);
    ASSERT_TRUE(table);
    EXPECT_TRUE(chain.Append(std::move(*table), 0, budget_));
  }
  std::unique_ptr<CuckooTable> Make(uint64_t buckets, uint32_t bits, uint32_t size = 4) {
    return std::move(*CuckooTable::Make({buckets * size, 0.01, buckets, size, bits}, nullptr, budget_));
  }
  static CuckooPair PairIn(const TableChain& chain, size_t index, const CuckooKey& key) {
    CuckooPair pair;
    for (size_t i = 0; i <= index; ++i) pair = chain.tables()[i]->Refine(pair, key);
    return pair;
  }
  bool Insert(CuckooTable& table, const CuckooKey& key, uint32_t max_iterations = kEnough) {
    return table.Insert(table.Refine({}, key), table.FingerprintOf(key), max_iterations, version_);
  }
  static bool Contains(const CuckooTable& table, const CuckooKey& key) {
    return table.Contains(table.Refine({}, key), table.FingerprintOf(key));
  }
  static std::string BytesOf(const CuckooTable& table) {
    return {reinterpret_cast<const char*>(table.memory().data()), table.memory().size_bytes()};
  }

  MemoryBudget budget_;
  MoveVersion version_;
};

// Returns a key that the newest table, of n buckets and f bits, places into `bucket` with the fingerprint
// `fingerprint`.
CuckooKey KeyIn(const CuckooTable& table, uint64_t bucket, uint64_t fingerprint) {
  const auto n = static_cast<unsigned __int128>(table.shape().buckets);
  const auto place = static_cast<uint64_t>(((static_cast<unsigned __int128>(bucket) << 64) + n - 1) / n);
  return table.KeyOf({place, fingerprint << (64 - table.shape().fingerprint_bits)});
}

// Everything that a table can know of an item.
using Likeness = std::tuple<uint64_t, uint64_t, uint64_t>;
Likeness LikenessIn(const CuckooTable& table, const CuckooPair& pair, const CuckooKey& key) {
  return {std::min(pair.bucket, pair.partner), std::max(pair.bucket, pair.partner), table.FingerprintOf(key)};
}

TEST_F(CuckooTableTest, WhatATableCannotTellApartNoOlderOneCan) {
  const std::vector<std::vector<std::pair<uint64_t, uint32_t>>> shapes{
      {{1, 3}, {2, 3}, {4, 4}, {12, 4}, {12, 6}, {60, 8}},
      {{5, 6}, {5, 6}, {35, 7}},
      {{7, 2}, {14, 9}, {28, 9}},
      {{16, 8}, {32, 8}, {64, 9}, {128, 9}},
      {{9, 5}},
  };
  for (const auto& shape : shapes) {
    TableChain chain;
    for (const auto& [buckets, bits] : shape) Append(chain, {1, 0.01, buckets, 4, bits});
    // For each table but the oldest: each likeness that it knows, with the likeness in the table before.
    std::vector<std::map<Likeness, Likeness>> seen(chain.size());
    const CuckooTable& newest = *chain.newest();
    for (uint64_t bucket = 0; bucket < newest.shape().buckets; ++bucket) {
      for (uint64_t fingerprint = 0; fingerprint < uint64_t{1} << newest.shape().fingerprint_bits; ++fingerprint) {
        const CuckooKey key = KeyIn(newest, bucket, fingerprint);
        ASSERT_EQ(PairIn(chain, chain.size() - 1, key).bucket, bucket);
        for (size_t i = 1; i < chain.size(); ++i) {
          const Likeness older = LikenessIn(*chain.tables()[i - 1], PairIn(chain, i - 1, key), key);
          const Likeness here = LikenessIn(*chain.tables()[i], PairIn(chain, i, key), key);
          const auto [at, first] = seen[i].try_emplace(here, older);
          ASSERT_TRUE(first || at->second == older)
              << "table " << i << " bucket " << bucket << " fingerprint " << fingerprint;
        }
      }
    }
    for (size_t i = 1; i < chain.size(); ++i) EXPECT_FALSE(seen[i].empty());
  }
}

TEST_F(CuckooTableTest, PartnersAreFoundFromTheFingerprintAlone) {
  TableChain chain;
  for (const auto& [buckets, bits] : {std::pair{6, 5}, {6, 7}, {30, 7}, {60, 9}}) {
    Append(chain, {1, 0.01, static_cast<uint64_t>(buckets), 4, static_cast<uint32_t>(bits)});
    const CuckooTable& table = *chain.newest();
    for (uint64_t bucket = 0; bucket < table.shape().buckets; ++bucket) {
      for (uint64_t fingerprint = 0; fingerprint < uint64_t{1} << table.shape().fingerprint_bits; ++fingerprint) {
        const CuckooKey key = KeyIn(table, bucket, fingerprint);
        const CuckooPair pair = PairIn(chain, chain.size() - 1, key);
        ASSERT_LT(pair.partner, table.shape().buckets);
        ASSERT_EQ(table.geometry().PartnerOf(pair.bucket, table.FingerprintOf(key)), pair.partner);
        ASSERT_EQ(table.geometry().PartnerOf(pair.partner, table.FingerprintOf(key)), pair.bucket);
      }
    }
  }
}

TEST_F(CuckooTableTest, FingerprintsAreNeverZero) {
  for (const uint32_t bits : {1U, 6U, 13U, 32U}) {
    const auto table = Make(10, bits);
    EXPECT_EQ(table->FingerprintOf(table->KeyOf({0, 0})), 1U);
    EXPECT_EQ(table->FingerprintOf(table->KeyOf({0, UINT64_MAX})), (uint64_t{1} << bits) - 1);
  }
}

TEST_F(CuckooTableTest, CapacityIsReachedAtEverySize) {
  std::mt19937_64 random(1);
  for (uint32_t size = 2; size <= 8; ++size) {
    for (const uint64_t capacity : {1ULL, 90ULL, 130ULL, 200ULL, 1000ULL, 20'000ULL}) {
      for (const uint32_t bits : {kMinFingerprintBits, 8U, 12U, 32U}) {
        for (uint64_t round = 0; round < 1 + 3000 / capacity; ++round) {
          const auto table = Make(CuckooBuckets(capacity, size), bits, size);
          for (uint64_t i = 0; i < capacity; ++i) {
            ASSERT_TRUE(Insert(*table, table->KeyOf({random(), random()})))
                << i << " of " << capacity << ", buckets of " << size << ", " << bits << " bits";
          }
          ASSERT_EQ(table->items(), capacity);
        }
      }
    }
  }
}

TEST_F(CuckooTableTest, NothingIsLostByMoving) {
  const auto table = Make(64, 16);
  std::mt19937_64 random(2);
  std::vector<CuckooKey> keys;
  while (true) {
    const CuckooKey key = table->KeyOf({random(), random()});
    if (!Insert(*table, key)) break;
    keys.push_back(key);
    for (const CuckooKey& each : keys) ASSERT_TRUE(Contains(*table, each));
  }
  EXPECT_GT(keys.size(), 235U) << "of 256 slots";
  for (const CuckooKey& each : keys) {
    ASSERT_TRUE(table->Remove(table->Refine({}, each), table->FingerprintOf(each), version_));
  }
  EXPECT_EQ(table->items(), 0U);
  EXPECT_EQ(BytesOf(*table), BytesOf(*Make(64, 16)));
}

// An insert may fail after any number of iterations, and in any shape: too few iterations are the usual reason.
TEST_F(CuckooTableTest, AnInsertThatFailsLeavesEveryByteAsItWas) {
  std::mt19937_64 random(3);
  for (const uint32_t max_iterations : {1U, 2U, 7U, 40U, 2000U, 65535U}) {
    for (const uint32_t size : {2U, 4U, 8U}) {
      const auto table = Make(50, 12, size);
      for (int failures = 0; failures < 50;) {
        const std::string before = BytesOf(*table);
        const uint64_t items = table->items();
        const uint64_t moves = version_.Current();
        if (Insert(*table, table->KeyOf({random(), random()}), max_iterations)) continue;
        ++failures;
        ASSERT_EQ(BytesOf(*table), before);
        ASSERT_EQ(table->items(), items);
        ASSERT_EQ(version_.Current(), moves);
      }
    }
  }
}

TEST_F(CuckooTableTest, MoreIterationsFillMore) {
  double last = 0;
  for (const uint32_t max_iterations : {1U, 10U, 100U, 1000U}) {
    std::mt19937_64 random(4);
    const auto table = Make(5000, 12);
    while (Insert(*table, table->KeyOf({random(), random()}), max_iterations)) {
    }
    const double load = static_cast<double>(table->items()) / 20'000;
    EXPECT_GT(load, last);
    last = load;
  }
  EXPECT_GT(last, 0.96);
}

TEST_F(CuckooTableTest, OneFingerprintFillsItsTwoBucketsAndNoMore) {
  const auto table = Make(1000, 12);
  const CuckooKey key = table->KeyOf({12345, 0xABCDEF0000000000});
  const CuckooPair pair = table->Refine({}, key);
  ASSERT_NE(pair.bucket, pair.partner);
  const uint64_t fingerprint = table->FingerprintOf(key);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_FALSE(table->IsSaturated(pair, fingerprint));
    EXPECT_EQ(table->Count(pair, fingerprint), i);
    ASSERT_TRUE(Insert(*table, key));
  }
  EXPECT_TRUE(table->IsSaturated(pair, fingerprint));
  EXPECT_EQ(table->Count(pair, fingerprint), 8U);
  EXPECT_FALSE(Insert(*table, key));
  EXPECT_EQ(table->items(), 8U);
}

TEST_F(CuckooTableTest, AnItemWhosePairIsOneBucketCountsOnce) {
  const auto table = Make(16, 8);
  std::mt19937_64 random(5);
  for (int found = 0; found < 10;) {
    const CuckooKey key = table->KeyOf({random(), random()});
    const CuckooPair pair = table->Refine({}, key);
    if (pair.bucket != pair.partner) continue;
    ++found;
    const auto fresh = Make(16, 8);
    for (uint32_t i = 1; i <= 4; ++i) {
      ASSERT_TRUE(Insert(*fresh, key));
      ASSERT_EQ(fresh->Count(pair, fresh->FingerprintOf(key)), i);
    }
    EXPECT_FALSE(Insert(*fresh, key));
    EXPECT_TRUE(fresh->IsSaturated(pair, fresh->FingerprintOf(key)));
  }
}

// A grown chain's newest table fills as a table of its own would: partners are as many as there are fingerprints.
TEST_F(CuckooTableTest, ATableBehindASmallOldestOneFillsAsWell) {
  for (const uint32_t bits : {kMinFingerprintBits, 10U}) {
    TableChain chain;
    for (uint64_t buckets = 32; buckets <= 32 << 9; buckets *= 2) Append(chain, {1, 0.01, buckets, 4, bits});
    CuckooTable& newest = *chain.newest();
    std::mt19937_64 random(6);
    const uint64_t capacity = CuckooCapacity(newest.shape().buckets, 4);
    for (uint64_t i = 0; i < capacity; ++i) {
      const CuckooKey key = newest.KeyOf({random(), random()});
      ASSERT_TRUE(newest.Insert(PairIn(chain, chain.size() - 1, key), newest.FingerprintOf(key), kEnough, version_))
          << i << " of " << capacity;
    }
  }
}

}  // namespace
}  // namespace bitsieve::core
