// A ribbon filter's way from the first item to the frozen set, and its bytes in each state.
#include "core/families/ribbon/ribbon_staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "core/families/ribbon/ribbon_kernel.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/reseal.h"

namespace bitsieve::core {
namespace {

using enum AddOutcome;
using test::Reseal;
using testing::Each;
using testing::HasSubstr;

class RibbonStagingTest : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(double rate, uint64_t capacity, uint32_t expansion = 2) {
    FilterParams params;
    params.type = kRibbonType;
    params.error_rate = rate;
    params.capacity = capacity;
    params.expansion = expansion;
    params.seed = 7;
    ShareForStatedCapacity(params);
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  static std::vector<KeyHash> Hashes(const Filter& filter, uint64_t first, uint64_t count) {
    std::vector<KeyHash> hashes;
    for (uint64_t i = first; i < first + count; ++i) hashes.push_back(filter.HashOf("item" + std::to_string(i)));
    return hashes;
  }
  static std::vector<AddOutcome> Add(Filter& filter, uint64_t first, uint64_t count) {
    std::vector<AddOutcome> outcomes(count);
    outcomes.resize(filter.Add(Hashes(filter, first, count), outcomes));
    return outcomes;
  }
  static uint64_t Found(const Filter& filter, uint64_t first, uint64_t count) {
    std::vector<uint8_t> present(count);
    filter.MayContain(Hashes(filter, first, count), present);
    return static_cast<uint64_t>(std::count(present.begin(), present.end(), 1));
  }
  std::unique_ptr<Filter> Freeze(Filter& filter) {
    Staging& staging = *filter.staging();
    staging.Close();
    return std::move(staging.Build(budget_, [] { return true; }).value());
  }
  static std::string BodyOf(FilterImage& image) {
    std::string body(image.body_bytes(), '\0');
    EXPECT_TRUE(image.Read(0, std::as_writable_bytes(std::span(body))));
    return body;
  }
  Result<std::unique_ptr<Filter>> Decode(std::string_view header, std::string_view body) {
    auto decoder = FilterDecoder::Open(header, budget_, SystemClock());
    if (!decoder) return tl::unexpected(decoder.error());
    if (auto status = (*decoder)->Append(AsBytes(body)); !status) return tl::unexpected(status.error());
    return (*decoder)->Finish();
  }
  std::string WhyNot(std::string_view header, std::string_view body) {
    const auto filter = Decode(header, body);
    return filter ? "accepted" : filter.error().message;
  }

