#include "core/families/redisbloom/redis_cuckoo.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "core/base/checksum.h"
#include "core/families/redisbloom/redis_cuckoo_codec.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "tests/support/key_source.h"

namespace bitsieve::core {
namespace {

using Presence = RedisCuckoo::Presence;
using test::Key;
using test::KeySource;

class RedisCuckooTest : public testing::Test {
 protected:
  std::unique_ptr<RedisCuckoo> Make(uint64_t capacity, uint32_t expansion, uint32_t bucket_size = 2,
                                    uint32_t max_iterations = 20) {
    FilterParams params;
    params.type = kRedisCuckooType;
    params.capacity = capacity;
    params.expansion = expansion;
    SetRedisCuckooParams(params, {bucket_size, max_iterations});
    auto filter = MakeFilter(params, budget_, SystemClock());
    EXPECT_TRUE(filter) << filter.error().message;
    return std::unique_ptr<RedisCuckoo>(static_cast<RedisCuckoo*>(filter->release()));
  }

  static AddOutcome Add(RedisCuckoo& filter, const std::string& item, Presence presence = Presence::kIgnored) {
    const KeyHash hash = filter.HashOf(item);
    AddOutcome outcome{};
    EXPECT_EQ(filter.Insert({&hash, 1}, presence, kMaxRedisCuckooFilters + 1, {&outcome, 1}), 1U);
    return outcome;
  }
  static void AddNumbers(RedisCuckoo& filter, int first, int end) {
    for (int i = first; i < end; ++i) ASSERT_EQ(Add(filter, std::to_string(i)), AddOutcome::kAdded) << i;
  }
  static bool Remove(RedisCuckoo& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    uint8_t removed = 0;
    filter.Remove({&hash, 1}, {&removed, 1});
    return removed != 0;
  }
  static bool Has(const RedisCuckoo& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static uint64_t Count(const RedisCuckoo& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    uint64_t count = 0;
    filter.Count({&hash, 1}, {&count, 1});
    return count;
  }
  // One chunk a sub-filter.
  static std::vector<std::string> Dump(const RedisCuckoo& filter) {
    std::vector<std::string> chunks;
    for (uint64_t offset = 0;;) {
      chunks.push_back(filter.ReadChunk(offset));
      if (chunks.back().empty()) break;
      offset += chunks.back().size();
    }
    chunks.pop_back();
    return chunks;
  }
  static std::string Joined(const RedisCuckoo& filter) {
    std::string joined;
    for (const std::string& chunk : Dump(filter)) joined += chunk;
    return joined;
  }
  // Header and slots of RedisBloom's dump, as hexadecimal digits.
  static std::string Hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (const char byte : bytes) {
      hex += kDigits[static_cast<uint8_t>(byte) >> 4];
      hex += kDigits[static_cast<uint8_t>(byte) & 15];
    }
    return hex;
  }

  MemoryBudget budget_;
};

// ---- bytes

TEST_F(RedisCuckooTest, OneItemIsWhereRedisBloomPutsIt) {
  const auto filter = Make(8, 1);
  EXPECT_EQ(Add(*filter, "item1"), AddOutcome::kAdded);
  EXPECT_EQ(Hex(EncodeRedisCuckooHeader(filter->Header())),
            "0100000000000000040000000000000000000000000000000100000000000000020014000100");
  EXPECT_EQ(Hex(filter->ReadChunk(0)), "0000000007000000");
}

TEST_F(RedisCuckooTest, AChainIsRedisBloomsByteForByte) {
  const auto filter = Make(64, 2);
  AddNumbers(*filter, 0, 200);
  const std::vector<std::string> chunks = Dump(*filter);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].size(), 64U);
  EXPECT_EQ(chunks[1].size(), 128U);
  EXPECT_EQ(chunks[2].size(), 256U);
  // XXH3 of the bytes whose SHA-256 is c37f4014f22f0dc878d10d304ec6f53c9b0427fce2563fa35edeee1beccd50b7, which the
  // integration test compares.
  EXPECT_EQ(Checksum(Joined(*filter)), 5429913406295772938U);
}

TEST_F(RedisCuckooTest, AsManyItemsFitAsInRedisBloom) {
  const auto filter = Make(4, 1);
  int items = 0;
  for (; filter->filters() < 32; ++items) EXPECT_EQ(Add(*filter, std::to_string(items)), AddOutcome::kAdded);
  EXPECT_EQ(items, 124);
}

