// The promises that a log depends on: a filter reports every change; and an image of any moment, with the later changes
// replayed, is the same filter to the last bit. Also: a filter made again from its parameters is the same as the first
// one.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/change_history.h"
#include "core/filter/change_runs.h"
#include "core/filter/filter_union.h"
#include "core/memory/memory_image.h"
#include "tests/contract/every_option.h"
#include "tests/support/filter_bytes.h"
#include "tests/support/window_fixture.h"

namespace bitsieve::test {
namespace {

using core::AddOutcome;

constexpr uint64_t kId = 7;

struct Recorded {
  core::ChangeKind kind;
  uint64_t sequence;
  uint64_t time_ms;
  uint64_t until_ms;
  std::vector<core::KeyHash> hashes;
};

class Recorder final : public core::ChangeListener {
 public:
  bool Reserve(size_t hashes) noexcept override {
    EXPECT_LE(hashes, kMaxHashes);
    EXPECT_EQ(std::exchange(reserved_, hashes), 0u);
    return true;
  }
  void Release(size_t hashes) noexcept override { EXPECT_EQ(std::exchange(reserved_, 0), hashes); }
  void OnChange(const core::Change& change, size_t reserved) noexcept override {
    Release(reserved);
    const std::lock_guard lock(mutex_);
    EXPECT_NE(change.kind, core::ChangeKind::kRewritten);
    EXPECT_EQ(change.filter_id, kId);
    EXPECT_FALSE(change.hashes.empty());
    if (!changes_.empty()) {
      EXPECT_EQ(change.sequence, changes_.back().sequence + 1);
    }
    changes_.push_back(
        {change.kind, change.sequence, change.time_ms, change.until_ms, {change.hashes.begin(), change.hashes.end()}});
  }
  std::vector<Recorded> Take() {
    const std::lock_guard lock(mutex_);
    return std::move(changes_);
  }

 private:
  std::mutex mutex_;
  std::vector<Recorded> changes_;
  size_t reserved_ = 0;  // the filter's writers exclude each other
};

class Replay : public testing::TestWithParam<OptionCase> {
 protected:
  std::unique_ptr<core::Filter> Make(const core::FilterParams& params, const core::Clock& clock) {
    auto filter = core::MakeFilter(params, budget_, clock);
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }

  // Adds new and known items, more than there is room for, and removes items that are there and items that are not, or
  // notes items as false positives.
  static void Change(core::Filter& filter, std::mt19937_64& random, ManualClock& clock) {
    std::vector<core::KeyHash> hashes(1 + random() % 150);
    for (core::KeyHash& hash : hashes) hash = filter.HashOf(std::to_string(random() % 2000));
    if (random() % 4 == 0) clock.now_ms += random() % 400;
    if (random() % 16 == 0) clock.now_ms -= random() % 100;
    if (filter.capabilities().remove && random() % 3 == 0) {
      std::vector<uint8_t> removed(hashes.size());
      filter.Remove(hashes, removed);
      return;
    }
    if (filter.capabilities().deny && random() % 3 == 0) {
      std::vector<core::RecordOutcome> outcomes(hashes.size());
      filter.RecordFalsePositives(hashes, outcomes);
      return;
    }
    if (filter.capabilities().expire && random() % 3 == 0) {
      std::vector<uint8_t> touched(hashes.size());
      filter.Touch(hashes, touched);
      return;
    }
    const core::ItemTime time{.ttl_ms = random() % 2 == 0 ? 0 : 1 + random() % 1000};
    std::vector<AddOutcome> outcomes(hashes.size());
    const size_t done = filter.Add(hashes, outcomes, time);
    EXPECT_TRUE(done == hashes.size() || outcomes[done - 1] == AddOutcome::kFull);
  }

