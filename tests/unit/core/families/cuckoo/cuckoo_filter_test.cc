#include "core/families/cuckoo/cuckoo_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "core/families/cuckoo/cuckoo_sizing.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/slowdown.h"

namespace bitsieve::core {
namespace {

using test::kSlowdown;
using enum AddOutcome;

FilterParams ParamsOf(double rate, uint64_t capacity, uint32_t expansion) {
  FilterParams params;
  params.type = kCuckooType;
  params.error_rate = rate;
  params.capacity = capacity;
  params.expansion = expansion;
  params.seed = 1;
  ShareForStatedCapacity(params);
  return params;
}

class CuckooFilterTest : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(const FilterParams& params) {
    auto filter = MakeFilter(params, budget_, SystemClock());
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }
  std::unique_ptr<Filter> Make(double rate, uint64_t capacity, uint32_t expansion) {
    return Make(ParamsOf(rate, capacity, expansion));
  }
  static KeyHash HashOf(const Filter& filter, uint64_t item) { return filter.HashOf(std::to_string(item)); }
  static AddOutcome Add(Filter& filter, uint64_t item) {
    const KeyHash hash = HashOf(filter, item);
    AddOutcome outcome;
    EXPECT_EQ(filter.Add(std::span(&hash, 1), std::span(&outcome, 1)), 1U);
    return outcome;
  }
  static bool Remove(Filter& filter, uint64_t item) {
    const KeyHash hash = HashOf(filter, item);
    uint8_t removed;
    filter.Remove(std::span(&hash, 1), std::span(&removed, 1));
    return removed != 0;
  }
  static bool Has(const Filter& filter, uint64_t item) {
    const KeyHash hash = HashOf(filter, item);
    uint8_t present;
    filter.MayContain(std::span(&hash, 1), std::span(&present, 1));
    return present != 0;
  }
  static uint64_t Count(const Filter& filter, uint64_t item) {
    const KeyHash hash = HashOf(filter, item);
    uint64_t count;
    filter.Count(std::span(&hash, 1), std::span(&count, 1));
    return count;
  }