TEST_F(RedisCuckooTest, HashesAreTheVectors) {
  const std::map<std::string, std::pair<uint64_t, int>> vectors{
      {"", {0x0000000000000000, 1}},          {"a", {0x071717d2d36b6b11, 196}},
      {"foo", {0xcdde38358fd25b01, 217}},     {"item1", {0x7930a108c52a9032, 7}},
      {"12345678", {0x758f67d162b2d202, 41}}, {"123456789", {0x4977490251674330, 57}}};
  const auto filter = Make(8, 1);
  for (const auto& [item, expected] : vectors) {
    const CuckooFingerprint fingerprint = RedisCuckooTable::FingerprintOf(filter->HashOf(item));
    EXPECT_EQ(fingerprint.first, expected.first) << item;
    EXPECT_EQ(fingerprint.fingerprint, expected.second) << item;
    EXPECT_EQ(fingerprint.second, fingerprint.first ^ (expected.second * uint64_t{0x5bd1e995})) << item;
  }
}

TEST_F(RedisCuckooTest, ChunksBeginAtAnyOffsetAndEndWithASubFilter) {
  const auto filter = Make(64, 2);
  AddNumbers(*filter, 0, 200);
  const std::string all = Joined(*filter);
  EXPECT_EQ(filter->ReadChunk(10), all.substr(10, 54));
  EXPECT_EQ(filter->ReadChunk(64), all.substr(64, 128));
  EXPECT_EQ(filter->ReadChunk(447), all.substr(447));
  EXPECT_EQ(filter->ReadChunk(448), "");
  EXPECT_EQ(filter->ReadChunk(UINT64_MAX), "");
}

// ---- adding

TEST_F(RedisCuckooTest, EachAdditionLeavesAPrint) {
  const auto filter = Make(1000, 1);
  EXPECT_EQ(Add(*filter, "x"), AddOutcome::kAdded);
  EXPECT_EQ(Add(*filter, "x"), AddOutcome::kAdded);
  EXPECT_EQ(Add(*filter, "x", Presence::kReported), AddOutcome::kPresent);
  EXPECT_EQ(Count(*filter, "x"), 3U);
  EXPECT_EQ(Add(*filter, "x", Presence::kSkipped), AddOutcome::kPresent);
  EXPECT_EQ(Count(*filter, "x"), 3U);
  EXPECT_EQ(filter->ItemCount(), 3U);
  EXPECT_EQ(Add(*filter, "y", Presence::kSkipped), AddOutcome::kAdded);
}

TEST_F(RedisCuckooTest, AnAdditionThatFailsLeavesEverythingAsItWas) {
  for (const uint32_t bucket_size : {1U, 2U, 3U, 4U}) {
    const auto filter = Make(64 * bucket_size, 0, bucket_size, 100);
    int refused = 0;
    for (int i = 0; refused < 50; ++i) {
      const std::string before = Joined(*filter);
      const uint64_t changes = filter->ChangeCount();
      const AddOutcome outcome = Add(*filter, std::to_string(i));
      if (outcome == AddOutcome::kAdded) continue;
      EXPECT_EQ(outcome, AddOutcome::kFull);
      ASSERT_EQ(Joined(*filter), before);
      ASSERT_EQ(filter->ChangeCount(), changes);
      ++refused;
    }
    EXPECT_GT(filter->Info().fill_ratio, bucket_size == 1 ? 0.3 : 0.7);
    // Full is full for what is there as well: each addition needs room, lest a removal take another's fingerprint.
    const KeyHash hash = filter->HashOf("0");
    AddOutcome outcome{};
    for (int i = 0; i < 10; ++i) filter->Add({&hash, 1}, {&outcome, 1});
    EXPECT_EQ(outcome, AddOutcome::kFull);
  }
}

TEST_F(RedisCuckooTest, InsertStopsAtTheGivenNumberOfSubFilters) {
  const auto filter = Make(4, 1);
  std::vector<KeyHash> hashes;
  for (int i = 0; i < 100; ++i) hashes.push_back(filter->HashOf(std::to_string(i)));
  std::vector<AddOutcome> outcomes(hashes.size());
  const size_t told = filter->Insert(hashes, Presence::kIgnored, 3, outcomes);
  EXPECT_EQ(filter->filters(), 3U);
  EXPECT_EQ(filter->ItemCount(), told);
  EXPECT_EQ(filter->Insert(hashes, Presence::kSkipped, 3, outcomes), 0U);
}