  MemoryBudget budget_;
};

TEST_F(RibbonStagingTest, StagingIsExactAndGrowsBeyondItsCapacity) {
  const auto filter = Make(0.25, 10);
  EXPECT_THAT(Add(*filter, 0, 10'000), Each(kAdded));
  EXPECT_THAT(Add(*filter, 0, 10'000), Each(kPresent));
  EXPECT_EQ(Found(*filter, 0, 10'000), 10'000U);
  EXPECT_EQ(Found(*filter, 10'000, 100'000), 0U);
  EXPECT_EQ(filter->ItemCount(), 10'000U);
  EXPECT_EQ(filter->Info().freeze.state, FreezeState::kStaging);
  EXPECT_EQ(filter->Info().size_bytes, budget_.used_bytes());
}

TEST_F(RibbonStagingTest, NonScalingIsFullAtItsCapacity) {
  const auto filter = Make(0.01, 100, 0);
  EXPECT_THAT(Add(*filter, 0, 100), Each(kAdded));
  EXPECT_THAT(Add(*filter, 0, 100), Each(kPresent));
  EXPECT_EQ(Add(*filter, 99, 3), (std::vector{kPresent, kFull}));
  EXPECT_EQ(filter->ItemCount(), 100U);
}

TEST_F(RibbonStagingTest, NewIsToldOnceByManyThreads) {
  const auto filter = Make(0.01, 1000);
  std::atomic<uint64_t> told{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t first = 0; first < 20'000; first += 50) {
        const auto outcomes = Add(*filter, first, 50);
        told += static_cast<uint64_t>(std::count(outcomes.begin(), outcomes.end(), kAdded));
        if (Found(*filter, first, 50) != 50) told += 1'000'000;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 20'000U);
}

TEST_F(RibbonStagingTest, ClosedTakesNothingAndReopensWithItsReason) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 10);
  Staging& staging = *filter->staging();
  EXPECT_TRUE(staging.Close());
  EXPECT_FALSE(staging.Close());
  EXPECT_EQ(filter->Info().freeze.state, FreezeState::kBuilding);
  EXPECT_THAT(Add(*filter, 5, 10), Each(kFrozen));
  EXPECT_EQ(Found(*filter, 0, 20), 10U);
  staging.Reopen("no luck");
  EXPECT_EQ(filter->Info().freeze.state, FreezeState::kStaging);
  EXPECT_EQ(filter->Info().freeze.failure, "no luck");
  EXPECT_THAT(Add(*filter, 10, 10), Each(kAdded));
  EXPECT_TRUE(staging.Close());
  EXPECT_EQ(filter->Info().freeze.failure, "");
}

TEST_F(RibbonStagingTest, BuildingTellsProgressAndStopsWhenTold) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 300'000);  // five shards
  Staging& staging = *filter->staging();
  staging.Close();
  std::vector<uint32_t> percents;
  const auto stopped = staging.Build(budget_, [&] {
    percents.push_back(filter->Info().freeze.percent);
    return percents.back() < 60;
  });
  ASSERT_TRUE(stopped);
  EXPECT_EQ(*stopped, nullptr);
  EXPECT_EQ(percents, (std::vector<uint32_t>{0, 0, 20, 40, 60}));
  EXPECT_EQ(budget_.used_bytes(), filter->Info().size_bytes) << "what was built is gone";
}

TEST_F(RibbonStagingTest, BuildingThatFindsNoMemoryLeavesNothingBehind) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 100'000);
  const uint64_t used = budget_.used_bytes();
  Staging& staging = *filter->staging();
  staging.Close();
  for (const uint64_t more : {0, 100, 1'000'000}) {
    budget_.set_limit_bytes(used + more);
    const auto refused = staging.Build(budget_, [] { return true; });
    ASSERT_FALSE(refused) << more;
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(budget_.used_bytes(), used);
  }
  budget_.set_limit_bytes(0);
  const auto frozen = Freeze(*filter);
  EXPECT_EQ(Found(*frozen, 0, 100'000), 100'000U);
}

TEST_F(RibbonStagingTest, FrozenTakesTheMemoryThatItTells) {
  auto filter = Make(0.01, 1000);
  Add(*filter, 0, 100'000);
  filter = Freeze(*filter);
  EXPECT_EQ(filter->Info().size_bytes, budget_.used_bytes());
  EXPECT_LT(budget_.used_bytes() * 8, 700'000U);
  EXPECT_EQ(filter->staging(), nullptr);
}

TEST_F(RibbonStagingTest, ImageIsOfOneMomentWhileOthersAdd) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 5000);
  const auto image = filter->Capture();
  Add(*filter, 5000, 100'000);
  const auto copy = Decode(image->header(), BodyOf(*image));
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->ItemCount(), 5000U);
  EXPECT_EQ(Found(**copy, 0, 6000), 5000U);
}

TEST_F(RibbonStagingTest, WhatIsBuildingIsSavedAsStaging) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 100);
  filter->staging()->Close();
  const auto copy = std::move(CloneFilter(*filter, budget_, SystemClock()).value());
  EXPECT_EQ(copy->Info().freeze.state, FreezeState::kStaging);
  EXPECT_THAT(Add(*copy, 0, 100), Each(kPresent));
  EXPECT_THAT(Add(*copy, 100, 10), Each(kAdded));
}

template <class T>
std::string With(std::string bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

TEST_F(RibbonStagingTest, EveryDamagedOrMissingByteOfAHeaderIsNoticed) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 300);
  const auto frozen = Freeze(*filter);
  for (const Filter* each : {filter.get(), frozen.get()}) {
    const auto image = each->Capture();
    const std::string& good = image->header();
    const std::string body = BodyOf(*image);
    ASSERT_EQ(WhyNot(good, body), "accepted");
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x41);
      EXPECT_NE(WhyNot(bad, body), "accepted") << i;
      EXPECT_NE(WhyNot(good.substr(0, i), body), "accepted") << i;
      if (i >= 16) {
        EXPECT_NE(WhyNot(Reseal(good.substr(0, i)), body), "accepted") << i;
      }
    }
    EXPECT_NE(WhyNot(Reseal(good + '\0'), body), "accepted");
  }
}

TEST_F(RibbonStagingTest, HostileFieldsAreRefusedBehindARightChecksum) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 300);
  const auto frozen = Freeze(*filter);
  const auto image = frozen->Capture();
  const auto with = [&](size_t offset, auto value) {
    const auto decoder = FilterDecoder::Open(Reseal(With(image->header(), offset, value)), budget_, SystemClock());
    return decoder ? "accepted" : decoder.error().message;
  };
  EXPECT_EQ(with(44, uint64_t{8}), "accepted");  // another seed
  EXPECT_THAT(with(8, 0.5), HasSubstr("error rate"));
  EXPECT_THAT(with(16, uint64_t{0}), HasSubstr("capacity"));
  EXPECT_THAT(with(56, uint32_t{2}), HasSubstr("state"));
  EXPECT_THAT(with(56, uint32_t{0}), HasSubstr("bytes follow"));
  EXPECT_THAT(with(60, UINT64_MAX), HasSubstr("number of items"));
  EXPECT_THAT(with(60, uint64_t{1} << 32), HasSubstr("more items than it can"));
  EXPECT_THAT(with(68, uint32_t{0}), HasSubstr("columns"));
  EXPECT_THAT(with(68, uint32_t{31}), HasSubstr("columns"));
  EXPECT_THAT(with(76, uint64_t{0}), HasSubstr("shards"));
  EXPECT_THAT(with(76, UINT64_MAX), HasSubstr("shards"));
  EXPECT_THAT(with(84, uint64_t{0}), HasSubstr("words"));
  EXPECT_THAT(with(84, uint64_t{9}), HasSubstr("words"));
  EXPECT_THAT(with(84, uint64_t{1} << 61), HasSubstr("words"));
  budget_.set_limit_bytes(budget_.used_bytes() + 100'000);
  EXPECT_THAT(with(84, uint64_t{1} << 30), HasSubstr("memory"));
}

