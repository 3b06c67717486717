// The contract of every type that can remove: removing items never hides an item that was added and not removed.
#include <atomic>
#include <barrier>
#include <cmath>
#include <random>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

class Removal : public FilterContract {
 protected:
  // Returns how many of the items [first, first + count) were removed.
  static uint64_t Remove(core::Filter& filter, KeySource source, uint64_t first, uint64_t count) {
    std::vector<uint8_t> removed(count);
    filter.Remove(Hashes(filter, source, first, count), removed);
    return static_cast<uint64_t>(std::count(removed.begin(), removed.end(), 1));
  }
  static uint64_t Count(const core::Filter& filter, uint64_t item) {
    uint64_t count = 0;
    filter.Count(Hashes(filter, kSource, item, 1), std::span(&count, 1));
    return count;
  }
  static std::string BytesOf(const core::Filter& filter) {
    const auto image = filter.Capture();
    std::string body(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
    return image->header() + body;
  }
  // Returns the first item from `from` on that the filter shows as present, or as absent.
  static uint64_t FirstTold(const core::Filter& filter, bool present, uint64_t from) {
    while ((CountFound(filter, kSource, from, 1) != 0) != present) ++from;
    return from;
  }

  static constexpr KeySource kSource = KeySource::kStrings;
};

// Types that store each addition, so that each can be taken back. A type that stores an item once removes only what was
// new when it was added; its own tests are about that.
std::vector<core::FilterType> RemovingTypes() {
  std::vector<core::FilterType> types;
  for (const core::FilterType type : AllTypes()) {
    const core::Capabilities& can = core::FindFilterType(type)->can;
    if (can.remove && can.count) types.push_back(type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Types, Removal, testing::ValuesIn(RemovingTypes()),
                         [](const auto& test) { return std::string(core::FilterTypeName(test.param)); });

TEST_P(Removal, OfHalfLeavesTheOtherHalf) {
  constexpr uint64_t kItems = 200'000 / kSlowdown;
  for (const double rate : {0.01, 1e-3}) {
    const auto filter = Make(rate, kItems, 0, 1);
    Add(*filter, kSource, 0, kItems);
    // An item that was taken for a known one is not reported as new, but it is counted and can be removed.
    EXPECT_EQ(filter->ItemCount(), kItems);
    EXPECT_EQ(Remove(*filter, kSource, 0, kItems / 2), kItems / 2);
    EXPECT_EQ(filter->ItemCount(), kItems / 2);
    EXPECT_EQ(CountFound(*filter, kSource, kItems / 2, kItems / 2), kItems / 2);
    // A removed item is as absent as one that was never added, at half the load.
    const auto gone = static_cast<double>(CountFound(*filter, kSource, 0, kItems / 2));
    const double expected = filter->EstimatedErrorRate().value() * static_cast<double>(kItems / 2);
    EXPECT_NEAR(gone, expected, 5 * std::sqrt(expected) + 2);
    if (HasAFixedRate()) continue;
    EXPECT_LT(filter->EstimatedErrorRate().value(), KeepsFingerprints() ? rate * 0.51 : rate / 4);
  }
}

TEST_P(Removal, OfEverythingLeavesNothing) {
  const auto filter = Make(0.01, 1000, 2, 2);
  const auto empty = Make(0.01, 1000, 2, 2);
  Add(*filter, kSource, 0, 1000);
  EXPECT_EQ(Remove(*filter, kSource, 0, 1000), 1000U);
  // The header of a RedisCuckoo counts removals.
  if (GetParam() != core::kRedisCuckooType) {
    EXPECT_EQ(BytesOf(*filter), BytesOf(*empty));
  }
  EXPECT_EQ(filter->Info().fill_ratio, 0);
  EXPECT_EQ(filter->EstimatedErrorRate().value(), 0);
}

TEST_P(Removal, OfWhatIsNotThereChangesNothing) {
  const auto filter = Make(0.01, 1000, 2, 3);
  Add(*filter, kSource, 0, 1500);
  const std::string before = BytesOf(*filter);
  const uint64_t changes = filter->ChangeCount();
  for (uint64_t item = kAbsent; item < kAbsent + 1000; ++item) {
    item = FirstTold(*filter, false, item);
    EXPECT_EQ(Remove(*filter, kSource, item, 1), 0U);
  }
  EXPECT_EQ(BytesOf(*filter), before);
  EXPECT_EQ(filter->ChangeCount(), changes);
}

TEST_P(Removal, TakesOneAdditionBack) {
  const auto filter = Make(1e-6, 1000, 2, 4);
  Add(*filter, kSource, 7, 1);
  Add(*filter, kSource, 7, 1);
  EXPECT_EQ(Count(*filter, 7), 2U);
  EXPECT_EQ(filter->ItemCount(), 2U);
  EXPECT_EQ(Remove(*filter, kSource, 7, 1), 1U);
  EXPECT_EQ(CountFound(*filter, kSource, 7, 1), 1U);
  EXPECT_EQ(Count(*filter, 7), 1U);
  EXPECT_EQ(Remove(*filter, kSource, 7, 1), 1U);
  EXPECT_EQ(CountFound(*filter, kSource, 7, 1), 0U);
  EXPECT_EQ(Remove(*filter, kSource, 7, 1), 0U);
  EXPECT_EQ(Count(*filter, 7), 0U);
  EXPECT_EQ(filter->ItemCount(), 0U);
}

TEST_P(Removal, MakesRoomInAFullFilter) {
  if (GetParam() == core::kRedisCuckooType) GTEST_SKIP() << "how many items fit is a matter of chance";
  const auto filter = Make(1e-6, 100, 0, 5);
  Add(*filter, kSource, 0, 100);
  std::vector<core::AddOutcome> outcome(1);
  const auto add = [&](uint64_t item) {
    EXPECT_EQ(filter->Add(Hashes(*filter, kSource, item, 1), outcome), 1U);
    return outcome[0];
  };
  EXPECT_EQ(add(100), core::AddOutcome::kFull);
  if (KeepsFingerprints()) {
    EXPECT_EQ(add(5), core::AddOutcome::kFull) << "it would not be counted";
  } else {
    EXPECT_EQ(add(5), core::AddOutcome::kPresent);  // needs no room, but counts
    EXPECT_EQ(Remove(*filter, kSource, 5, 1), 1U);
  }
  EXPECT_EQ(add(100), core::AddOutcome::kFull);
  EXPECT_EQ(Remove(*filter, kSource, 6, 1), 1U);
  EXPECT_EQ(add(100), core::AddOutcome::kAdded);
  EXPECT_EQ(add(101), core::AddOutcome::kFull);
  EXPECT_EQ(CountFound(*filter, kSource, 7, 94), 94U);
}

TEST_P(Removal, ChurnWithinTheCapacityKeepsTheRateAndDoesNotGrow) {
  constexpr uint64_t kLive = 10'000;
  constexpr uint64_t kRounds = 20 / (kSlowdown > 1 ? 4 : 1);
  const auto filter = Make(0.01, kLive, 2, 6);
  for (uint64_t round = 0; round < kRounds; ++round) {
    Add(*filter, kSource, round * kLive, kLive);
    ASSERT_EQ(CountFound(*filter, kSource, round * kLive, kLive), kLive);
    if (round + 1 == kRounds) break;  // the last ones stay
    ASSERT_EQ(Remove(*filter, kSource, round * kLive, kLive), kLive);
  }
  EXPECT_EQ(filter->Info().sub_filters, 1U);
  if (HasAFixedRate()) return;
  const double wrong = static_cast<double>(CountFound(*filter, kSource, kAbsent, 200'000));
  EXPECT_LE(wrong, 0.0081 * 200'000 + 4 * std::sqrt(0.008 * 200'000));  // the first sub-filter has 0.8 of the rate
}

// The rates are so high that sub-filters often show items that they do not have: a removal that turned to the wrong
// sub-filter would take from other items.
TEST_P(Removal, NeverTouchesOtherItemsWhateverSubFiltersBelieve) {
  constexpr uint64_t kSteps = 60'000 / kSlowdown;
  const auto filter = Make(0.25, kSteps / 120, 2, 7);
  std::mt19937_64 random(7);
  std::vector<uint64_t> live;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const bool growing = step % (kSteps / 4) < kSteps / 6;
    if (live.empty() || random() % 100 < (growing ? 70U : 25U)) {
      live.push_back(random() % 10 == 0 && !live.empty() ? live[random() % live.size()] : step);  // again, or another
      Add(*filter, kSource, live.back(), 1);
    } else {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_EQ(Remove(*filter, kSource, live.back(), 1), 1U) << step;
      live.pop_back();
    }
    ASSERT_EQ(filter->ItemCount(), live.size());
    if (step % 500 != 0) continue;
    for (const uint64_t item : live) ASSERT_EQ(CountFound(*filter, kSource, item, 1), 1U) << step;
  }
  EXPECT_GT(filter->Info().sub_filters, 2U);
  for (const uint64_t item : live) ASSERT_EQ(Remove(*filter, kSource, item, 1), 1U);
  EXPECT_EQ(filter->ItemCount(), 0U);
  EXPECT_EQ(filter->Info().fill_ratio, 0);
}

// This is the textbook example of what goes wrong.
TEST_P(Removal, OfAnItemNeverAddedHurtsOnlyIfItWasBelievedPresent) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto filter = Make(0.1, 2, 0, seed);
    const auto hash_of = [&](const char* word) { return std::vector{filter->HashOf(word)}; };
    std::vector<core::AddOutcome> outcome(1);
    filter->Add(hash_of("loved"), outcome);
    filter->Add(hash_of("your"), outcome);
    std::vector<uint8_t> believed(1), removed(1), loved(1), your(1);
    filter->MayContain(hash_of("hated"), believed);
    filter->Remove(hash_of("hated"), removed);
    EXPECT_EQ(removed, believed);
    filter->MayContain(hash_of("loved"), loved);
    filter->MayContain(hash_of("your"), your);
    if (removed[0] != 0) continue;  // then one of the two may be missed: that is the false negative
    EXPECT_EQ(loved[0] + your[0], 2) << seed;
  }
}

TEST_P(Removal, ChangesAreCountedForSnapshots) {
  const auto filter = Make(0.001, 100, 2, 8);
  uint64_t last = filter->ChangeCount();
  const auto changed = [&] { return std::exchange(last, filter->ChangeCount()) < last; };
  Add(*filter, kSource, 0, 1);
  EXPECT_TRUE(changed());
  Add(*filter, kSource, 0, 1);
  EXPECT_TRUE(changed());
  EXPECT_EQ(Remove(*filter, kSource, 0, 1), 1U);
  EXPECT_TRUE(changed());
  EXPECT_EQ(CountFound(*filter, kSource, 0, 1), 1U);
  EXPECT_FALSE(changed());
}

TEST_P(Removal, ImageComesBackWithItsCounts) {
  const auto filter = Make(0.01, 100, 2, 9);
  Add(*filter, kSource, 0, 400);
  Add(*filter, kSource, 0, 100);
  EXPECT_EQ(Remove(*filter, kSource, 50, 250), 250U);
  const auto image = filter->Capture();
  std::string body(image->body_bytes(), '\0');
  EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
  auto decoder = core::FilterDecoder::Open(image->header(), budget_, StillClock());
  ASSERT_TRUE(decoder) << decoder.error().message;
  ASSERT_TRUE((*decoder)->Append(std::as_bytes(std::span(body))));
  const auto copy = (*decoder)->Finish();
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->ItemCount(), 250U);
  EXPECT_EQ((*copy)->Info().fill_ratio, filter->Info().fill_ratio);
  for (core::Filter* each : {filter.get(), copy->get()}) {
    EXPECT_EQ(Remove(*each, kSource, 0, 100), 100U);
    EXPECT_EQ(Remove(*each, kSource, 0, 50), 50U);
    EXPECT_EQ(CountFound(*each, kSource, 300, 100), 100U);
    Add(*each, kSource, 1000, 500);
  }
  EXPECT_EQ(BytesOf(**copy), BytesOf(*filter));
}

