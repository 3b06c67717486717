// The contract of types that can be frozen: afterwards no false negative, the requested error rate at every size, the
// same bytes.
#include <cmath>

#include "core/base/checksum.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/staging.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

class Frozen : public FilterContract {
 protected:
  // Returns the frozen filter of items [0, items) of the source.
  std::unique_ptr<core::Filter> Freeze(double rate, uint64_t items, KeySource source, uint64_t seed) {
    const auto staging = Make(rate, std::max<uint64_t>(1, items), 2, seed);
    Add(*staging, source, 0, items);
    core::Staging& closing = *staging->staging();
    EXPECT_TRUE(closing.Close());
    auto frozen = closing.Build(budget_, [] { return true; });
    EXPECT_TRUE(frozen) << frozen.error().message;
    return std::move(*frozen);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, Frozen, testing::Values(core::kRibbonType),
                         [](const auto& test) { return std::string(core::FilterTypeName(test.param)); });

TEST_P(Frozen, NoFalseNegativeAtAnySize) {
  for (const KeySource source : {KeySource::kStrings, KeySource::kUuids}) {
    for (const uint64_t items : {0ULL, 1ULL, 2ULL, 10ULL, 100ULL, 127ULL, 128ULL, 129ULL, 1000ULL, 10'000ULL, 65'536ULL,
                                 65'537ULL, 1'000'000ULL / kSlowdown}) {
      for (const double rate : {0.25, 0.2, 0.01, 1e-6, 1e-9}) {
        if (items > 100'000 && rate != 0.01) continue;
        const auto filter = Freeze(rate, items, source, items);
        ASSERT_EQ(CountFound(*filter, source, 0, items), items) << items << " at " << rate;
        ASSERT_EQ(filter->ItemCount(), items);
      }
    }
  }
}

TEST_P(Frozen, RateIsAsAskedAtEverySize) {
  for (const uint64_t items : {1ULL, 10ULL, 100ULL, 1000ULL, 10'000ULL, 1'000'000ULL}) {
    for (const double rate : {0.01, 1e-3, 1e-4, 1e-6}) {
      const uint64_t probes = 10'000'000 / kSlowdown;
      // A small filter gives the same answer to a share of all items, so several filters are measured.
      const uint64_t filters = std::clamp<uint64_t>(100'000 / items / kSlowdown, 1, 1000);
      uint64_t wrong = 0;
      double estimate = 0;
      double bits = 0;
      for (uint64_t seed = 0; seed < filters; ++seed) {
        const auto filter = Freeze(rate, items, KeySource::kSequentialIntegers, seed);
        wrong += CountFound(*filter, KeySource::kSequentialIntegers, kAbsent, probes / filters);
        estimate += filter->EstimatedErrorRate().value() / static_cast<double>(filters);
        bits = filter->Info().bits_per_item;
      }
      const double asked = static_cast<double>(probes / filters * filters);
      EXPECT_LE(estimate, rate * (1 + 1e-9));
      EXPECT_GE(estimate, rate * (items < 1000 ? 0.5 : 0.95)) << "room is wasted";
      const double expected = asked * estimate;
      // In a small filter, the answers depend on each other because it has few starts, but not on average.
      EXPECT_NEAR(static_cast<double>(wrong), expected, 5 * std::sqrt(expected) + 2) << items << " at " << rate;
      std::printf("  frozen %8llu items asked %g: %llu wrong of %.0f, %.3f times the asked rate, %.2f bits an item\n",
                  static_cast<unsigned long long>(items), rate, static_cast<unsigned long long>(wrong), asked,
                  static_cast<double>(wrong) / asked / rate, bits);
    }
  }
}

TEST_P(Frozen, TakesTheBitsThatItPromises) {
  const uint64_t items = 1'000'000 / kSlowdown;
  for (const double rate : {0.25, 0.1, 0.03, 0.01, 0.003, 1e-3, 1e-4, 1e-6, 1e-9}) {
    const double bits = Freeze(rate, items, KeySource::kStrings, 1)->Info().bits_per_item;
    EXPECT_LT(bits, 1.05 * 1.03 * std::log2(1 / rate)) << rate;
    EXPECT_LT(bits, 0.73 * 1.4427 * std::log2(1 / rate) + 0.1) << "27% below classic, but for the largest rates";
  }
}

TEST_P(Frozen, SameItemsGiveTheSameBytesInWhateverOrderTheyCame) {
  const auto bytes = [](const core::Filter& filter) {
    const auto image = filter.Capture();
    std::string body(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
    return image->header() + body;
  };
  const auto forwards = Freeze(1e-3, 2000, KeySource::kStrings, 3);
  const auto staging = Make(1e-3, 2000, 2, 3);
  for (uint64_t i = 2000; i-- > 0;) Add(*staging, KeySource::kStrings, i, 1);
  auto backwards = staging->staging()->Build(budget_, [] { return true; });
  EXPECT_EQ(bytes(*forwards), bytes(**backwards));
}

TEST_P(Frozen, ComesBackAndTakesNothing) {
  const auto filter = Freeze(1e-3, 5000, KeySource::kStrings, 4);
  const auto copy = core::CloneFilter(*filter, budget_, StillClock());
  ASSERT_TRUE(copy) << copy.error().message;
  for (core::Filter* each : {filter.get(), copy->get()}) {
    EXPECT_EQ(CountFound(*each, KeySource::kStrings, 0, 5000), 5000U);
    EXPECT_EQ(each->Info().freeze.state, core::FreezeState::kFrozen);
    EXPECT_EQ(each->Info().freeze.percent, 100U);
    std::vector<core::AddOutcome> outcomes(3);
    EXPECT_EQ(each->Add(Hashes(*each, KeySource::kStrings, 4999, 3), outcomes), 3U);
    EXPECT_EQ(outcomes, std::vector(3, core::AddOutcome::kFrozen));
    EXPECT_EQ(each->ItemCount(), 5000U);
  }
  EXPECT_EQ(CountFound(**copy, KeySource::kStrings, kAbsent, 100'000),
            CountFound(*filter, KeySource::kStrings, kAbsent, 100'000));
}

// The bytes on disk must never change.
TEST_P(Frozen, GoldenBytes) {
  const auto whole = [&](double rate, uint64_t items) {
    const auto filter = Freeze(rate, items, KeySource::kStrings, 0x5EED);
    const auto image = filter->Capture();
    std::string body(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
    return core::Checksum(image->header() + body);
  };
  const std::vector<uint64_t> actual{whole(0.01, 100), whole(1e-3, 100'000), whole(1e-6, 1000)};
  const std::vector<uint64_t> golden{14965420033163369098U, 16709682795433567724U, 14886062086717989831U};
  EXPECT_EQ(actual, golden);
}

}  // namespace
}  // namespace bitsieve::test
