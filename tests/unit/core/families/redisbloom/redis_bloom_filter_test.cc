#include "core/families/redisbloom/redis_bloom_filter.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/base/checksum.h"
#include "core/families/redisbloom/redis_bloom.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "tests/support/redis_bloom_header.h"

namespace bitsieve::core {
namespace {

using test::ToHex;
using enum AddOutcome;

class RedisBloomFilterTest : public testing::Test {
 protected:
  std::unique_ptr<RedisBloomFilter> Make(double rate, uint64_t capacity, uint32_t expansion = 2) {
    FilterParams params;
    params.type = kRedisBloomType;
    params.error_rate = rate;
    params.capacity = capacity;
    params.expansion = expansion;
    params.seed = 77;  // it has none
    auto made = MakeFilter(params, budget_, SystemClock());
    EXPECT_TRUE(made) << made.error().message;
    return std::unique_ptr<RedisBloomFilter>(dynamic_cast<RedisBloomFilter*>(made->release()));
  }
  static AddOutcome Add(Filter& filter, std::string_view item) {
    const KeyHash hash = filter.HashOf(item);
    AddOutcome outcome;
    EXPECT_EQ(filter.Add({&hash, 1}, {&outcome, 1}), 1U);
    return outcome;
  }
  static bool Has(const Filter& filter, std::string_view item) {
    const KeyHash hash = filter.HashOf(item);
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static void AddNumbers(Filter& filter, int count) {
    for (int i = 0; i < count; ++i) Add(filter, std::to_string(i));
  }
  // Returns the bits of a filter, read as a client does, in pieces of at most `most` bytes.
  static std::string BitsOf(const RedisBloomFilter& filter, size_t most = 1 << 20) {
    std::string bits;
    for (;;) {
      const std::string piece = filter.ReadPiece(bits.size(), most);
      if (piece.empty()) return bits;
      bits += piece;
    }
  }
  // Makes a filter from a header and bits, as a client loads them.
  Result<std::unique_ptr<Filter>> Load(const std::string& header, const std::string& bits) {
    auto decoder = OpenRedisBloom(header, ItemCounts::kSummed, budget_);
    if (!decoder) return tl::unexpected(decoder.error());
    if (Status status = (*decoder)->Append(AsBytes(bits)); !status) return tl::unexpected(status.error());
    return (*decoder)->Finish();
  }

  MemoryBudget budget_;
};

TEST_F(RedisBloomFilterTest, HashesAreRedisBlooms) {
  const auto filter = Make(0.01, 100);
  const auto hash = [&](std::string_view item) {
    return std::pair(filter->HashOf(item).low, filter->HashOf(item).high);
  };
  EXPECT_EQ(hash(""), std::pair(0x1ab11ea5a7b2c56eUL, 0xbbddcb5ab56dd547UL));
  EXPECT_EQ(hash("a"), std::pair(0x4292cee227b9150aUL, 0x7e9b527031f50c11UL));
  EXPECT_EQ(hash("foo"), std::pair(0x822b4f99b121f10dUL, 0x9d63d52a557f61c2UL));
  EXPECT_EQ(hash("item1"), std::pair(0xa053790e072b2e8bUL, 0x707e5d60182eb075UL));
  EXPECT_EQ(hash("12345678"), std::pair(0x700bea34339441c4UL, 0x94ccce0994c5c064UL));
  EXPECT_EQ(hash("123456789"), std::pair(0xb791da69f9d395e3UL, 0xabf3563d45e8173bUL));
}

TEST_F(RedisBloomFilterTest, OneItemGivesRedisBloomsBytes) {
  const auto filter = Make(0.1, 10);
  EXPECT_EQ(Add(*filter, "item1"), kAdded);
  EXPECT_EQ(ToHex(filter->Header()), test::kOneItemHeader);
  EXPECT_EQ(ToHex(BitsOf(*filter)), test::kOneItemBits);
}

TEST_F(RedisBloomFilterTest, TwoItemsSetRedisBloomsBits) {
  const auto filter = Make(0.01, 100);
  Add(*filter, "bar");
  Add(*filter, "baz");
  EXPECT_EQ(ToHex(filter->Header()), test::kTwoItemsHeader);
  std::string expected(144, '\0');
  for (const unsigned bit : test::kTwoItemsBits) expected[bit / 8] |= static_cast<char>(1 << (bit % 8));
  EXPECT_EQ(ToHex(BitsOf(*filter)), ToHex(expected));
}

// The checksums are of bytes whose SHA-256 is compared with RedisBloom's in the integration test.
TEST_F(RedisBloomFilterTest, FourThousandItemsInAChainGiveRedisBloomsBytes) {
  const auto filter = Make(0.001, 100);
  AddNumbers(*filter, 4000);
  EXPECT_EQ(filter->Header().size(), 338U);
  EXPECT_EQ(Checksum(filter->Header()), 11469183888010071237U);
  EXPECT_EQ(Checksum(BitsOf(*filter)), 3053684130370273471U);
  EXPECT_EQ(BitsOf(*filter, 7), BitsOf(*filter));
}

TEST_F(RedisBloomFilterTest, FullWhereRedisBloomsIs) {
  const auto filter = Make(0.01, 3, 0);
  EXPECT_EQ(Add(*filter, "a"), kAdded);
  EXPECT_EQ(Add(*filter, "b"), kAdded);
  EXPECT_EQ(Add(*filter, "c"), kAdded);
  EXPECT_EQ(Add(*filter, "d"), kFull);
  EXPECT_EQ(Add(*filter, "a"), kPresent);
  EXPECT_EQ(BitsOf(*filter).size(), 8U);
  EXPECT_EQ(filter->Info().hash_functions, 7U);
}

TEST_F(RedisBloomFilterTest, GrowsByAsManySubFiltersAsRedisBlooms) {
  const auto sub_filters = [&](uint32_t expansion) {
    const auto filter = Make(0.01, 4, expansion);
    AddNumbers(*filter, 100);
    return filter->Info().sub_filters;
  };
  EXPECT_EQ(sub_filters(1), 23U);
  EXPECT_EQ(sub_filters(2), 5U);
  EXPECT_EQ(sub_filters(4), 4U);
}

TEST_F(RedisBloomFilterTest, TellsItsSizeAsRedisBloomDoes) {
  EXPECT_EQ(Make(0.01, 100)->Info().size_bytes, 240U);
  EXPECT_EQ(Make(0.001, 100)->Info().size_bytes, 296U);
  EXPECT_EQ(Make(0.01, 3, 0)->Info().size_bytes, 104U);
  EXPECT_EQ(Make(1e-6, 300'000'000)->Info().size_bytes, 1'132'420'232U);
}

TEST_F(RedisBloomFilterTest, LoadsWhatItDumpsAndGoesOnAlike) {
  for (const int items : {0, 50, 4000}) {
    const auto filter = Make(0.001, 100);
    AddNumbers(*filter, items);
    const auto loaded = Load(filter->Header(), BitsOf(*filter));
    ASSERT_TRUE(loaded) << loaded.error().message;
    auto& copy = dynamic_cast<RedisBloomFilter&>(**loaded);
    EXPECT_EQ(copy.params().error_rate, 0.001);
    EXPECT_EQ(copy.params().capacity, 100U);
    for (RedisBloomFilter* each : {filter.get(), &copy}) AddNumbers(*each, items + 1000);
    EXPECT_EQ(ToHex(copy.Header()), ToHex(filter->Header()));
    EXPECT_EQ(BitsOf(copy), BitsOf(*filter));
  }
}

TEST_F(RedisBloomFilterTest, GrowingEndsWhereNoRateIsLeft) {
  const auto filter = Make(1e-300, 1, 1);
  AddOutcome last = kAdded;
  int items = 0;
  while (last <= kAdded && items < 2000) last = Add(*filter, std::to_string(items++));
  EXPECT_EQ(last, kCannotGrow);
  EXPECT_GT(items, 70);
  EXPECT_TRUE(Has(*filter, "0"));
  EXPECT_TRUE(Load(filter->Header(), BitsOf(*filter)));
}

TEST_F(RedisBloomFilterTest, ShapesThatNoMemoryHoldsAreNotValid) {
  EXPECT_FALSE(IsValid(RedisBloom::ShapeFor(uint64_t{1} << 63, 0.01, RedisBloom::Rounding::kToWords)));
  EXPECT_FALSE(IsValid(RedisBloom::ShapeFor(uint64_t{1} << 63, 0.01, RedisBloom::Rounding::kToPowerOfTwo)));
}

TEST_F(RedisBloomFilterTest, RatesAsSmallAsADoubleTellsAreKept) {
  for (const double rate : {1e-12, 1e-100, 1e-300}) {
    const auto filter = Make(rate, 10, 0);
    EXPECT_EQ(Add(*filter, "a"), kAdded);
    EXPECT_TRUE(Has(*filter, "a"));
    EXPECT_FALSE(Has(*filter, "b"));
    EXPECT_TRUE(Load(filter->Header(), BitsOf(*filter)));
  }
}

TEST_F(RedisBloomFilterTest, RefusesWhatNoMemoryHolds) {
  FilterParams params;
  params.type = kRedisBloomType;
  params.capacity = uint64_t{1} << 52;
  const auto made = MakeFilter(params, budget_, SystemClock());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
}

// Versions before 2.2: 16 + 49 bytes, sizes that are powers of two, 32-bit hashes, bits left empty.
TEST_F(RedisBloomFilterTest, ReadsAFilterOfVersion1) {
  constexpr uint8_t kN2 = 10;
  test::RedisBloomFields fields;
  fields.items = 2;
  fields.options = 0;
  fields.sub_filter[0] = {.bytes = 128,
                          .bits = 0,
                          .items = 2,
                          .error = 0.01,
                          .bits_per_entry = 9.585058377367439,
                          .hashes = 7,
                          .entries = 106,
                          .n2 = kN2};
  // The bits, worked out as RedisBloom's 32-bit arithmetic did.
  std::string bits(128, '\0');
  for (const std::string_view item : {"foo", "bar"}) {
    const KeyHash hash = HashItem(HashKind::kRedisBloom32, item, 0);
    for (uint32_t i = 0; i < 7; ++i) {
      const uint32_t x = (static_cast<uint32_t>(hash.low) + i * static_cast<uint32_t>(hash.high)) % (1U << kN2);
      bits[x / 8] |= static_cast<char>(1 << (x % 8));
    }
  }
  const auto loaded = Load(fields.EncodeOld(), bits);
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto& filter = dynamic_cast<RedisBloomFilter&>(**loaded);
  EXPECT_EQ(filter.params().hash, HashKind::kRedisBloom32);
  EXPECT_TRUE(Has(filter, "foo") && Has(filter, "bar"));
  EXPECT_FALSE(Has(filter, "baz"));
  EXPECT_EQ(filter.params().expansion, 2U);

  // Written again, it is what today's RedisBloom can read: `growth` and `bits` are set.
  fields.growth = 2;
  fields.sub_filter[0].bits = 1024;
  EXPECT_EQ(ToHex(filter.Header()), ToHex(fields.Encode()));
  EXPECT_EQ(BitsOf(filter), bits);
  // It grows as it was made: to a power of two, with 32-bit hashes.
  AddNumbers(filter, 200);
  const ChainHeader grown = DecodeRedisBloomHeader(filter.Header(), ItemCounts::kSummed).value();
  const SubFilterShape& newest = grown.sub_filters.back().shape;
  EXPECT_EQ(grown.sub_filters.size(), 2U);
  EXPECT_EQ(newest.error_rate, 0.005);
  EXPECT_EQ(newest.log2_positions, 12);
  EXPECT_EQ(newest.bits, 4096U);
  EXPECT_GT(newest.capacity, 212U);  // spare bits raise the capacity
  EXPECT_TRUE(Load(filter.Header(), BitsOf(filter)));
}

// Version 2.2.0 rounded to bytes, not to words.
TEST_F(RedisBloomFilterTest, ReadsASubFilterOfAnyNumberOfBytes) {
  test::RedisBloomFields fields;
  fields.items = 0;
  fields.sub_filter[0] = {.bytes = 138,
                          .bits = 1104,
                          .items = 0,
                          .error = 0.005,
                          .bits_per_entry = 11.027753417767439,
                          .hashes = 8,
                          .entries = 100};
  fields.sub_filter[0].bits_per_entry = RedisBloom::BitsPerEntry(0.005);
  const auto loaded = Load(fields.Encode(), std::string(138, '\0'));
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto& filter = dynamic_cast<RedisBloomFilter&>(**loaded);
  AddNumbers(filter, 100);
  EXPECT_TRUE(Has(filter, "0"));
  EXPECT_EQ(BitsOf(filter).size(), 138U);
  EXPECT_EQ(filter.Info().size_bytes, 32 + 64 + 138U);
  const auto again = Load(filter.Header(), BitsOf(filter));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(Has(**again, "99"));
}

// Arithmetic of 32-bit hashes with a modulus that is not a power of two, or one beyond 32 bits, is 64-bit.
TEST_F(RedisBloomFilterTest, ThirtyTwoBitHashesStepByFullSums) {
  test::RedisBloomFields fields;
  fields.options = 1;
  fields.sub_filter[0].bits_per_entry = RedisBloom::BitsPerEntry(0.05);
  std::string bits(8, '\0');
  const KeyHash hash = HashItem(HashKind::kRedisBloom32, "item1", 0);
  for (uint64_t i = 0; i < 5; ++i) {
    const uint64_t x = (hash.low + i * hash.high) % 64;
    bits[x / 8] |= static_cast<char>(1 << (x % 8));
  }
  const auto loaded = Load(fields.Encode(), bits);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(Has(**loaded, "item1"));
  EXPECT_FALSE(Has(**loaded, "item2"));
  EXPECT_EQ(ToHex(dynamic_cast<RedisBloomFilter&>(**loaded).Header()), ToHex(fields.Encode()));
}

TEST_F(RedisBloomFilterTest, StoredWordsComeBackAsTheyWere) {
  test::RedisBloomFields fields;
  fields.options = 15;  // does not scale; capacities given as bits
  fields.growth = 7;
  const auto loaded = Load(fields.Encode(), test::FromHex(test::kOneItemBits));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE((*loaded)->params().scaling());
  EXPECT_EQ(ToHex(dynamic_cast<RedisBloomFilter&>(**loaded).Header()), ToHex(fields.Encode()));
  // The same holds after an image was decoded.
  const auto copy = CloneFilter(**loaded, budget_, SystemClock());
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(ToHex(dynamic_cast<RedisBloomFilter&>(**copy).Header()), ToHex(fields.Encode()));
}

TEST_F(RedisBloomFilterTest, MemoryOfAllSubFiltersIsAskedBeforeAny) {
  test::RedisBloomFields fields;
  fields.items = 0;
  fields.sub_filters = 3;
  fields.sub_filter.assign(
      3,
      {.bytes = 1 << 20, .bits = 1 << 23, .items = 0, .error = 0.05, .bits_per_entry = RedisBloom::BitsPerEntry(0.05)});
  MemoryBudget small(5 << 19);  // two and a half of them
  const auto decoder = OpenRedisBloom(fields.Encode(), ItemCounts::kSummed, small);
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(small.used_bytes(), 0U);
}

TEST_F(RedisBloomFilterTest, BitsThatContradictTheHeaderAreRefused) {
  const test::RedisBloomFields fields;
  const std::string bits = test::FromHex(test::kOneItemBits);
  EXPECT_TRUE(Load(fields.Encode(), bits));
  EXPECT_FALSE(Load(fields.Encode(), bits.substr(1)));
  EXPECT_FALSE(Load(fields.Encode(), bits + "x"));
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

TEST_F(RedisBloomFilterTest, ChunksAreWrittenIntoAFilterThatIsThere) {
  const auto original = Make(0.01, 100);
  AddNumbers(*original, 450);
  const std::string bits = BitsOf(*original);
  auto decoder = OpenRedisBloom(original->Header(), ItemCounts::kDrifted, budget_);
  ASSERT_TRUE(decoder);
  ASSERT_TRUE((*decoder)->Append(AsBytes(std::string(bits.size(), '\0'))));
  const auto loaded = (*decoder)->Finish();
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto& filter = static_cast<RedisBloomFilter&>(**loaded);
  EXPECT_FALSE(Has(filter, "7"));
  const std::string empty = BitsOf(filter);
  const auto image = filter.Capture();
  const uint64_t changes = filter.ChangeCount();
  for (uint64_t offset = 0; offset < bits.size();) {
    const std::string piece = original->ReadPiece(offset, 77);
    ASSERT_TRUE(filter.WritePiece(offset, piece));
    offset += piece.size();
  }
  EXPECT_NE(filter.ChangeCount(), changes);
  EXPECT_EQ(BitsOf(filter), bits);
  EXPECT_EQ(filter.Header(), original->Header());
  EXPECT_EQ(filter.Info().fill_ratio, original->Info().fill_ratio);
  EXPECT_TRUE(Has(filter, "7"));
  std::string captured(empty.size(), 'x');
  ASSERT_TRUE(image->Read(0, std::as_writable_bytes(std::span(captured))));
  EXPECT_EQ(captured, empty);
  EXPECT_FALSE(filter.WritePiece(bits.size(), "x"));
  EXPECT_FALSE(filter.WritePiece(1, bits));  // of two sub-filters
}

TEST_F(RedisBloomFilterTest, CountsThatDriftedAreKept) {
  test::RedisBloomFields fields;
  fields.items = 7;  // not those of its sub-filter
  fields.sub_filter[0].items = 11;
  const auto refused = OpenRedisBloom(fields.Encode(), ItemCounts::kSummed, budget_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "RedisBloom header: the sizes of its filters do not add up to its total");
  auto decoder = OpenRedisBloom(fields.Encode(), ItemCounts::kDrifted, budget_);
  ASSERT_TRUE(decoder) << decoder.error().message;
  ASSERT_TRUE((*decoder)->Append(AsBytes(test::FromHex(test::kOneItemBits))));
  const auto filter = (*decoder)->Finish();
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ((*filter)->ItemCount(), 11U);
  EXPECT_EQ(Add(**filter, "another"), kAdded);  // it grows
  const auto restored = CloneFilter(**filter, budget_, SystemClock());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ((*restored)->ItemCount(), 12U);
}

// Such counts come from RedisBloom, in RDB files and from masters.
TEST_F(RedisBloomFilterTest, CountsBeyondCapacityAndBitsComeBackFromEveryForm) {
  const std::string some_bits = test::FromHex(test::kOneItemBits);
  for (const uint64_t items : {uint64_t{11}, uint64_t{1} << 24, uint64_t{1} << 33, RedisBloom::kMaxEntries}) {
    for (const std::string& bits : {some_bits, std::string(8, '\0')}) {
      for (const uint32_t options : {5U, 13U, 1U}) {
        test::RedisBloomFields fields;
        fields.items = fields.sub_filter[0].items = items;
        fields.options = options;
        SCOPED_TRACE(std::to_string(items) + ", options " + std::to_string(options) + ", bits " + ToHex(bits));
        const auto loaded = Load(fields.Encode(), bits);
        ASSERT_TRUE(loaded) << loaded.error().message;
        auto& filter = static_cast<RedisBloomFilter&>(**loaded);
        for (int further = 0; further < 2; ++further) {  // as it came; then grown, unless it does not scale
          const auto chunks = Load(filter.Header(), BitsOf(filter));
          ASSERT_TRUE(chunks) << chunks.error().message;
          const auto image = CloneFilter(filter, budget_, SystemClock());
          ASSERT_TRUE(image) << image.error().message;
          for (const auto& copy : {&*chunks, &*image}) {
            EXPECT_EQ((*copy)->ItemCount(), items + static_cast<uint64_t>(filter.SubFilters() - 1));
            EXPECT_EQ(static_cast<RedisBloomFilter&>(**copy).Header(), filter.Header());
            EXPECT_EQ(BitsOf(static_cast<RedisBloomFilter&>(**copy)), BitsOf(filter));
          }
          EXPECT_EQ(Add(filter, "another"), options == 13 ? kFull : further == 0 ? kAdded : kPresent);
        }
      }
    }
  }
}

TEST_F(RedisBloomFilterTest, GrowthEndsWhereNoReaderWouldTakeItBack) {
  test::RedisBloomSubFilterFields full{.error = 1e-300, .entries = 1};
  full.bits_per_entry = RedisBloom::BitsPerEntry(full.error);
  full.hashes = RedisBloom::HashFunctions(full.bits_per_entry);
  full.bytes = 184;
  full.bits = full.bytes * 8;
  const auto most = static_cast<uint32_t>(RedisBloomChain::kMaxHashFunctions / full.hashes);
  const test::RedisBloomFields fields{.items = most, .sub_filters = most, .sub_filter = std::vector(most, full)};
  const auto filter = Load(fields.Encode(), std::string(uint64_t{most} * full.bytes, '\0'));
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(Add(**filter, "one more"), kCannotGrow);
  const auto copy = CloneFilter(**filter, budget_, SystemClock());
  EXPECT_TRUE(copy) << copy.error().message;
}

TEST_F(RedisBloomFilterTest, NewIsToldOnceToManyThreads) {
  const auto filter = Make(0.001, 100, 2);
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) told += Add(*filter, std::to_string(i)) == kAdded;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(static_cast<uint64_t>(told), filter->ItemCount());
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(Has(*filter, std::to_string(i)));
  EXPECT_TRUE(Load(filter->Header(), BitsOf(*filter)));
}

}  // namespace
}  // namespace bitsieve::core