  std::unique_ptr<core::Filter> Decode(const FilterBytes& bytes) {
    auto decoder = core::FilterDecoder::Open(bytes.header, budget_, replay_clock_);
    EXPECT_TRUE(decoder) << decoder.error().message;
    EXPECT_TRUE((*decoder)->Append(core::AsBytes(bytes.body)));
    auto filter = (*decoder)->Finish();
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }

  void Repeat(core::Filter& filter, const Recorded& change) {
    if (change.time_ms != 0) replay_clock_.now_ms = change.time_ms;
    if (change.kind == core::ChangeKind::kFalsePositives) {
      std::vector<core::RecordOutcome> outcomes(change.hashes.size());
      filter.RecordFalsePositives(change.hashes, outcomes);
      ASSERT_EQ(std::ranges::count(outcomes, core::RecordOutcome::kRecorded), static_cast<ptrdiff_t>(outcomes.size()));
    } else if (change.kind == core::ChangeKind::kRemoved) {
      std::vector<uint8_t> removed(change.hashes.size());
      filter.Remove(change.hashes, removed);
      ASSERT_EQ(std::count(removed.begin(), removed.end(), 1), static_cast<ptrdiff_t>(removed.size()));
    } else if (change.kind == core::ChangeKind::kRenewed) {
      std::vector<uint8_t> touched(change.hashes.size());
      filter.Touch(change.hashes, touched, {.until_ms = change.until_ms});
      ASSERT_EQ(std::count(touched.begin(), touched.end(), 1), static_cast<ptrdiff_t>(touched.size()));
    } else {
      std::vector<AddOutcome> outcomes(change.hashes.size());
      ASSERT_EQ(filter.Add(change.hashes, outcomes, {.until_ms = change.until_ms}), outcomes.size());
      ASSERT_FALSE(std::ranges::any_of(outcomes, core::IsRefused)) << "refused";
    }
    ASSERT_EQ(filter.sequence(), change.sequence);
  }

  // Returns the filter of the image, brought to where the changes end.
  std::unique_ptr<core::Filter> Replayed(const FilterBytes& image, uint64_t sequence,
                                         const std::vector<Recorded>& changes) {
    std::unique_ptr<core::Filter> filter = Decode(image);
    Recorder again;
    filter->Attach(&again, kId, sequence);
    for (const Recorded& change : changes) {
      if (change.sequence > sequence) Repeat(*filter, change);
      if (HasFatalFailure()) break;
    }
    filter->Attach(nullptr, kId, sequence);
    return filter;
  }

  core::MemoryBudget budget_;
  ManualClock clock_;
  ManualClock replay_clock_;
};

INSTANTIATE_TEST_SUITE_P(Options, Replay, testing::ValuesIn(EveryOption(150)),
                         [](const auto& test) { return test.param.name; });

TEST_P(Replay, OfAnImageAndTheChangesBehindItGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    const auto filter = Make(GetParam().params, clock_);
    Recorder recorder;
    filter->Attach(&recorder, kId, 0);
    for (uint64_t i = random() % 20; i-- > 0;) Change(*filter, random, clock_);
    const auto image = filter->Capture();
    for (uint64_t i = 20; i-- > 0;) Change(*filter, random, clock_);
    const uint64_t sequence = image->sequence();
    EXPECT_LE(sequence, filter->sequence());
    const auto replayed = Replayed(BytesOf(*image), sequence, recorder.Take());
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(BytesOf(*replayed) == BytesOf(*filter)) << "seed " << seed;
  }
}

// A copy of the filter elsewhere follows it like this.
TEST_P(Replay, OfAnImageAndItsHistoryGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(seed);
    const auto filter = Make(GetParam().params, clock_);
    const auto history = std::make_shared<core::ChangeHistory>(std::make_shared<core::MemoryBudget>());
    for (uint64_t i = random() % 20; i-- > 0;) Change(*filter, random, clock_);
    filter->SetHistory(history);
    const auto image = filter->Capture();
    for (uint64_t i = 20; i-- > 0;) Change(*filter, random, clock_);
    core::FilterClock copy_clock;
    const FilterBytes bytes = BytesOf(*image);
    auto decoder = core::FilterDecoder::Open(bytes.header, budget_, copy_clock);
    ASSERT_TRUE((*decoder)->Append(core::AsBytes(bytes.body)));
    const auto copy = std::move(*(*decoder)->Finish());
    std::string runs;
    history->Since(image->position(), SIZE_MAX)->AppendTo(runs);
    for (std::string_view rest = runs; !rest.empty();) {
      ASSERT_TRUE(core::ApplyChangeRun(*copy, copy_clock, *core::TakeChangeRun(rest)));
    }
    ASSERT_TRUE(BytesOf(*copy) == BytesOf(*filter)) << "seed " << seed;
  }
}