TEST_F(RibbonStagingTest, HostileRecordsOfShardsAreRefused) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 100'000);  // two shards
  const auto frozen = Freeze(*filter);
  const auto image = frozen->Capture();
  const std::string body = BodyOf(*image);
  uint64_t record[4];
  std::memcpy(record, body.data(), sizeof record);
  const auto with = [&](size_t word, uint64_t value) {
    return WhyNot(image->header(), With(body, word * sizeof value, value));
  };
  EXPECT_EQ(with(0, record[0]), "accepted");
  EXPECT_EQ(with(1, record[1] ^ uint64_t{1} << 48), "accepted") << "another seed is not damage that can be seen";
  EXPECT_THAT(with(0, record[0] + 1), HasSubstr("does not begin where"));
  EXPECT_THAT(with(2, UINT64_MAX), HasSubstr("does not begin where"));
  EXPECT_THAT(with(1, record[1] + 1), HasSubstr("record of a shard"));
  EXPECT_THAT(with(1, record[1] & ~uint64_t{0xFFFFFF}), HasSubstr("record of a shard"));
  EXPECT_THAT(with(1, record[1] | uint64_t{1} << 63), HasSubstr("record of a shard"));
  EXPECT_THAT(with(1, record[1] | uint64_t{0xFFFFFF} << 24), HasSubstr("split"));
  EXPECT_THAT(with(3, record[3] + 64), HasSubstr("as long as"));
  EXPECT_THAT(with(3, (record[3] & ~uint64_t{0xFFFFFF}) | 0xFFFFC0), HasSubstr("longer than it is"));
  EXPECT_THAT(with(body.size() / 8 - 1, 1), HasSubstr("after the last shard"));
}

TEST_F(RibbonStagingTest, HostileHashesAreRefused) {
  const auto filter = Make(0.01, 1000);
  Add(*filter, 0, 300);
  const auto image = filter->Capture();
  const std::string body = BodyOf(*image);
  EXPECT_EQ(WhyNot(image->header(), body), "accepted");
  EXPECT_THAT(WhyNot(image->header(), With(body, 80, uint64_t{0})), HasSubstr("a hash is 0"));
  uint64_t other;
  std::memcpy(&other, body.data(), sizeof other);
  EXPECT_THAT(WhyNot(image->header(), With(body, 80, other)), HasSubstr("twice"));
  EXPECT_THAT(WhyNot(image->header(), body.substr(0, body.size() - 1)), HasSubstr("shorter"));
  EXPECT_THAT(WhyNot(image->header(), body.substr(8)), HasSubstr("shorter"));
  EXPECT_THAT(WhyNot(image->header(), body + "x"), HasSubstr("longer"));
}

}  // namespace
}  // namespace bitsieve::core