TEST_F(RedisCuckooTest, GrowthThatTheBudgetRefusesIsTold) {
  const auto filter = Make(4, 32768);
  budget_.set_limit_bytes(budget_.used_bytes() + 1000);
  AddOutcome outcome = AddOutcome::kAdded;
  for (int i = 0; i < 10 && outcome == AddOutcome::kAdded; ++i) outcome = Add(*filter, std::to_string(i));
  EXPECT_EQ(outcome, AddOutcome::kOutOfMemory);
  EXPECT_EQ(filter->filters(), 1U);
}

TEST_F(RedisCuckooTest, AllMemoryIsGivenBack) {
  {
    const auto filter = Make(4, 2);
    AddNumbers(*filter, 0, 1000);
    EXPECT_EQ(filter->Info().size_bytes, budget_.used_bytes());
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

// ---- removing and compacting

// Half of the items never existed for a model that knows fingerprints and buckets only.
TEST_F(RedisCuckooTest, WhatWasAddedAndNotRemovedIsFoundWhateverIsRemoved) {
  for (const uint32_t expansion : {1U, 2U, 4U}) {
    const auto filter = Make(16, expansion);
    std::mt19937_64 random(expansion);
    std::map<int, int> live;
    int additions = 0;
    for (int step = 0; step < 20'000; ++step) {
      const int item = static_cast<int>(random() % 400);
      const bool adding = random() % 100 < (step / 2000 % 2 == 0 ? 70U : 30U);
      if (adding && additions < 600) {
        ASSERT_EQ(Add(*filter, std::to_string(item)), AddOutcome::kAdded);
        ++live[item], ++additions;
      } else if (live.contains(item)) {
        ASSERT_TRUE(Remove(*filter, std::to_string(item))) << step;
        --additions;
        if (--live[item] == 0) live.erase(item);
      }
      if (step % 1000 == 999) filter->Compact();
      ASSERT_EQ(filter->ItemCount(), static_cast<uint64_t>(additions));
      if (step % 50 != 0) continue;
      for (const auto& [each, count] : live) {
        ASSERT_GE(Count(*filter, std::to_string(each)), static_cast<uint64_t>(count)) << step;
      }
    }
  }
}

TEST_F(RedisCuckooTest, CompactionTakesOffWhatItEmptiesAndGrowthUsesItAgain) {
  const auto filter = Make(64, 1);
  AddNumbers(*filter, 0, 400);
  const uint64_t filters = filter->filters();
  ASSERT_GT(filters, 5U);
  const uint64_t memory = budget_.used_bytes();
  for (int i = 0; i < 400; ++i) {
    if (i % 8 == 0) continue;
    ASSERT_TRUE(Remove(*filter, std::to_string(i)));
  }
  filter->Compact();
  EXPECT_EQ(filter->Header().deletes, 0U);
  EXPECT_LE(filter->filters(), 2U);
  EXPECT_EQ(filter->ItemCount(), 50U);
  for (int i = 0; i < 400; i += 8) ASSERT_TRUE(Has(*filter, std::to_string(i)));
  EXPECT_EQ(budget_.used_bytes(), memory);
  EXPECT_EQ(filter->Info().size_bytes, memory);
  AddNumbers(*filter, 1000, 1250);
  EXPECT_EQ(budget_.used_bytes(), memory);
  for (int i = 0; i < 400; i += 8) ASSERT_TRUE(Has(*filter, std::to_string(i)));
}

TEST_F(RedisCuckooTest, RemovalsCompactOnceTheyAreATenthOfWhatIsLeft) {
  const auto filter = Make(64, 1);
  AddNumbers(*filter, 0, 220);
  const uint64_t filters = filter->filters();
  ASSERT_GT(filters, 1U);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Remove(*filter, std::to_string(i)));
  EXPECT_EQ(filter->Header().deletes, 20U);  // a tenth of 200, and not more
  ASSERT_TRUE(Remove(*filter, "20"));
  EXPECT_EQ(filter->Header().deletes, 0U);
  for (int i = 21; i < 220; ++i) ASSERT_TRUE(Has(*filter, std::to_string(i)));
  for (int i = 21; i < 220; ++i) ASSERT_TRUE(Remove(*filter, std::to_string(i)));
  EXPECT_EQ(filter->ItemCount(), 0U);
  EXPECT_EQ(filter->filters(), 1U);
}

TEST_F(RedisCuckooTest, ASingleSubFilterIsNeverCompactedByRemovals) {
  const auto filter = Make(1000, 1);
  AddNumbers(*filter, 0, 100);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Remove(*filter, std::to_string(i)));
  EXPECT_EQ(filter->Header().deletes, 100U);
  EXPECT_FALSE(Remove(*filter, "0"));
  EXPECT_EQ(filter->Header().deletes, 100U);
}

