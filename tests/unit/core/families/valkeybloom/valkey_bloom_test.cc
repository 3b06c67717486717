// Hashes, sizes and growth of valkey-bloom's filters. The values are those of the crates that it uses, and of its
// documentation.
#include "core/families/valkeybloom/valkey_bloom.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/families/valkeybloom/valkey_bloom_chain.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

FilterParams ValkeyParams(uint64_t capacity, double rate, uint32_t expansion, double tightening = 0.5) {
  FilterParams params;
  params.type = kValkeyBloomType;
  params.capacity = capacity;
  params.error_rate = rate;
  params.expansion = expansion;
  params.tightening_ratio = tightening;
  return Settled(params);
}

TEST(ValkeyBloom, HashesAndPositionsAreValkeyBlooms) {
  const SubFilterShape shape = ValkeyBloom::ShapeFor(100, 0.01);
  EXPECT_EQ(shape.bits, 960U);
  EXPECT_EQ(shape.hash_functions, 7U);
  struct Case {
    std::string item;
    KeyHash hash;
    std::vector<uint64_t> positions;
  };
  std::string numbers;
  for (char each = 0; each < 16; ++each) numbers += each;
  const Case cases[] = {
      {"", {0x61ec3bc33753f4d6, 0x0aa4a3954a194204}, {598, 580, 798, 418, 38, 618, 238}},
      {"a", {0x19807c47e8649714, 0x7244f2736f0fb39a}, {596, 218, 72, 34, 252, 214, 432}},
      {"item", {0x1589599b71175ebd, 0xd572615a8d580348}, {701, 8, 461, 213, 925, 677, 429}},
      {numbers, {0x81b7b84c4ce1b42f, 0xf1c0bb08be7c3e49}, {815, 777, 897, 458, 19, 540, 101}},
  };
  MemoryBudget budget;
  const auto filter = MakeFilter(ValkeyParams(100, 0.01, 2), budget, SystemClock()).value();
  for (const Case& each : cases) {
    const KeyHash hash = filter->HashOf(each.item);
    EXPECT_EQ(hash.low, each.hash.low) << each.item;
    EXPECT_EQ(hash.high, each.hash.high) << each.item;
    ValkeyPositions positions(hash, Modulus(shape.bits));
    for (const uint64_t position : each.positions) EXPECT_EQ(positions.Next(), position) << each.item;
  }
}

// A sum beyond 2^64 - 59 is reduced once, and one beyond 2^64 wraps first.
TEST(ValkeyBloom, PositionsAreReducedByThePrimeFromTheThirdOn) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  constexpr uint64_t kPrime = kMax - 58;  // 2^64 - 59
  constexpr uint64_t kEven = uint64_t{1} << 50;
  ValkeyPositions first_two({kMax, kMax - 1}, Modulus(kEven));
  EXPECT_EQ(first_two.Next(), kMax % kEven);
  EXPECT_EQ(first_two.Next(), (kMax - 1) % kEven);
  EXPECT_EQ(first_two.Next(), (kMax - 4 - kPrime) % kEven);
  ValkeyPositions at_the_prime({kPrime, 0}, Modulus(kEven));
  at_the_prime.Next();
  at_the_prime.Next();
  EXPECT_EQ(at_the_prime.Next(), 0U);
}

TEST(ValkeyBloom, SizesAreWholeBytes) {
  struct Case {
    uint64_t capacity;
    double rate;
    uint64_t bits;
    uint32_t hashes;
  };
  for (const Case& each : {Case{1, 0.5, 8, 6}, Case{1, 0.999, 8, 6}, Case{3, 0.01, 32, 7}, Case{200, 0.005, 2208, 8},
                           Case{1000, 0.9, 224, 1}}) {
    const SubFilterShape shape = ValkeyBloom::ShapeFor(each.capacity, each.rate);
    EXPECT_EQ(shape.bits, each.bits) << each.capacity;
    EXPECT_EQ(shape.hash_functions, each.hashes) << each.capacity;
    EXPECT_TRUE(ValkeyBloom::IsValidShape(shape)) << each.capacity;
  }
  const double smallest = std::nextafter(std::numeric_limits<double>::min(), 1);
  EXPECT_EQ(ValkeyBloom::ShapeFor(1000, smallest).hash_functions, 1022U);
  for (const uint64_t capacity : {uint64_t{1} << 51, uint64_t{1} << 62, UINT64_MAX}) {
    EXPECT_FALSE(ValkeyBloom::IsValidShape(ValkeyBloom::ShapeFor(capacity, 0.01))) << capacity;
  }
}