  MemoryBudget budget_;
};

TEST_F(CuckooFilterTest, FingerprintsGetWiderWithTheRate) {
  const auto bits = [&](double rate) { return Make(rate, 1000, 0)->Info().fingerprint_bits; };
  EXPECT_EQ(bits(0.01), 10U);
  EXPECT_EQ(bits(1e-3), 13U);
  EXPECT_EQ(bits(1e-4), 17U);
  EXPECT_EQ(bits(1e-6), 23U);
  EXPECT_EQ(bits(1e-8), 30U);
  EXPECT_NEAR(Make(0.01, 1'000'000, 0)->Info().bits_per_item, 10 / 0.95, 0.001);
}

TEST_F(CuckooFilterTest, RatesThatTakeMoreThan32BitsAreRefusedWithTheSmallestOne) {
  for (const uint32_t expansion : {0U, 2U}) {
    const auto refused = MakeFilter(ParamsOf(1e-9, 100, expansion), budget_, SystemClock());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    const std::string& text = refused.error().message;
    const double smallest = std::stod(text.substr(text.rfind(' ')));
    EXPECT_GT(smallest, 1e-9);
    EXPECT_LT(smallest, 3e-9);
    EXPECT_TRUE(MakeFilter(ParamsOf(smallest, 100, expansion), budget_, SystemClock())) << text;
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

TEST_F(CuckooFilterTest, ParametersOutOfRangeAreRefused) {
  for (const auto& [size, iterations] : {std::pair{1U, 500U}, {9U, 500U}, {4U, 0U}, {4U, 65536U}}) {
    FilterParams params = ParamsOf(0.01, 100, 2);
    SetBucketSize(params, size);
    SetMaxIterations(params, iterations);
    EXPECT_FALSE(MakeFilter(params, budget_, SystemClock()));
  }
}

TEST_F(CuckooFilterTest, AFilterThatDoesNotGrowTakesItsCapacityAndNoMore) {
  const auto filter = Make(1e-6, 500, 0);
  for (uint64_t i = 0; i < 500; ++i) ASSERT_EQ(Add(*filter, i), kAdded);
  EXPECT_EQ(Add(*filter, 500), kFull);
  EXPECT_EQ(Add(*filter, 7), kFull) << "a repeated addition takes room, too";
  EXPECT_EQ(filter->ItemCount(), 500U);
  EXPECT_TRUE(Remove(*filter, 3));
  EXPECT_EQ(Add(*filter, 7), kPresent);
  EXPECT_EQ(Count(*filter, 7), 2U);
  EXPECT_EQ(Add(*filter, 500), kFull);
}

TEST_F(CuckooFilterTest, ARefusalChangesNothing) {
  FilterParams params = ParamsOf(0.01, 10'000, 0);
  SetMaxIterations(params, 3);  // so that inserting fails long before the capacity
  const auto filter = Make(params);
  uint64_t next = 0;
  while (Add(*filter, next) != kFull) ++next;
  ASSERT_LT(filter->ItemCount(), 9000U);
  const auto bytes = [&] {
    const auto image = filter->Capture();
    std::string body(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
    return image->header() + body;
  };
  const std::string before = bytes();
  const uint64_t changes = filter->ChangeCount();
  EXPECT_EQ(Add(*filter, next), kFull);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(filter->ChangeCount(), changes);
}

TEST_F(CuckooFilterTest, AnItemAddedTooOftenStaysForEver) {
  for (const uint32_t size : {2U, 4U, 8U}) {
    FilterParams params = ParamsOf(1e-4, 1000, 2);
    SetBucketSize(params, size);
    const auto filter = Make(params);
    EXPECT_EQ(Add(*filter, 1), kAdded);
    for (uint32_t i = 1; i < 2 * size; ++i) EXPECT_EQ(Add(*filter, 1), kPresent);
    EXPECT_EQ(Count(*filter, 1), 2 * size);
    const uint64_t changes = filter->ChangeCount();
    EXPECT_EQ(Add(*filter, 1), kPresent);
    EXPECT_FALSE(Remove(*filter, 1));
    EXPECT_EQ(filter->ChangeCount(), changes);
    EXPECT_EQ(filter->ItemCount(), 2 * size);
    EXPECT_TRUE(Has(*filter, 1));
    EXPECT_EQ(filter->Info().sub_filters, 1U);
  }
}

TEST_F(CuckooFilterTest, TheLastButOneAdditionCanStillBeTakenBack) {
  const auto filter = Make(1e-4, 1000, 2);
  for (int i = 0; i < 7; ++i) Add(*filter, 1);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(Remove(*filter, 1));
  EXPECT_FALSE(Has(*filter, 1));
  EXPECT_EQ(filter->ItemCount(), 0U);
}

TEST_F(CuckooFilterTest, RoomInOlderTablesIsUsedBeforeTheFilterGrows) {
  const auto filter = Make(1e-4, 1000, 2);
  for (uint64_t i = 0; i < 3000; ++i) Add(*filter, i);
  const FilterInfo grown = filter->Info();
  ASSERT_EQ(grown.sub_filters, 2U);
  for (uint64_t i = 3000; i < grown.capacity; ++i) Add(*filter, i);
  for (uint64_t i = 0; i < 900; ++i) ASSERT_TRUE(Remove(*filter, i));
  for (uint64_t i = 0; i < 900; ++i) ASSERT_EQ(Add(*filter, 10'000 + i), kAdded);
  EXPECT_EQ(filter->Info().sub_filters, 2U);
  EXPECT_EQ(filter->ItemCount(), grown.capacity);
  Add(*filter, 20'000);
  EXPECT_EQ(filter->Info().sub_filters, 3U);
  for (uint64_t i = 900; i < grown.capacity; ++i) ASSERT_TRUE(Remove(*filter, i));
  for (uint64_t i = 0; i < 900; ++i) ASSERT_TRUE(Has(*filter, 10'000 + i));
}

TEST_F(CuckooFilterTest, GrowingByOneStillGrowsByAQuarterInTheEnd) {
  const auto filter = Make(0.01, 100, 1);
  for (uint64_t i = 0; i < 20'000; ++i) ASSERT_LE(Add(*filter, i), kAdded);
  EXPECT_LT(filter->Info().sub_filters, 25U);
}

TEST_F(CuckooFilterTest, AChainEndsWhereFingerprintsWouldBeTooWide) {
  FilterParams params = ParamsOf(1e-6, 10, 2);
  params.tightening_ratio = 0.01;
  const auto filter = Make(params);
  uint64_t i = 0;
  while (Add(*filter, i) <= kAdded) ASSERT_LT(++i, 10'000U);
  EXPECT_EQ(Add(*filter, i), kCannotGrow);
  for (uint64_t j = 0; j < i; ++j) ASSERT_TRUE(Has(*filter, j));
  EXPECT_LE(filter->Info().fingerprint_bits, 32U);
}

TEST_F(CuckooFilterTest, TheBudgetStopsGrowing) {
  const auto filter = Make(0.01, 100, 2);
  budget_.set_limit_bytes(budget_.used_bytes() + 100);
  uint64_t i = 0;
  while (Add(*filter, i) <= kAdded) ASSERT_LT(++i, 10'000U);
  EXPECT_EQ(Add(*filter, i), kOutOfMemory);
  for (uint64_t j = 0; j < i; ++j) ASSERT_TRUE(Has(*filter, j));
  budget_.set_limit_bytes(0);
  EXPECT_LE(Add(*filter, i), kAdded);
}

// Compares filters with a model. Fingerprints are so narrow and tables so many that items are often taken for each
// other.
class Chains : public CuckooFilterTest, public testing::WithParamInterface<std::tuple<uint32_t, uint32_t, uint64_t>> {
 protected:
  // Returns false for an addition that was not stored: it and all that look like it stay for ever, and cannot be
  // removed reliably.
  static bool WasStored(const Filter& filter, uint64_t items_before) { return filter.ItemCount() != items_before; }
};

TEST_P(Chains, RemovalsNeverHurtOthers) {
  const auto [size, expansion, seed] = GetParam();
  FilterParams params = ParamsOf(0.25, 3, expansion);
  SetBucketSize(params, size);
  params.seed = seed;
  const auto filter = Make(params);
  std::mt19937_64 random(seed);
  std::vector<uint64_t> live;   // removable additions, repeated ones as often as they were
  std::vector<uint64_t> stuck;  // additions that were not stored, or whose removal was refused for that
  uint64_t stored = 0;
  constexpr uint64_t kSteps = 6000;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const bool growing = step % (kSteps / 3) < kSteps / 4;
    if (live.empty() || random() % 100 < (growing ? 75U : 20U)) {
      const uint64_t item = random() % 5 == 0 && !live.empty() ? live[random() % live.size()] : step;
      ASSERT_LE(Add(*filter, item), kAdded);
      const bool was_stored = WasStored(*filter, stored);
      (was_stored ? live : stuck).push_back(item);
      stored += was_stored ? 1 : 0;
    } else {
      std::swap(live[random() % live.size()], live.back());
      const uint64_t item = live.back();
      live.pop_back();
      if (Remove(*filter, item)) {
        --stored;
      } else {
        stuck.push_back(item);
        ASSERT_GE(Count(*filter, item), size) << "only a saturated one stays";
      }
    }
    ASSERT_EQ(filter->ItemCount(), stored);
    if (step % 50 != 0) continue;
    for (const uint64_t item : live) ASSERT_TRUE(Has(*filter, item)) << step;
    for (const uint64_t item : stuck) ASSERT_TRUE(Has(*filter, item)) << step;
  }
  EXPECT_GT(filter->Info().sub_filters, 2U);
}

INSTANTIATE_TEST_SUITE_P(All, Chains,
                         testing::Combine(testing::Values(2U, 3U, 4U, 8U), testing::Values(1U, 2U, 3U, 7U),
                                          testing::Range(uint64_t{1}, uint64_t{6})));

class CuckooThreads : public CuckooFilterTest {
 protected:
  static void RunThreads(unsigned threads, const std::function<void(uint64_t)>& work) {
    std::barrier start(threads);
    std::vector<std::thread> running;
    for (uint64_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        start.arrive_and_wait();
        work(t);
      });
    }
    for (std::thread& thread : running) thread.join();
  }
};

TEST_F(CuckooThreads, NewIsToldToExactlyOne) {
  const auto filter = Make(1e-6, 100, 2);
  const uint64_t items = 20'000 / kSlowdown;
  std::atomic<uint64_t> told{0};
  RunThreads(4, [&](uint64_t) {
    for (uint64_t i = 0; i < items; ++i) told += Add(*filter, i) == kAdded ? 1 : 0;
  });
  EXPECT_EQ(told, items);
}

// The table is so full that most insertions move other fingerprints, and those are looked up all the time.
TEST_F(CuckooThreads, NothingIsMissedWhileItIsMoved) {
  constexpr uint64_t kLive = 1800, kPassing = 190;
  const auto filter = Make(0.01, kLive + kPassing + 1, 0);
  for (uint64_t i = 0; i < kLive; ++i) ASSERT_LE(Add(*filter, i), kAdded);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> missed{0}, asked{0};
  RunThreads(3, [&](uint64_t t) {
    if (t != 0) {
      for (uint64_t i = t; !done; i += 7) {
        if (!Has(*filter, i % kLive)) ++missed;
        if (Count(*filter, i % kLive) == 0) ++missed;
        ++asked;
      }
      return;
    }
    for (uint64_t round = 0; round < 400 / kSlowdown; ++round) {
      const uint64_t first = 1'000'000 + round * kPassing;
      for (uint64_t i = 0; i < kPassing; ++i) EXPECT_LE(Add(*filter, first + i), kAdded);
      for (uint64_t i = 0; i < kPassing; ++i) EXPECT_TRUE(Remove(*filter, first + i));
    }
    done = true;
  });
  EXPECT_EQ(missed, 0U);
  EXPECT_GT(asked, 1000U);
}

// Two items that look alike and begin at the two ends of their pair: what one adds and the other removes goes back and
// forth between the buckets, although one of them is there all the time.
TEST_F(CuckooThreads, NothingIsMissedWhileItsLikeIsAddedAndRemoved) {
  const auto filter = Make(0.01, 10'000, 0);
  const uint64_t buckets = CuckooBuckets(10'000, 4);
  const auto table = CuckooTable::Make({10'000, 0.01, buckets, 4, filter->Info().fingerprint_bits}, nullptr, budget_);
  const auto place = [&](uint64_t bucket) {
    return static_cast<uint64_t>(((static_cast<unsigned __int128>(bucket) << 64) + buckets - 1) / buckets);
  };
  const KeyHash here{place(5), 0xABCD000000000000};
  const uint64_t fingerprint = (*table)->FingerprintOf((*table)->KeyOf(here));
  const KeyHash there{place((*table)->geometry().PartnerOf(5, fingerprint)), here.high};
  ASSERT_NE(here.low, there.low);
  const auto add = [&](const KeyHash& hash) {
    AddOutcome outcome;
    filter->Add(std::span(&hash, 1), std::span(&outcome, 1));
    return outcome;
  };
  const auto remove = [&](const KeyHash& hash) {
    uint8_t removed;
    filter->Remove(std::span(&hash, 1), std::span(&removed, 1));
    return removed;
  };
  ASSERT_EQ(add(there), kAdded);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> missed{0};
  RunThreads(2, [&](uint64_t t) {
    uint8_t present = 0;
    while (t != 0 && !done) {
      filter->MayContain(std::span(&here, 1), std::span(&present, 1));
      missed += 1 - present;
    }
    for (uint64_t round = 0; t == 0 && round < 1'000'000 / kSlowdown; ++round) {
      EXPECT_EQ(add(here), kPresent);
      EXPECT_EQ(remove(there), 1);
      EXPECT_EQ(add(there), kPresent);
      EXPECT_EQ(remove(here), 1);
    }
    if (t == 0) done = true;
  });
  EXPECT_EQ(missed, 0U);
}

// An image holds exactly what was there at the moment of capture: a decoder refuses any other number of fingerprints.
TEST_F(CuckooThreads, ImagesAreOfOneMoment) {
  const auto filter = Make(1e-4, 20'000, 2);
  constexpr uint64_t kItems = 15'000;
  for (uint64_t i = 0; i < kItems; ++i) Add(*filter, i);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !done; ++i) {
      Add(*filter, 1'000'000 + i);
      Remove(*filter, 1'000'000 + i);
    }
  });
  for (int round = 0; round < 20; ++round) {
    const auto image = filter->Capture();
    auto decoder = FilterDecoder::Open(image->header(), budget_, SystemClock());
    ASSERT_TRUE(decoder) << decoder.error().message;
    for (uint64_t offset = 0; offset < image->body_bytes();) {
      std::vector<std::byte> piece(std::min<uint64_t>(1000, image->body_bytes() - offset));
      ASSERT_TRUE(image->Read(offset, piece));
      ASSERT_TRUE((*decoder)->Append(piece));
      offset += piece.size();
    }
    const auto copy = (*decoder)->Finish();
    ASSERT_TRUE(copy) << copy.error().message;
    for (uint64_t i = 0; i < kItems; ++i) ASSERT_TRUE(Has(**copy, i));
  }
  done = true;
  writer.join();
}

TEST_F(CuckooFilterTest, WhatIsRemovedAfterTheCaptureIsInTheImage) {
  const auto filter = Make(1e-4, 1000, 2);
  for (uint64_t i = 0; i < 2500; ++i) Add(*filter, i);
  const auto image = filter->Capture();
  for (uint64_t i = 0; i < 2500; ++i) ASSERT_TRUE(Remove(*filter, i));
  for (uint64_t i = 5000; i < 8000; ++i) Add(*filter, i);
  std::string body(image->body_bytes(), '\0');
  ASSERT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
  auto decoder = FilterDecoder::Open(image->header(), budget_, SystemClock());
  ASSERT_TRUE(decoder && (*decoder)->Append(std::as_bytes(std::span(body))));
  const auto copy = (*decoder)->Finish();
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->ItemCount(), 2500U);
  for (uint64_t i = 0; i < 2500; ++i) ASSERT_TRUE(Remove(**copy, i));
  EXPECT_EQ((*copy)->Info().fill_ratio, 0);
}

}  // namespace
}  // namespace bitsieve::core
