// The contract of every filter type, for every layout: no false negative, and the requested error rate.
#include "tests/contract/filter_contract.h"

#include <cmath>

#include "core/base/change_meter.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::test {
namespace {

constexpr KeySource kSources[] = {KeySource::kStrings, KeySource::kSequentialIntegers, KeySource::kUuids,
                                  KeySource::kRandomBytes};

class Promise : public FilterContract {};
BITSIEVE_FOR_ALL_KINDS(Promise);

TEST_P(Promise, NoFalseNegativeAmongAMillionItems) {
  for (const KeySource source : kSources) {
    constexpr uint64_t kItems = 1'000'000 / kSlowdown;
    const auto filter = Make(0.01, kItems, 0, 1);
    std::vector<core::AddOutcome> outcome(1);
    // One by one and in batches, to capacity: a full filter must not forget either.
    Add(*filter, source, 0, kItems / 2);
    for (uint64_t i = kItems / 2; i < kItems; ++i) filter->Add(Hashes(*filter, source, i, 1), outcome);
    EXPECT_EQ(CountFound(*filter, source, 0, kItems), kItems) << KeySourceName(source);
  }
}

TEST_P(Promise, NoFalseNegativeInAChainFromAHundredToAMillionItems) {
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  constexpr uint64_t kItems = 1'000'000 / kSlowdown;
  const auto filter = Make(0.01, 100, 2, 2);
  Add(*filter, KeySource::kStrings, 0, kItems);
  EXPECT_EQ(CountFound(*filter, KeySource::kStrings, 0, kItems), kItems);
  EXPECT_GT(filter->Info().sub_filters, HasNoSubFilters() ? 0U : 5U);
}

// Items new and repeated, in a filter that grows, while an image is open and while none is.
TEST_P(Promise, AddingOneItemDoesWhatAddingABatchDoes) {
  const auto one = Make(0.01, 500, 2, 6), batch = Make(0.01, 500, 2, 6);
  std::unique_ptr<core::FilterImage> image;
  const uint64_t total = core::ChangeMeter::Total();
  for (uint64_t i = 0; i < 2'000; ++i) {
    if (i % 700 == 100) image = one->Capture();
    if (i % 700 == 400) image.reset();
    const std::vector<core::KeyHash> hash = Hashes(*one, KeySource::kStrings, i % 3 == 2 ? i / 2 : i, 1);
    std::vector<core::AddOutcome> outcome(1);
    ASSERT_EQ(batch->Add(hash, outcome), 1U);
    ASSERT_EQ(one->AddOne(hash[0]), outcome[0]) << i;
  }
  EXPECT_EQ(one->ItemCount(), batch->ItemCount());
  EXPECT_EQ(one->ChangeCount(), batch->ChangeCount());
  EXPECT_EQ((core::ChangeMeter::Total() - total) % 2, 0U) << "both counted as many changes";
  EXPECT_EQ(core::DumpFilter(*one).value(), core::DumpFilter(*batch).value());
}

// The running counter moves by as much as the filter's own.
TEST_P(Promise, EveryChangeOfContentIsMetered) {
  const auto filter = Make(0.01, 1'000, 2, 3);
  uint64_t total = core::ChangeMeter::Total();
  uint64_t changes = filter->ChangeCount();
  const auto expect_alike = [&](const char* what) {
    // A window's own figure also counts generations that begin.
    if (!Forgets()) {
      EXPECT_EQ(core::ChangeMeter::Total() - total, filter->ChangeCount() - changes) << what;
    }
    EXPECT_NE(core::ChangeMeter::Total(), total) << what;
    total = core::ChangeMeter::Total();
    changes = filter->ChangeCount();
  };
  Add(*filter, KeySource::kStrings, 0, 1'000);
  expect_alike("a batch of new items");
  Add(*filter, KeySource::kStrings, 500, 1'000);
  expect_alike("half of them repeated");
  if (!filter->capabilities().remove) return;
  std::vector<uint8_t> removed(1'000);
  filter->Remove(Hashes(*filter, KeySource::kStrings, 1'400, 1'000), removed);
  expect_alike("removals, most of them of absent items");
}

TEST_P(Promise, ItsSizeIsKnownWithoutItsInfo) {
  const auto filter = Make(0.01, 1'000, 2, 4);
  const uint64_t when_made = filter->size_bytes();
  EXPECT_GT(when_made, 0U);
  EXPECT_EQ(when_made, filter->Info().size_bytes);
  for (uint64_t done = 0; done < 50'000; done += 500) {
    Add(*filter, KeySource::kStrings, done, 500);
    ASSERT_EQ(filter->size_bytes(), filter->Info().size_bytes) << done;
    if (IsAnothersBloom()) continue;
    ASSERT_EQ(filter->size_bytes(), budget_.used_bytes()) << done;
  }
  EXPECT_TRUE(Forgets() || filter->size_bytes() > when_made) << "it has grown";
}

struct Measurement {
  uint64_t probes = 0;
  uint64_t wrong = 0;
};

// Measures full filters of `items` items each, made with different seeds, with lookups of absent items only.
class Rate : public FilterContract {
 protected:
  Measurement Measure(double rate, uint64_t items, KeySource source, uint64_t probes) {
    // Small filters differ among themselves, so the rate is promised for their mean.
    const uint64_t filters = std::max<uint64_t>(1, 30'000 / items);
    Measurement measured;
    for (uint64_t seed = 0; seed < filters; ++seed) {
      const auto filter = Make(rate, items, 0, seed + 1000);
      // Each filter gets other items, for types that have no seed.
      Add(*filter, source, seed * items, items);
      measured.wrong += CountFound(*filter, source, kAbsent + seed * probes, probes / filters);
      measured.probes += probes / filters;
    }
    return measured;
  }
  // Returns what plain double hashing adds to the rate, about ten times n / m^2: two items whose steps and starts are
  // alike share all their bits. This is a lot where the filter is small and the rate is low.
  static double Excess(double rate, uint64_t items) {
    if (!IsAnothersBloom()) return 0;
    const double bits_per_item = std::log2(1 / rate) / std::log(2);
    return 10 / (static_cast<double>(items) * bits_per_item * bits_per_item);
  }
  // Expects a rate within four standard deviations of 1.02 times the requested one: k is an integer, which costs
  // classic up to 1% at 10%.
  static void ExpectKept(const Measurement& measured, double rate, const std::string& what) {
    const double expected = static_cast<double>(measured.probes) * rate;
    EXPECT_LE(static_cast<double>(measured.wrong), 1.02 * expected + 4 * std::sqrt(expected) + 1)
        << what << ": " << measured.wrong << " of " << measured.probes;
  }
};
BITSIEVE_FOR_ALL_KINDS(Rate);

TEST_P(Rate, IsKeptForEverySortOfKey) {
  if (HasAFixedRate()) GTEST_SKIP() << "its rate cannot be asked for";
  for (const double rate : {0.1, 0.01, 1e-3, 1e-4}) {
    for (const KeySource source : kSources) {
      const Measurement measured = Measure(rate, 100'000 / kSlowdown, source, 1'000'000 / kSlowdown);
      ExpectKept(measured, rate, std::string(KeySourceName(source)) + " at " + std::to_string(rate));
    }
  }
}

TEST_P(Rate, IsKeptOverTenMillionProbesAtEverySize) {
  if (HasAFixedRate()) GTEST_SKIP() << "its rate cannot be asked for";
  for (const uint64_t items : {100ULL, 10'000ULL, 1'000'000ULL}) {
    for (const double rate : {0.01, 1e-3, 1e-4, 1e-6}) {
      const Measurement measured = Measure(rate, items, KeySource::kSequentialIntegers, 10'000'000 / kSlowdown);
      ExpectKept(measured, rate + Excess(rate, items), std::to_string(items) + " items at " + std::to_string(rate));
      const double ratio = static_cast<double>(measured.wrong) / static_cast<double>(measured.probes) / rate;
      std::printf("  %-8s %8llu items asked %g: %llu wrong of %llu, %.3f times the asked rate\n",
                  std::string(core::FilterTypeName(GetParam())).c_str(), static_cast<unsigned long long>(items), rate,
                  static_cast<unsigned long long>(measured.wrong), static_cast<unsigned long long>(measured.probes),
                  ratio);
    }
  }
}

TEST_P(Rate, IsKeptByAReservedFilterThatGrewTenfold) {
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  if (HasAFixedRate()) GTEST_SKIP() << "its rate cannot be asked for";
  constexpr uint64_t kItems = 110'000 / kSlowdown;
  const auto filter = Make(0.01, kItems / 10, 2, 3);
  Add(*filter, KeySource::kUuids, 0, kItems);
  const uint64_t wrong = CountFound(*filter, KeySource::kUuids, kAbsent, 1'000'000 / kSlowdown);
  // valkey-bloom's first sub-filter has all of the rate.
  const double rest = GetParam() == core::kValkeyBloomType ? 1 - filter->params().tightening_ratio : 1;
  ExpectKept({1'000'000 / kSlowdown, wrong}, 0.01 / rest, "chain");
}

TEST_P(Rate, EstimateFromTheFillIsRight) {
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  for (const double load :
       {0.3, 1.0, 2.0}) {  // a sub-filter can be asked to hold more than it should only by counting low
    constexpr uint64_t kItems = 50'000;
    const auto filter = Make(0.02, kItems, 2, 4);
    Add(*filter, KeySource::kStrings, 0, static_cast<uint64_t>(load * kItems));
    const auto probes = static_cast<double>(2'000'000 / kSlowdown);
    const auto wrong =
        static_cast<double>(CountFound(*filter, KeySource::kStrings, kAbsent, static_cast<uint64_t>(probes)));
    const double estimated = filter->EstimatedErrorRate().value() * probes;
    EXPECT_NEAR(wrong, estimated, 0.05 * estimated + 5 * std::sqrt(estimated) + 2) << load;
  }
}

}  // namespace
}  // namespace bitsieve::test