TEST(ValkeyBloomChain, GrowsByItsExpansionAtEverSmallerRates) {
  const FilterParams params = ValkeyParams(100, 0.01, 3, 0.1);
  SubFilterShape newest = ValkeyBloomChain::FirstShape(kValkeyBloomChain, params).value();
  EXPECT_EQ(newest.error_rate, 0.01);
  const double rates[] = {0.01 * 0.1, 0.01 * (0.1 * 0.1), 0.01 * (0.1 * (0.1 * 0.1))};
  for (uint32_t index = 1; index <= 3; ++index) {
    const auto next = ValkeyBloomChain::NextShape(kValkeyBloomChain, params, {newest, index, 0, 0});
    ASSERT_TRUE(next) << index;
    EXPECT_EQ(next->capacity, 3 * newest.capacity) << index;
    EXPECT_EQ(next->error_rate, rates[index - 1]) << index;
    newest = *next;
  }
}

TEST(ValkeyBloomChain, GrowingEndsWhereNoSubFilterIsPossible) {
  const auto next_of = [](const FilterParams& params, uint64_t newest, uint32_t sub_filters, uint64_t hashes = 0) {
    const SubFilterShape shape = ValkeyBloom::ShapeFor(newest, 0.01);
    return ValkeyBloomChain::NextShape(kValkeyBloomChain, params, {shape, sub_filters, 0, hashes});
  };
  EXPECT_TRUE(next_of(ValkeyParams(100, 0.01, 1), 100, 500));
  EXPECT_FALSE(next_of(ValkeyParams(100, 0.01, 1, 1e-9), 100, 40)) << "the rate is no normal double";
  EXPECT_FALSE(next_of(ValkeyParams(100, 0.01, UINT32_MAX), uint64_t{1} << 40, 1)) << "the capacity is no number";
  EXPECT_FALSE(next_of(ValkeyParams(100, 0.01, 1U << 20), uint64_t{1} << 40, 1)) << "no memory holds it";
  EXPECT_FALSE(next_of(ValkeyParams(100, 0.01, 1, 0.9999), 100, kMaxSubFilters));
  EXPECT_FALSE(next_of(ValkeyParams(100, 0.01, 1), 100, 2, ValkeyBloomChain::kMaxHashFunctions));
}

TEST(ValkeyBloomChain, ReportsTheSizesOfTheDocumentation) {
  MemoryBudget budget;
  const auto filter = MakeFilter(ValkeyParams(100, 0.01, 2), budget, SystemClock()).value();
  EXPECT_EQ(filter->Info().size_bytes, 384U);
  EXPECT_EQ(ValkeyBloomChain::ReportedBytes(1), 48U + 8);
  EXPECT_EQ(ValkeyBloomChain::ReportedBytes(2), 48U + 8 * 4);
  EXPECT_EQ(ValkeyBloomChain::ReportedBytes(4), 48U + 8 * 4);
  EXPECT_EQ(ValkeyBloomChain::ReportedBytes(5), 48U + 8 * 8);
}

TEST(ValkeyBloomChain, ReachesTheCapacityOfTheDocumentation) {
  const ValkeyBloomChain::Reach reach = ValkeyBloomChain::ReachOf(ValkeyParams(100, 0.01, 2));
  EXPECT_EQ(reach.capacity, 26'214'300U);
  EXPECT_FALSE(reach.by_rate);
  EXPECT_TRUE(ValkeyBloomChain::ReachOf(ValkeyParams(100, 0.01, 2, 1e-60)).by_rate);
  EXPECT_EQ(ValkeyBloomChain::ReachOf(ValkeyParams(100, 0.01, 0)).capacity, 100U) << "it does not grow";
  EXPECT_EQ(ValkeyBloomChain::ReachOf(ValkeyParams(uint64_t{1} << 30, 0.01, 2)).capacity, 0U) << "it is beyond it";
}

TEST(ValkeySeed, IsReadAsBytesOrDigitsOrMadeOfANumber) {
  FilterParams params = ValkeyParams(100, 0.01, 2);
  EXPECT_TRUE(HasFixedValkeySeed(params));
  const std::string fixed = "590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383";
  EXPECT_EQ(SeedText(params), fixed);
  EXPECT_TRUE(kValkeyBloomRow.own_seed->read(std::string(32, 'x'), params));
  EXPECT_FALSE(HasFixedValkeySeed(params));
  EXPECT_EQ(ValkeySeedOf(params), std::string(32, 'x'));
  EXPECT_TRUE(kValkeyBloomRow.own_seed->read(fixed, params));
  EXPECT_TRUE(HasFixedValkeySeed(params));
  for (const auto& text : {std::string(), std::string(31, 'x'), std::string(33, 'x'), std::string(64, 'x'),
                           std::string(63, '0') + "g", "-" + std::string(63, '0')}) {
    EXPECT_FALSE(kValkeyBloomRow.own_seed->read(text, params)) << text;
  }
  EXPECT_TRUE(HasFixedValkeySeed(params)) << "a seed that is none changes nothing";
  FilterParams numbered = params, other = params;
  numbered.seed = 7;
  other.seed = 8;
  EXPECT_NE(SeedText(Settled(numbered)), SeedText(Settled(other)));
  EXPECT_EQ(Settled(numbered).seed, 0U);
  EXPECT_EQ(SeedText(Settled(Settled(numbered))), SeedText(Settled(numbered)));
}

}  // namespace
}  // namespace bitsieve::core