TEST_P(Replay, FromTheBeginningGivesTheSameBytes) {
  std::mt19937_64 random(99);
  const auto filter = Make(GetParam().params, clock_);
  const auto again = Make(filter->params(), replay_clock_);
  Recorder recorder;
  filter->Attach(&recorder, kId, 0);
  Recorder repeated;
  again->Attach(&repeated, kId, 0);
  clock_.now_ms += 700;  // since it was made
  for (int i = 0; i < 30; ++i) Change(*filter, random, clock_);
  for (const Recorded& change : recorder.Take()) Repeat(*again, change);
  EXPECT_TRUE(BytesOf(*again) == BytesOf(*filter));
}

// Items are added one by one, at the highest rate: many are taken for others, and are reported as if they were there.
// Those are no changes, so a small filter must be, at any time, as the changes by themselves make it.
TEST_P(Replay, OfASmallFilterKeepsWhateverWasAnswered) {
  core::FilterParams params = GetParam().params;
  params.error_rate = core::kMaxErrorRate;
  params.capacity = std::min<uint64_t>(params.capacity, 20);
  if (!core::Validate(core::Settled(params))) GTEST_SKIP() << "it is of one rate";
  for (params.seed = 1; params.seed <= 40; ++params.seed) {
    const auto filter = Make(params, clock_), again = Make(params, replay_clock_);
    Recorder recorder, repeated;
    filter->Attach(&recorder, kId, 0);
    again->Attach(&repeated, kId, 0);
    std::vector<core::KeyHash> answered;
    for (uint64_t i = 0; i < 40; ++i) {
      const core::KeyHash hash = filter->HashOf(std::to_string(i));
      AddOutcome outcome;
      ASSERT_EQ(filter->Add({&hash, 1}, {&outcome, 1}), 1U);
      if (outcome <= AddOutcome::kAdded) answered.push_back(hash);
      for (const Recorded& change : recorder.Take()) Repeat(*again, change);
      ASSERT_TRUE(BytesOf(*again) == BytesOf(*filter)) << "seed " << params.seed << ", item " << i;
      std::vector<uint8_t> here(answered.size()), there(answered.size());
      filter->MayContain(answered, here);
      again->MayContain(answered, there);
      ASSERT_EQ(here, there);
    }
  }
}

// There is memory for one copy, so that the writer must wait for the reader now and then.
TEST_P(Replay, OfAnImageThatIsReadWhileAnotherThreadGoesOnGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const auto filter = Make(GetParam().params, clock_);
    Recorder recorder;
    filter->Attach(&recorder, kId, 0);
    std::atomic<int> rounds{0};
    std::jthread writer([&] {
      std::mt19937_64 random(seed);
      for (int i = 0; i < 200; ++i, ++rounds) Change(*filter, random, clock_);
    });
    while (rounds.load() < 20) std::this_thread::yield();
    core::MemoryBudget copies(core::MemoryImage::kChunkBytes);
    std::unique_ptr<core::FilterImage> image = filter->Capture({copies, core::Patience::kWait});
    const FilterBytes bytes = BytesOf(*image, 100);
    const uint64_t sequence = image->sequence();
    image.reset();
    EXPECT_EQ(copies.used_bytes(), 0U);
    writer.join();
    const auto replayed = Replayed(bytes, sequence, recorder.Take());
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(BytesOf(*replayed) == BytesOf(*filter)) << "seed " << seed;
  }
}

