// Windows as bytes, and under many threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <thread>

#include "tests/support/reseal.h"
#include "tests/support/window_fixture.h"

namespace bitsieve::core {
namespace {

using test::Reseal;
using enum AddOutcome;

class WindowImage : public testing::Test, protected test::WindowFixture {};

TEST_F(WindowImage, ComesBackAndGoesOnAlikeAtAnyPointOfItsWay) {
  for (const uint64_t items : {0U, 1U, 999U, 1000U, 1001U, 3000U, 4000U, 4001U, 4010U, 9500U}) {
    const auto filter = OfItems(0.01, 3000);
    Add(*filter, 0, items);
    const auto copy = Restart(*filter);
    EXPECT_EQ(copy->ItemCount(), filter->ItemCount()) << items;
    EXPECT_EQ(Found(*copy, 0, items), Found(*filter, 0, items));
    EXPECT_EQ(Found(*copy, kAbsent, 50'000), Found(*filter, kAbsent, 50'000));
    Add(*filter, items, 2500);
    Add(*copy, items, 2500);
    EXPECT_EQ(BodyOf(*copy->Capture()), BodyOf(*filter->Capture())) << items;
    EXPECT_EQ(copy->Capture()->header(), filter->Capture()->header()) << items;
  }
}

TEST_F(WindowImage, ShowsItsMomentThoughGenerationsBeginAnewMeanwhile) {
  constexpr uint64_t kWindow = 30'000;
  const auto filter = OfItems(0.01, kWindow);
  // Groups that count as clear are there at some of these moments.
  for (const uint64_t items : {9'000U, 2'000U, 30'500U, 500U, 1'500U}) {
    Add(*filter, filter->ChangeCount(), items);
    const auto still = filter->Capture();
    const std::string body = BodyOf(*still);
    const auto image = filter->Capture();
    Add(*filter, filter->ChangeCount(), 2 * kWindow);  // every generation begins anew
    EXPECT_EQ(image->header(), still->header());
    std::string pieces;
    for (uint64_t at = 0; at < image->body_bytes(); at += 5000) {
      std::string piece(std::min<uint64_t>(5000, image->body_bytes() - at), '\0');
      ASSERT_TRUE(image->Read(at, std::as_writable_bytes(std::span(piece))));
      pieces += piece;
      Add(*filter, filter->ChangeCount(), 10);
    }
    EXPECT_EQ(pieces, body) << items;
  }
}

TEST_F(WindowImage, EveryDamagedOrMissingByteOfTheHeaderIsNoticed) {
  const auto filter = OfTime(0.01, 10, 1000);
  Add(*filter, 0, 15);
  const auto image = filter->Capture();
  const std::string& good = image->header();
  const std::string body = BodyOf(*image);
  ASSERT_TRUE(Decode(good, body));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    EXPECT_FALSE(Decode(bad, body)) << i;
    EXPECT_FALSE(Decode(good.substr(0, i), body)) << i;
    if (i >= 16) {
      EXPECT_FALSE(Decode(Reseal(good.substr(0, i)), body)) << i;
    }
  }
  EXPECT_FALSE(Decode(Reseal(good + '\0'), body));
}

TEST_F(WindowImage, HostileFieldsAreRefusedBehindARightChecksum) {
  const auto filter = OfTime(0.01, 300, 1000);
  Add(*filter, 0, 150);  // two generations
  const auto image = filter->Capture();
  const auto with = [&](size_t offset, auto value) {
    std::string bad = image->header();
    std::memcpy(bad.data() + offset, &value, sizeof value);
    const auto decoder = FilterDecoder::Open(Reseal(bad), budget, clock);
    return decoder ? "accepted" : decoder.error().message;
  };
  using testing::HasSubstr;
  constexpr size_t kGenerations = 112;  // where their number is
  constexpr size_t kFirst = kGenerations + 4;
  EXPECT_EQ(with(44, uint64_t{7}), "accepted");  // another seed
  EXPECT_THAT(with(8, 0.5), HasSubstr("error rate"));
  EXPECT_THAT(with(16, uint64_t{0}), HasSubstr("capacity"));
  EXPECT_THAT(with(16, uint64_t{301}), HasSubstr("do not make up the window"));
  EXPECT_THAT(with(56, uint64_t{1}), HasSubstr("capacity of a window of items"));  // the number of the other window
  EXPECT_THAT(with(54, uint16_t{0}), HasSubstr("needs a window"));
  EXPECT_THAT(with(64, UINT64_MAX), HasSubstr("window in milliseconds"));
  EXPECT_THAT(with(72, uint32_t{0}), HasSubstr("number of generations"));
  EXPECT_THAT(with(76, uint32_t{3}), HasSubstr("number of generations"));
  EXPECT_THAT(with(76, uint32_t{17}), HasSubstr("number of generations"));
  EXPECT_THAT(with(80, uint64_t{1} << 62), HasSubstr("do not make up"));
  EXPECT_THAT(with(96, uint64_t{1} << 60), HasSubstr("impossible"));
  EXPECT_THAT(with(96, uint64_t{513}), HasSubstr("impossible"));
  EXPECT_THAT(with(104, uint32_t{99}), HasSubstr("impossible"));
  EXPECT_THAT(with(kGenerations, uint32_t{0}), HasSubstr("present generations"));
  EXPECT_THAT(with(kGenerations, uint32_t{7}), HasSubstr("present generations"));
  EXPECT_THAT(with(kGenerations, uint32_t{3}), HasSubstr("ends within generation 2"));
  EXPECT_THAT(with(kGenerations, uint32_t{1}), HasSubstr("bytes follow"));
  EXPECT_THAT(with(kFirst, uint64_t{101}), HasSubstr("more items than it can"));
  EXPECT_THAT(with(kFirst + 8, UINT64_MAX), HasSubstr("times of generation 0"));
  EXPECT_THAT(with(kFirst + 40, UINT64_MAX), HasSubstr("times of generation 1"));
  EXPECT_THAT(with(6, uint16_t{2}), HasSubstr("filter header"));  // the fields of another type
}

class WindowThreads : public testing::Test, protected test::WindowFixture {};

TEST_F(WindowThreads, NewIsToldExactlyOnceAcrossTurns) {
  constexpr int kThreads = 4;
  constexpr uint64_t kItems = 20'000;
  constexpr size_t kBatch = 16;
  constexpr uint64_t kLead = 1'600;  // of one thread over another, so that only so many are put again at a turn
  const auto filter = OfItems(kSurely, kItems + kItems / 2);  // two turns, and nothing is forgotten
  std::barrier start(kThreads);
  std::atomic<uint64_t> told_new{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kItems; i += kBatch) {
        if (i % kLead == 0) start.arrive_and_wait();
        const size_t count = t % 2 == 0 ? kBatch : kBatch / 2 + i % 3;
        const auto outcomes = Add(*filter, i, std::min<uint64_t>(count, kItems - i));
        told_new += static_cast<uint64_t>(std::count(outcomes.begin(), outcomes.end(), kAdded));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told_new, kItems);
  EXPECT_EQ(Found(*filter, 0, kItems), kItems);
}

// One adds, one adds again what was just added so that it moves on to the current generation, and a reader looks for
// it.
TEST_F(WindowThreads, ReadersNeverMissWhatIsInTheWindow) {
  constexpr uint64_t kItems = 60'000;
  constexpr uint64_t kRecent = 200;
  const auto filter = OfItems(0.01, 1500);
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> missed{0};
  std::thread writer([&] {
    for (uint64_t i = 0; i < kItems; i += 10) {
      Add(*filter, i, 10);
      published.store(i + 10, std::memory_order_release);
    }
  });
  std::thread again([&] {
    for (uint64_t seen = 0; seen < kItems;) {
      seen = published.load(std::memory_order_acquire);
      if (seen >= 10) Add(*filter, seen - 10, 10);
    }
  });
  for (uint64_t seen = 0; seen < kItems;) {
    seen = published.load(std::memory_order_acquire);
    const uint64_t first = seen < kRecent ? 0 : seen - kRecent;
    const size_t found = Found(*filter, first, seen - first);
    // Only if the writer has not moved past the window since.
    if (published.load(std::memory_order_acquire) - first < 700) missed += seen - first - found;
  }
  writer.join();
  again.join();
  EXPECT_EQ(missed, 0U);
}

TEST_F(WindowThreads, ImagesTakenWhileTheTurnChangesAreWhole) {
  const auto filter = OfTime(0.01, 200'000, 1000);
  std::atomic<bool> done{false};
  std::thread adder([&] {
    for (uint64_t i = 0; !done; i += 64) {
      Add(*filter, i, 64);
      clock.now_ms += 7;
    }
  });
  for (int round = 0; round < 30; ++round) {
    const auto image = filter->Capture();
    const auto copy = Decode(image->header(), BodyOf(*image));
    ASSERT_TRUE(copy) << copy.error().message;
    EXPECT_LE(AddOne(**copy, kAbsent), kAdded);
  }
  done = true;
  adder.join();
}

}  // namespace
}  // namespace bitsieve::core
