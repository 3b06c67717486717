#include "core/families/fingerprint/fingerprint_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "core/families/fingerprint/fingerprint_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/reseal.h"
#include "tests/support/slowdown.h"

namespace bitsieve::core {
namespace {

using test::kSlowdown;
using test::Reseal;
using testing::HasSubstr;

class FingerprintFilterTest : public testing::Test {
 protected:
  static FilterParams Params(double rate, uint64_t capacity, uint32_t expansion) {
    FilterParams params;
    params.type = kFingerprintType;
    params.error_rate = rate;
    params.capacity = capacity;
    params.expansion = expansion;
    params.seed = 7;
    ShareForStatedCapacity(params);
    return params;
  }
  std::unique_ptr<Filter> Make(const FilterParams& params) {
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  static AddOutcome Add(Filter& filter, uint64_t item) {
    const KeyHash hash = filter.HashOf(std::to_string(item));
    AddOutcome outcome;
    EXPECT_EQ(filter.Add({&hash, 1}, {&outcome, 1}), 1U);
    return outcome;
  }
  static uint64_t Fill(Filter& filter, uint64_t begin, uint64_t end) {
    uint64_t added = 0;
    for (uint64_t i = begin; i < end; ++i) added += Add(filter, i) == AddOutcome::kAdded ? 1 : 0;
    return added;
  }
  static bool Has(const Filter& filter, uint64_t item) {
    const KeyHash hash = filter.HashOf(std::to_string(item));
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static std::string BodyOf(FilterImage& image) {
    std::string body(image.body_bytes(), '\0');
    EXPECT_TRUE(image.Read(0, std::as_writable_bytes(std::span(body))));
    return body;
  }

  MemoryBudget budget_;
};

// A claimed 3.27 MB for a million items at 1e-6 becomes 3.44 MB here, at a load of 80%, and the rate is kept.
TEST_F(FingerprintFilterTest, AMillionItemsAtOneInAMillion) {
  constexpr uint64_t kItems = 1'000'000;
  const auto filter = Make(Params(1e-6, kItems, 0));
  // Some new items are taken for known ones before it is full: a few more fill it.
  uint64_t next = 0;
  while (filter->ItemCount() < kItems) Add(*filter, next++);
  const FilterInfo info = filter->Info();
  EXPECT_EQ(info.fingerprint_bits, 22U);
  EXPECT_NEAR(info.fill_ratio, 0.8, 0.0001);
  EXPECT_NEAR(info.bits_per_item, 27.5, 0.01);
  EXPECT_NEAR(static_cast<double>(info.size_bytes), 3.4375e6, 1000);
  EXPECT_NEAR(filter->EstimatedErrorRate().value(), 9.5e-7, 0.1e-7);
  constexpr uint64_t kProbes = 20'000'000 / kSlowdown;
  uint64_t wrong = 0;
  std::array<KeyHash, 64> hashes;
  std::array<uint8_t, 64> present;
  for (uint64_t i = 0; i < kProbes; i += hashes.size()) {
    for (size_t j = 0; j < hashes.size(); ++j) hashes[j] = filter->HashOf(std::to_string(next + i + j));
    filter->MayContain(hashes, present);
    for (const uint8_t each : present) wrong += each;
  }
  const double expected = static_cast<double>(kProbes) * 1e-6;
  std::printf("  1e6 items at 1e-6: %.3f MB, load %.3f, %llu wrong of %llu\n",
              static_cast<double>(info.size_bytes) / 1e6, info.fill_ratio, static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(kProbes));
  EXPECT_LE(static_cast<double>(wrong), expected + 4 * std::sqrt(expected) + 1);
}

TEST_F(FingerprintFilterTest, FullIsFullAndNothingIsLost) {
  const auto filter = Make(Params(1e-6, 100, 0));
  EXPECT_EQ(Fill(*filter, 0, 100), 100U);
  EXPECT_EQ(Add(*filter, 50), AddOutcome::kPresent);
  EXPECT_EQ(Add(*filter, 100), AddOutcome::kFull);
  EXPECT_EQ(filter->ItemCount(), 100U);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(Has(*filter, i));
  EXPECT_FALSE(filter->capabilities().remove);
  EXPECT_FALSE(filter->capabilities().count);
}

TEST_F(FingerprintFilterTest, GrowsByItsExpansionAndByAQuarterAtLeast) {
  const auto filter = Make(Params(1e-4, 100, 4));
  EXPECT_GE(Fill(*filter, 0, 2000), 1998U);
  EXPECT_EQ(filter->Info().sub_filters, 3U);
  EXPECT_EQ(filter->Info().capacity, 100U + 400 + 1600);
  const auto slow = Make(Params(0.01, 100, 1));
  Fill(*slow, 0, 100'000);
  EXPECT_LE(slow->Info().sub_filters, 40U);
  for (uint64_t i = 0; i < 100'000; ++i) ASSERT_TRUE(Has(*slow, i));
}

TEST_F(FingerprintFilterTest, RatesThatNeedMoreThan32BitsAreRefused) {
  FilterParams params = Params(1e-9, 100, 2);
  EXPECT_TRUE(MakeFilter(params, budget_, SystemClock())) << "the smallest rate of all, reserved";
  ShareForGrowth(params);
  const uint64_t used = budget_.used_bytes();
  const auto refused = MakeFilter(params, budget_, SystemClock());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("too small for fingerprints of 32 bits; the smallest of a fingerprint "
                                                 "filter such as this is 2.4e-09"));
  EXPECT_EQ(budget_.used_bytes(), used);
  params.error_rate = 2.4e-9;
  EXPECT_TRUE(MakeFilter(params, budget_, SystemClock()));
  // Growing stops where the next share of the rate would be too small.
  const auto stuck = Make(Params(1e-8, 10, 2));
  Fill(*stuck, 0, 10);
  EXPECT_EQ(Add(*stuck, 10), AddOutcome::kCannotGrow);
  EXPECT_EQ(Add(*stuck, 9), AddOutcome::kPresent);
}

TEST_F(FingerprintFilterTest, TheBudgetMayRefuseToGrow) {
  const auto filter = Make(Params(0.001, 1000, 2));
  Fill(*filter, 0, 1000);
  budget_.set_limit_bytes(budget_.used_bytes() + 100);
  uint64_t next = 1000;
  while (Add(*filter, next) != AddOutcome::kOutOfMemory) ASSERT_LT(++next, 1100U);
  budget_.set_limit_bytes(0);
  EXPECT_EQ(Add(*filter, next), AddOutcome::kAdded);
}

// An image shows exactly the moment of capture, even if items are added while it is read.
TEST_F(FingerprintFilterTest, AnImageIsOfOneMoment) {
  const auto filter = Make(Params(1e-4, 50'000, 2));
  Fill(*filter, 0, 40'000);
  const uint64_t items = filter->ItemCount();
  const auto before = filter->Capture();
  const std::string header = before->header();
  const std::string whole = BodyOf(*before);
  const auto image = filter->Capture();
  Fill(*filter, 40'000, 80'000);  // it fills its table, and grows
  EXPECT_EQ(image->header(), header);
  EXPECT_EQ(BodyOf(*image), whole);
  auto decoder = std::move(FilterDecoder::Open(header, budget_, SystemClock()).value());
  ASSERT_TRUE(decoder->Append(std::as_bytes(std::span(whole))));
  EXPECT_EQ(decoder->Finish().value()->ItemCount(), items);
}

TEST_F(FingerprintFilterTest, HostileHeadersAreRefusedBeforeAnythingIsAllocated) {
  const auto filter = Make(Params(0.01, 100, 2));
  Fill(*filter, 0, 150);
  const std::string good = filter->Capture()->header();
  MemoryBudget budget;
  const auto with = [&](size_t offset, auto value) {
    std::string bad = good;
    std::memcpy(bad.data() + offset, &value, sizeof value);
    const auto decoder = FilterDecoder::Open(Reseal(bad), budget, SystemClock());
    EXPECT_EQ(budget.used_bytes(), 0U);
    return decoder ? "accepted" : decoder.error().message;
  };
  constexpr size_t kTable = 60;  // where the first table starts
  EXPECT_THAT(with(8, 0.5), HasSubstr("error rate"));
  EXPECT_THAT(with(52, uint32_t{4}), HasSubstr("hash function"));
  EXPECT_THAT(with(56, uint32_t{0}), HasSubstr("number of tables"));
  EXPECT_THAT(with(56, uint32_t{257}), HasSubstr("number of tables"));
  EXPECT_THAT(with(56, uint32_t{1}), HasSubstr("bytes follow"));
  EXPECT_THAT(with(56, uint32_t{3}), HasSubstr("ends within table 2"));
  EXPECT_THAT(with(kTable, uint64_t{0}), HasSubstr("out of range"));
  EXPECT_THAT(with(kTable, uint64_t{1} << 40), HasSubstr("out of range"));
  EXPECT_THAT(with(kTable + 8, 0.0), HasSubstr("error rate of table 0"));
  EXPECT_THAT(with(kTable + 16, uint64_t{100}), HasSubstr("out of range")) << "no slot would be free";
  EXPECT_THAT(with(kTable + 16, UINT64_MAX), HasSubstr("out of range"));
  EXPECT_THAT(with(kTable + 24, uint32_t{0}), HasSubstr("1 to 32 bits"));
  EXPECT_THAT(with(kTable + 24, uint32_t{33}), HasSubstr("1 to 32 bits"));
  EXPECT_THAT(with(kTable + 32, uint64_t{101}), HasSubstr("more items than it can"));
  EXPECT_THAT(with(kTable + 40, uint64_t{101}), HasSubstr("more items than it can"));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(FilterDecoder::Open(good.substr(0, size), budget, SystemClock()));
}

// Full tables in which no lookup would find an end, and bits where none may be.
TEST_F(FingerprintFilterTest, HostileBodiesAreRefused) {
  const auto filter = Make(Params(0.01, 100, 0));
  Fill(*filter, 0, 100);
  const auto image = filter->Capture();
  const std::string good = BodyOf(*image);
  const auto refusal = [&](const std::string& body) {
    auto decoder = std::move(FilterDecoder::Open(image->header(), budget_, SystemClock()).value());
    EXPECT_TRUE(decoder->Append(std::as_bytes(std::span(body))));
    const auto decoded = decoder->Finish();
    return decoded ? "accepted" : decoded.error().message;
  };
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_THAT(refusal(std::string(good.size(), '\xFF')), HasSubstr("after the last slot"));
  EXPECT_THAT(refusal(std::string(good.size(), '\0')), HasSubstr("differs from the header"));
  std::string full = good;
  for (size_t i = 0; i < 120; ++i) full[i] = '\xFF';
  EXPECT_THAT(refusal(full), HasSubstr("differs from the header"));
}

// If many threads add the same items, exactly one gets "new" for each; readers never miss what was added before.
TEST_F(FingerprintFilterTest, AddersAndReadersAtOnce) {
  constexpr uint64_t kItems = 60'000 / kSlowdown;
  constexpr int kAdders = 3;
  const auto growing = Make(Params(1e-5, 1000, 2));
  std::atomic<uint64_t> added{0};
  std::atomic<uint64_t> done{0};  // items below it are there
  std::vector<std::thread> threads;
  for (int adder = 0; adder < kAdders; ++adder) {
    threads.emplace_back([&, adder] {
      for (uint64_t i = 0; i < kItems; ++i) {
        if (Add(*growing, i) == AddOutcome::kAdded) added.fetch_add(1, std::memory_order_relaxed);
        if (adder == 0) done.store(i + 1, std::memory_order_release);
      }
    });
  }
  uint64_t missed = 0;
  for (uint64_t seen = 0; seen < kItems; seen = done.load(std::memory_order_acquire)) {
    for (uint64_t i = seen - std::min<uint64_t>(seen, 50); i < seen; ++i) missed += Has(*growing, i) ? 0 : 1;
    for (uint64_t i = 0; i < std::min<uint64_t>(seen, 20); ++i) missed += Has(*growing, i) ? 0 : 1;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed, 0U);
  EXPECT_EQ(added.load(), growing->ItemCount());
  EXPECT_GE(added.load(), kItems - 10);
}

}  // namespace
}  // namespace bitsieve::core