// Refused additions are not reported, for any reason of the refusal.
TEST_P(Replay, OfAFilterThatMemoryWasRefusedToNowAndThenGivesTheSameBytes) {
  if (core::WindowOf(GetParam().params).of_time()) {
    GTEST_SKIP() << "without memory for a further generation, it puts items into the one before";
  }
  core::MemoryBudget tight;
  auto filter = std::move(*core::MakeFilter(GetParam().params, tight, clock_));
  Recorder recorder;
  filter->Attach(&recorder, kId, 0);
  const FilterBytes empty = BytesOf(*filter);
  std::mt19937_64 random(5);
  for (int i = 0; i < 60; ++i) {
    tight.set_limit_bytes(random() % 2);
    Change(*filter, random, clock_);
  }
  tight.set_limit_bytes(0);
  const auto replayed = Replayed(empty, 0, recorder.Take());
  EXPECT_TRUE(BytesOf(*replayed) == BytesOf(*filter));
}

TEST_P(Replay, WhatIsMadeAgainFromItsParametersIsTheSame) {
  const auto filter = Make(GetParam().params, clock_);
  EXPECT_TRUE(filter->pristine());
  clock_.now_ms += 123'456;
  for (const core::FilterParams& params : {filter->params(), core::Settled(filter->params())}) {
    const auto again = Make(params, clock_);
    EXPECT_TRUE(again->pristine());
    EXPECT_TRUE(BytesOf(*again) == BytesOf(*filter));
  }
}

TEST_P(Replay, WhatWasChangedReadBackOrClonedIsNotPristine) {
  const auto filter = Make(GetParam().params, clock_);
  EXPECT_FALSE(Decode(BytesOf(*filter))->pristine());
  EXPECT_FALSE((*core::CloneFilter(*filter, budget_, StillClock()))->pristine());
  EXPECT_TRUE(filter->pristine()) << "looking changes nothing";
  AddOutcome outcome;
  const core::KeyHash hash = filter->HashOf("item");
  filter->Add({&hash, 1}, {&outcome, 1});
  EXPECT_FALSE(filter->pristine());
}

// Has enough items for an image of many chunks.
class BigImage : public testing::TestWithParam<OptionCase> {
 protected:
  static constexpr uint64_t kItems = 200'000;