// ---- loading

TEST_F(RedisCuckooTest, ADumpComesBackAndGoesOnAlike) {
  const auto filter = Make(64, 2);
  AddNumbers(*filter, 0, 200);
  ASSERT_TRUE(Remove(*filter, "7"));
  auto decoder = OpenRedisCuckooDump(filter->Header(), budget_);
  ASSERT_TRUE(decoder);
  for (const std::string& chunk : Dump(*filter)) ASSERT_TRUE((*decoder)->Append(std::as_bytes(std::span(chunk))));
  const auto loaded = (*decoder)->Finish();
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto& copy = static_cast<RedisCuckoo&>(**loaded);
  EXPECT_EQ(EncodeRedisCuckooHeader(copy.Header()), EncodeRedisCuckooHeader(filter->Header()));
  for (RedisCuckoo* each : {filter.get(), &copy}) {
    AddNumbers(*each, 200, 600);
    for (int i = 0; i < 500; i += 2) Remove(*each, std::to_string(i));
  }
  EXPECT_EQ(Joined(copy), Joined(*filter));
  EXPECT_EQ(EncodeRedisCuckooHeader(copy.Header()), EncodeRedisCuckooHeader(filter->Header()));
}

// A dump taken while items come and go, which RedisBloom allows, has a header of another moment than its body.
TEST_F(RedisCuckooTest, ItemsOfADumpAreThoseOfItsBody) {
  RedisCuckooHeader header{.items = 3, .buckets = 4, .bucket_size = 2, .max_iterations = 20, .expansion = 1};
  auto decoder = OpenRedisCuckooDump(header, budget_);
  ASSERT_TRUE(decoder);
  ASSERT_TRUE((*decoder)->Append(std::as_bytes(std::span("\7\7\7\7\7\0\7", 8))));
  EXPECT_FALSE((*decoder)->Append(std::as_bytes(std::span("x", 1))));
  const auto loaded = (*decoder)->Finish();
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->ItemCount(), 6U);
  while (Remove(static_cast<RedisCuckoo&>(**loaded), "item1")) {
  }
  EXPECT_LT((*loaded)->ItemCount(), 6U);
}

TEST_F(RedisCuckooTest, ChunksAreWrittenIntoAFilterThatIsThere) {
  const auto original = Make(64, 2);
  AddNumbers(*original, 0, 200);
  auto decoder = OpenRedisCuckooDump(original->Header(), budget_);
  ASSERT_TRUE(decoder);
  const std::string zeros(Joined(*original).size(), '\0');
  ASSERT_TRUE((*decoder)->Append(std::as_bytes(std::span(zeros))));
  const auto loaded = (*decoder)->Finish();
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto& filter = static_cast<RedisCuckoo&>(**loaded);
  EXPECT_EQ(filter.ItemCount(), 0U);
  uint64_t offset = 0;
  for (const std::string& chunk : Dump(*original)) {
    ASSERT_TRUE(filter.WriteChunk(offset, chunk));
    offset += chunk.size();
  }
  EXPECT_EQ(Joined(filter), Joined(*original));
  EXPECT_EQ(filter.ItemCount(), 200U);
  EXPECT_TRUE(Has(filter, "7"));
  EXPECT_TRUE(Remove(filter, "7"));
  EXPECT_FALSE(filter.WriteChunk(offset, "x"));
  EXPECT_FALSE(filter.WriteChunk(1, Joined(*original)));  // of several sub-filters
}