class RemovalRace : public Removal {
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

INSTANTIATE_TEST_SUITE_P(Types, RemovalRace, testing::ValuesIn(RemovingTypes()),
                         [](const auto& test) { return std::string(core::FilterTypeName(test.param)); });

// Each thread adds and removes its own items; the counters are shared, and so few that all threads meet in them.
TEST_P(RemovalRace, DisjointItemsOverSharedCounters) {
  for (const uint32_t expansion : {0U, 2U}) {  // in one sub-filter, and across growth
    constexpr uint64_t kThreads = 4;
    constexpr uint64_t kKept = 480;
    const uint64_t rounds = 40 / (kSlowdown > 1 ? 4 : 1);
    core::FilterParams params =
        ParamsOf(GetParam(), 0.1, expansion == 0 ? kThreads * (kKept + 100) : 50, expansion, 10);
    core::SetCounterBits(params, 8);  // one of 4 bits may come to its largest value by the way, and then stays there
    const auto filter = core::MakeFilter(params, budget_, StillClock()).value();
    std::atomic<uint64_t> refused{0};
    RunThreads(kThreads, [&](uint64_t t) {
      const uint64_t own = t * 1'000'000;
      for (uint64_t round = 0; round < rounds; ++round) {
        Add(*filter, kSource, own + 100'000 + round * 100, 100);
        Add(*filter, kSource, own + round * kKept / rounds, kKept / rounds);
        refused += 100 - Remove(*filter, kSource, own + 100'000 + round * 100, 100);
      }
    });
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(filter->ItemCount(), kThreads * kKept);
    uint64_t ghosts = 0;
    for (uint64_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(CountFound(*filter, kSource, t * 1'000'000, kKept), kKept);
      ghosts += CountFound(*filter, kSource, t * 1'000'000 + 100'000, rounds * 100);
    }
    const double asked = static_cast<double>(kThreads * rounds * 100);
    const double expected = filter->EstimatedErrorRate().value() * asked;
    EXPECT_NEAR(static_cast<double>(ghosts), expected, 6 * std::sqrt(expected) + 0.1 * expected + 2);
    for (uint64_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(Remove(*filter, kSource, t * 1'000'000, kKept), kKept);
    }
    EXPECT_EQ(filter->ItemCount(), 0U);
    EXPECT_EQ(filter->Info().fill_ratio, 0) << "nothing was lost and nothing is left over";
  }
}

// All threads add and remove the same few items, each as often: every answer "removed" is one addition.
TEST_P(RemovalRace, OneItemByManyThreads) {
  const auto filter = Make(1e-6, 1000, 2, 11);
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kSteps = 20'000 / kSlowdown;
  std::atomic<uint64_t> refused{0};
  Add(*filter, kSource, 1000, 4);
  RunThreads(kThreads, [&](uint64_t) {
    for (uint64_t step = 0; step < kSteps; ++step) {
      Add(*filter, kSource, 1000 + step % 4, 1);
      refused += 1 - Remove(*filter, kSource, 1000 + step % 4, 1);
    }
  });
  EXPECT_EQ(refused, 0U);
  EXPECT_EQ(filter->ItemCount(), 4U);
  EXPECT_EQ(CountFound(*filter, kSource, 1000, 4), 4U);
  EXPECT_EQ(Remove(*filter, kSource, 1000, 4), 4U);
  EXPECT_EQ(filter->Info().fill_ratio, 0);
}

TEST_P(RemovalRace, ImagesHaveEveryItemThatIsLiveAllTheTime) {
  const auto filter = Make(0.05, 200, 2, 12);
  constexpr uint64_t kLive = 1000;
  Add(*filter, kSource, 0, kLive);
  std::atomic<bool> done{false};
  std::thread changer([&] {
    for (uint64_t i = 0; !done; i += 10) {
      Add(*filter, kSource, 1'000'000 + i, 20);
      if (i >= 10) Remove(*filter, kSource, 1'000'000 + i - 10, 20);
    }
  });
  for (int round = 0; round < 50; ++round) {
    const auto image = filter->Capture();
    std::string body(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
    auto decoder = core::FilterDecoder::Open(image->header(), budget_, StillClock());
    ASSERT_TRUE(decoder) << decoder.error().message;
    ASSERT_TRUE((*decoder)->Append(std::as_bytes(std::span(body))));
    const auto copy = (*decoder)->Finish();
    ASSERT_TRUE(copy) << copy.error().message;
    ASSERT_EQ(CountFound(**copy, kSource, 0, kLive), kLive);
    ASSERT_EQ(CountFound(*filter, kSource, 0, kLive), kLive);
  }
  done = true;
  changer.join();
}

}  // namespace
}  // namespace bitsieve::test