  BigImage() : filter_(std::move(*core::MakeFilter(GetParam().params, budget_, clock_))) {
    Add(0, kItems);
    Forget(0, 10'000);
  }
  void Add(uint64_t first, uint64_t count) {
    std::vector<core::KeyHash> hashes(count);
    std::vector<AddOutcome> outcomes(count);
    for (uint64_t i = 0; i < count; ++i) hashes[i] = filter_->HashOf(std::to_string(first + i));
    filter_->Add(hashes, outcomes);
  }
  void Forget(uint64_t first, uint64_t count) {
    if (!filter_->capabilities().remove) return;
    std::vector<core::KeyHash> hashes(count);
    std::vector<uint8_t> removed(count);
    for (uint64_t i = 0; i < count; ++i) hashes[i] = filter_->HashOf(std::to_string(first + i));
    filter_->Remove(hashes, removed);
  }

  core::MemoryBudget budget_;
  ManualClock clock_;
  std::unique_ptr<core::Filter> filter_;
};

INSTANTIATE_TEST_SUITE_P(Options, BigImage, testing::ValuesIn(EveryOption(150'000)),
                         [](const auto& test) { return test.param.name; });

TEST_P(BigImage, ShowsItsMomentWhateverChangesBetweenItsPieces) {
  const FilterBytes before = BytesOf(*filter_);
  const auto image = filter_->Capture();
  FilterBytes read{image->header(), ""};
  uint64_t next = kItems;
  while (read.body.size() < image->body_bytes()) {
    Add(next, 5000);
    Forget(next / 2, 2000);
    next += 5000;
    clock_.now_ms += 50;
    std::string piece(std::min<uint64_t>(70'001, image->body_bytes() - read.body.size()), '\0');
    ASSERT_TRUE(image->Read(read.body.size(), std::as_writable_bytes(std::span(piece))));
    read.body += piece;
  }
  EXPECT_TRUE(read == before);
}

// Writers never wait for it: each holds the filter's lock.
TEST_P(BigImage, IsWholeWhenThePoolOfAPatientReaderIsUsedUp) {
  const FilterBytes before = BytesOf(*filter_);
  core::MemoryBudget nothing(1);
  std::unique_ptr<core::FilterImage> image = filter_->Capture({nothing, core::Patience::kWait});
  Add(kItems, 20'000);
  Forget(kItems, 20'000);
  std::string body(image->body_bytes(), '\0');
  ASSERT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
  EXPECT_TRUE((FilterBytes{image->header(), body} == before));
  image.reset();
  EXPECT_EQ(nothing.used_bytes(), 0U);
}

TEST_P(BigImage, IsLostWithoutMemoryButTheFilterGoesOn) {
  core::MemoryBudget nothing(1);
  const auto image = filter_->Capture({nothing, core::Patience::kLose});
  const uint64_t changes = filter_->ChangeCount();
  const FilterBytes before = BytesOf(*filter_);
  Add(kItems, 5000);
  Forget(kItems / 2, 5000);
  const bool unchanged = filter_->ChangeCount() == changes || GetParam().params.type == core::kRibbonType;
  std::string body(image->body_bytes(), '\0');
  EXPECT_EQ(image->Read(0, std::as_writable_bytes(std::span(body))).has_value(), unchanged);
}

TEST(UnionChanges, MakeTheDestinationPristineNoLonger) {
  core::MemoryBudget budget;
  const core::FilterParams params = ParamsOf(core::kClassicType, 0.01, 100, 0, 1);
  const auto a = std::move(*core::MakeFilter(params, budget, StillClock()));
  const auto b = std::move(*core::MakeFilter(params, budget, StillClock()));
  const core::Filter* source = b.get();
  ASSERT_TRUE(core::UniteInto(*a, {&source, 1}));
  EXPECT_FALSE(a->pristine());
  EXPECT_TRUE(b->pristine());
}

// CF.ADDNX and CF.INSERT go this way.
TEST(RedisCuckooInsert, TellsOfWhatItAddedAndOfNothingElse) {
  using Presence = core::RedisCuckoo::Presence;
  core::MemoryBudget budget;
  const auto made =
      std::move(*core::MakeFilter(ParamsOf(core::kRedisCuckooType, 0.01, 100, 1, 0), budget, StillClock()));
  auto& filter = dynamic_cast<core::RedisCuckoo&>(*made);
  Recorder recorder;
  filter.Attach(&recorder, kId, 0);
  std::vector<core::KeyHash> hashes;
  for (const char* item : {"a", "b", "a"}) hashes.push_back(filter.HashOf(item));
  std::vector<AddOutcome> outcomes(3);
  const auto told = [&](Presence presence) {
    EXPECT_EQ(filter.Insert(hashes, presence, UINT64_MAX, outcomes), 3U);
    size_t count = 0;
    for (const Recorded& change : recorder.Take()) count += change.hashes.size();
    return count;
  };
  EXPECT_EQ(told(Presence::kSkipped), 2U);
  EXPECT_EQ(told(Presence::kSkipped), 0U);
  EXPECT_EQ(told(Presence::kReported), 3U);
  EXPECT_EQ(told(Presence::kIgnored), 3U);
}

}  // namespace
}  // namespace bitsieve::test