// ---- more than 4 Gi slots

TEST(RedisCuckooTableTest, SlotsBeyond32BitsAreOfTheirOwn) {
  MemoryBudget budget;
  const auto table = RedisCuckooTable::Make(uint64_t{1} << 32, 2, budget);
  if (!table) GTEST_SKIP() << "this system does not lend 8 GiB, of which two pages would be touched";
  const CuckooFingerprint low{5, 7, 1};
  const CuckooFingerprint high{(uint64_t{1} << 31) + 5, (uint64_t{1} << 31) + 7, 1};  // the same slots, modulo 2^32
  EXPECT_TRUE((*table)->Place(low));
  EXPECT_TRUE((*table)->Contains(low));
  EXPECT_FALSE((*table)->Contains(high));
  EXPECT_TRUE((*table)->Place(high));
  EXPECT_TRUE((*table)->Take(low));
  EXPECT_TRUE((*table)->Contains(high));
}

// ---- one version for everybody

// Items that stay are found in every lookup, while others come and go, are kicked about, and sub-filters with them.
TEST_F(RedisCuckooTest, ReadersMissNothingWhilePrintsMove) {
  const auto filter = Make(1000, 1, 2, 500);
  constexpr int kStay = 800;
  AddNumbers(*filter, 0, kStay);
  std::vector<KeyHash> hashes;
  for (int i = 0; i < kStay; ++i) hashes.push_back(filter->HashOf(std::to_string(i)));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> missed{0}, rounds{0}, miscounted{0};
  const auto read = [&] {
    std::vector<uint8_t> present(hashes.size());
    std::vector<uint64_t> counts(hashes.size());
    for (; !done; ++rounds) {
      filter->MayContain(hashes, present);
      filter->Count(hashes, counts);
      for (const uint8_t each : present) missed += each == 0;
      for (const uint64_t each : counts) miscounted += each == 0;
    }
  };
  std::thread readers[] = {std::thread(read), std::thread(read)};
  for (int round = 0; round < 15 || rounds < 20; ++round) {
    AddNumbers(*filter, kStay, kStay + 1500);
    if (round % 3 == 0) filter->Compact();
    for (int i = kStay; i < kStay + 1500; ++i) ASSERT_TRUE(Remove(*filter, std::to_string(i)));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed, 0U);
  EXPECT_EQ(miscounted, 0U);
  EXPECT_EQ(filter->ItemCount(), static_cast<uint64_t>(kStay));
}

TEST_F(RedisCuckooTest, NewIsToldOnceByManyThreads) {
  const auto filter = Make(100, 2);
  constexpr int kItems = 2000;
  std::atomic<int> added{0};
  const auto add = [&] {
    for (int i = 0; i < kItems; ++i) {
      added += Add(*filter, std::to_string(i), Presence::kSkipped) == AddOutcome::kAdded;
    }
  };
  std::thread threads[] = {std::thread(add), std::thread(add), std::thread(add)};
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filter->ItemCount(), static_cast<uint64_t>(added));
  const auto alone = Make(100, 2);
  int once = 0;
  for (int i = 0; i < kItems; ++i) {
    once += Add(*alone, std::to_string(i), Presence::kSkipped) == AddOutcome::kAdded;
  }
  EXPECT_NEAR(added, once, 100);
}

// ---- the rate that it has

TEST_F(RedisCuckooTest, ErrorRateIsAsItIsTold) {
  for (const uint32_t bucket_size : {1U, 2U, 4U}) {
    const auto filter = Make(50'000, 1, bucket_size);
    for (uint64_t i = 0; i < 60'000; ++i) Add(*filter, Key(KeySource::kUuids, i));
    constexpr int kProbes = 100'000;
    int wrong = 0;
    for (uint64_t i = 0; i < kProbes; ++i) wrong += Has(*filter, Key(KeySource::kUuids, 1'000'000'000 + i));
    const double expected = filter->EstimatedErrorRate().value() * kProbes;
    EXPECT_NEAR(wrong, expected, 6 * std::sqrt(expected));
    EXPECT_LT(expected / kProbes, 1 - std::pow(254.0 / 255, 2.0 * bucket_size * filter->Info().sub_filters));
  }
}

}  // namespace
}  // namespace bitsieve::core
