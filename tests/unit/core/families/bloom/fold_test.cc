#include "core/families/bloom/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/chain_fold.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_fold.h"
#include "tests/support/random_hashes.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

TEST(FoldableSizeTest, HasManyDivisorsAndCostsAHundredth) {
  for (uint64_t units = 1; units <= 200; ++units) EXPECT_EQ(FoldableSize(units), units) << units;
  EXPECT_EQ(FoldableSize(201), 202U);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t units = 1 + (random() >> (random() % 64));
    if (units > uint64_t{1} << 62) continue;
    const uint64_t size = FoldableSize(units);
    ASSERT_GE(size, units);
    ASSERT_LE(size - units, units / 100);
    ASSERT_EQ(FoldableSize(size), size);
    for (const uint64_t divisor : {2, 3, 4, 6, 8}) {
      if (units >= 100 * 24 * 5 * 6 * 7 * 8) {
        ASSERT_EQ(size % divisor, 0U) << units;
      }
    }
  }
}

// Bit by bit.
TEST(BitFoldTest, EachBitIsTheOrOfItsNeighbours) {
  std::mt19937_64 random(2);
  for (const uint64_t divisor : {2, 3, 4, 5, 6, 7, 8, 12, 31, 32, 33, 48, 63, 64, 65, 100, 128, 1000}) {
    std::vector<uint64_t> from(divisor * 7 - 3), to(7);
    for (uint64_t& word : from) word = random() % divisor < 4 ? random() & random() & random() : 0;
    const FoldSource source(reinterpret_cast<const std::byte*>(from.data()), from.size() * sizeof(uint64_t));
    BitFold fold(divisor);
    fold(source, 0, std::span(to).first(3));
    fold(source, 3, std::span(to).subspan(3));
    for (uint64_t bit = 0; bit < to.size() * 64; ++bit) {
      bool expected = false;
      for (uint64_t near = bit * divisor; near < (bit + 1) * divisor && near / 64 < from.size(); ++near) {
        expected |= (from[near / 64] >> near % 64 & 1) != 0;
      }
      ASSERT_EQ((to[bit / 64] >> bit % 64 & 1) != 0, expected) << "divisor " << divisor << ", bit " << bit;
    }
  }
}

class FoldTest : public testing::Test {
 protected:
  static FilterParams Params(FilterType type, uint64_t capacity, double rate = 0.01) {
    FilterParams params;
    params.type = type;
    params.capacity = capacity;
    params.error_rate = rate;
    params.seed = 42;
    ShareForStatedCapacity(params);
    return params;
  }
  FilterPtr Make(const FilterParams& params, std::span<const KeyHash> hashes = {}) {
    FilterPtr filter = MakeFilter(params, budget_, SystemClock()).value();
    Add(*filter, hashes);
    return filter;
  }
  static void Add(Filter& filter, std::span<const KeyHash> hashes) {
    std::vector<AddOutcome> outcomes(hashes.size());
    filter.Add(hashes, outcomes);
    EXPECT_TRUE(std::ranges::all_of(outcomes, [](AddOutcome outcome) { return outcome <= AddOutcome::kAdded; }));
  }
  static size_t Found(const Filter& filter, std::span<const KeyHash> hashes) {
    std::vector<uint8_t> present(hashes.size());
    filter.MayContain(hashes, present);
    return std::accumulate(present.begin(), present.end(), size_t{0});
  }
  static const SubFilter& OnlySubFilter(const Filter& filter) {
    const auto all = static_cast<const ScalableFilter&>(filter).AllSubFilters();
    EXPECT_EQ(all.size(), 1U);
    return *all.front();
  }
  static Result<FilterPtr> Fold(const FilterPtr& filter, uint64_t capacity, MemoryBudget& budget) {
    const auto fold = FilterFold::Begin(filter, {capacity}, budget);
    if (!fold) return tl::unexpected(fold.error());
    (*fold)->Run();
    if (Status status = (*fold)->TakeOver(); !status) return tl::unexpected(status.error());
    return (*fold)->folded();
  }
  std::string Refusal(const FilterPtr& filter, uint64_t capacity) {
    const auto folded = Fold(filter, capacity, budget_);
    return folded ? "" : folded.error().message;
  }

  MemoryBudget budget_;
};

TEST_F(FoldTest, EqualsAFilterOfTheSmallSizeToWhichTheItemsWereAdded) {
  std::mt19937_64 random(3);
  const auto below = [&](uint64_t end) { return random() % end; };
  int folded_filters = 0;
  for (int i = 0; i < 10'000;) {
    const FilterType type = below(2) == 0 ? kBlockedType : kClassicType;
    const uint64_t capacity = 100 + below(uint64_t{1} << (6 + below(9)));
    const double rate = std::array{0.2, 0.05, 0.01, 0.001, 0.0003}[below(5)];
    const std::vector<KeyHash> hashes = RandomKeyHashes(below(capacity / 2), random());
    const auto filter = Make(Params(type, capacity, rate), hashes);
    const uint64_t smaller = std::max<uint64_t>(hashes.size() + 1, capacity / (2 + below(20)));
    const auto folded = Fold(filter, smaller, budget_);
    if (static_cast<const ScalableFilter&>(*filter).AllSubFilters().empty()) continue;
    ++i;
    if (!folded) continue;
    ++folded_filters;
    const SubFilter& of_fold = OnlySubFilter(**folded);
    const auto built = MakeSubFilter(of_fold.shape(), budget_).value();
    std::vector<uint8_t> skip(hashes.size()), added(hashes.size());
    static_cast<BitSubFilter&>(*built).Add(hashes, skip, added);
    ASSERT_EQ(std::memcmp(of_fold.memory().data(), built->memory().data(), built->size_bytes()), 0)
        << FilterTypeName(type) << ' ' << capacity << " to " << smaller;
    ASSERT_EQ(of_fold.set_bits(), built->set_bits());
    ASSERT_EQ((*folded)->ItemCount(), filter->ItemCount());
    ASSERT_EQ((*folded)->params().capacity, smaller);
    ASSERT_LT(of_fold.size_bytes(), OnlySubFilter(*filter).size_bytes() * 51 / 100 + 64);
  }
  EXPECT_GT(folded_filters, 5'000);
}

TEST_F(FoldTest, ACopyIsThatOfAFold) {
  const FilterPtr filter = Make(Params(kClassicType, 100'000), RandomKeyHashes(1'000, 21));
  const SubFilter& large = OnlySubFilter(*filter);
  const FilterPtr folded = Fold(filter, 20'000, budget_).value();
  const SubFilter& small = OnlySubFilter(*folded);
  EXPECT_EQ(DivisorBetween(small.shape(), large.shape()), 0U);
  EXPECT_EQ(DivisorBetween(large.shape(), large.shape()), 0U);
  EXPECT_EQ(DivisorBetween(large.shape(), small.shape()), large.shape().bits / small.shape().bits);
  SubFilterShape other = small.shape();
  ++other.hash_functions;
  EXPECT_EQ(DivisorBetween(large.shape(), other), 0U);
  const auto copy = FoldedCopy(large, small.shape(), budget_).value();
  EXPECT_EQ(std::memcmp(copy->memory().data(), small.memory().data(), small.size_bytes()), 0);
  EXPECT_EQ(copy->set_bits(), small.set_bits());
  EXPECT_EQ(copy->items(), small.items());
}

TEST_F(FoldTest, KeepsTheRequestedRateWhenFull) {
  for (const FilterType type : {kBlockedType, kClassicType}) {
    for (const double rate : {0.1, 0.01, 0.001}) {
      const std::vector<KeyHash> hashes = RandomKeyHashes(100'000, 4);
      const auto filter = Make(Params(type, 1'000'000, rate), std::span(hashes).first(50'000));
      const auto folded = Fold(filter, 100'000, budget_).value();
      Add(*folded, std::span(hashes).subspan(50'000));
      EXPECT_EQ(Found(*folded, hashes), hashes.size());
      EXPECT_EQ(folded->Info().sub_filters, 1U) << "room for the new capacity";
      constexpr size_t kLookups = 1'000'000;
      const auto found = static_cast<double>(Found(*folded, RandomKeyHashes(kLookups, 5)));
      EXPECT_LE(found / kLookups, 1.1 * rate) << FilterTypeName(type);
      EXPECT_LE(folded->size_bytes(), filter->size_bytes() / 7) << FilterTypeName(type) << ' ' << rate;
    }
  }
}

TEST_F(FoldTest, KeepsParametersAndKnownFalsePositives) {
  const std::vector<KeyHash> hashes = RandomKeyHashes(10'000, 6);
  const auto filter = Make(Params(kBlockedType, 40'000), hashes);
  std::vector<KeyHash> shown;
  for (const KeyHash& hash : RandomKeyHashes(3'000'000, 7)) {
    if (Found(*filter, {&hash, 1}) != 0) shown.push_back(hash);
  }
  ASSERT_FALSE(shown.empty());
  std::vector<RecordOutcome> outcomes(shown.size());
  filter->RecordFalsePositives(shown, outcomes);
  ASSERT_EQ(Found(*filter, shown), 0U);
  const auto folded = Fold(filter, 20'000, budget_).value();
  EXPECT_EQ(Found(*folded, shown), 0U);
  EXPECT_EQ(Found(*folded, hashes), hashes.size());
  FilterParams expected = filter->params();
  expected.capacity = 20'000;
  EXPECT_EQ(folded->params(), expected);
}

TEST_F(FoldTest, AFoldedFilterFoldsAgain) {
  const std::vector<KeyHash> hashes = RandomKeyHashes(1'000, 8);
  for (const FilterType type : {kBlockedType, kClassicType}) {
    auto filter = Make(Params(type, 10'000'000), hashes);
    for (const uint64_t capacity : {5'000'000, 1'000'000, 100'000, 10'000}) {
      filter = Fold(filter, capacity, budget_).value();
      EXPECT_EQ(Found(*filter, hashes), hashes.size()) << FilterTypeName(type) << ' ' << capacity;
    }
  }
}

TEST_F(FoldTest, AListTakesTheNewCapacity) {
  FilterParams params = Params(kBlockedType, 500);
  ShareForGrowth(params);
  const std::vector<KeyHash> hashes = RandomKeyHashes(10, 9);
  const auto filter = Make(params, hashes);
  ASSERT_TRUE(static_cast<const ScalableFilter&>(*filter).AllSubFilters().empty());
  const auto folded = Fold(filter, 100, budget_).value();
  EXPECT_EQ(folded->params().capacity, 100U);
  EXPECT_EQ(folded->ItemCount(), 10U);
  EXPECT_EQ(Found(*folded, hashes), hashes.size());
}

TEST_F(FoldTest, RefusalsSayWhatWouldBeRight) {
  const auto filter = Make(Params(kBlockedType, 1'000'000), RandomKeyHashes(5'000, 10));
  EXPECT_THAT(Refusal(filter, 1'000'000), HasSubstr("its capacity is 1000000, and a fold makes it smaller"));
  EXPECT_THAT(Refusal(filter, 0), HasSubstr("capacity"));
  EXPECT_THAT(Refusal(filter, 4'000), HasSubstr("it holds "));
  EXPECT_THAT(Refusal(filter, 4'000), HasSubstr("the smallest capacity that keeps its error rate"));
  EXPECT_THAT(Refusal(filter, 700'000), HasSubstr("a capacity of 700000 needs more memory than a fold would leave"));

  const auto full = Make(Params(kBlockedType, 1'000'000));
  const std::string refusal = Refusal(full, 900'000);
  const std::string marker = "possible one is ";
  const uint64_t possible = std::stoull(refusal.substr(refusal.find(marker) + marker.size()));
  EXPECT_NEAR(static_cast<double>(possible), 500'000, 10'000);
  EXPECT_EQ(Refusal(full, possible), "");
  EXPECT_NE(Refusal(full, possible + 1), "");

  EXPECT_THAT(Refusal(Make(Params(kBlockedType, 1'000'000, 1e-6)), 1'000), HasSubstr("two lines"));
  EXPECT_THAT(Refusal(Make(Params(kCuckooType, 1'000'000)), 1'000), HasSubstr("cannot be folded"));

  FilterParams growing = Params(kClassicType, 100);
  growing.expansion = 2;
  EXPECT_THAT(Refusal(Make(growing, RandomKeyHashes(1'000, 11)), 50), HasSubstr("only one can be folded"));
}

// Adds to a filter without pause, and looks up all that it has added.
class Adder {
 public:
  Adder(FilterPtr filter, uint64_t seed) : filter_(std::move(filter)), hashes_(RandomKeyHashes(200'000, seed)) {}
  void Run() {
    while (!stop_ && done_ < hashes_.size()) {
      AddOutcome outcome;
      filter_->Add({&hashes_[done_], 1}, {&outcome, 1});
      EXPECT_LE(outcome, AddOutcome::kAdded);
      ++done_;
    }
  }
  void Stop() { stop_ = true; }
  std::span<const KeyHash> added() const { return std::span(hashes_).first(done_); }

 private:
  const FilterPtr filter_;
  const std::vector<KeyHash> hashes_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> done_ = 0;
};

// Those who hold the large filter add to it before, during and after.
TEST_F(FoldTest, NothingIsLostThatIsAddedMeanwhile) {
  for (const FilterType type : {kBlockedType, kClassicType}) {
    const std::vector<KeyHash> before = RandomKeyHashes(100'000, 13);
    const FilterPtr filter = Make(Params(type, 20'000'000), before);
    Adder first(filter, 14), second(filter, 15);
    std::thread one([&] { first.Run(); }), two([&] { second.Run(); });
    const auto folded = Fold(filter, 1'000'000, budget_);
    first.Stop();
    second.Stop();
    one.join();
    two.join();
    ASSERT_TRUE(folded) << folded.error().message;
    for (const std::span<const KeyHash> added : {std::span(before), first.added(), second.added()}) {
      EXPECT_EQ(Found(**folded, added), added.size()) << FilterTypeName(type);
    }
    EXPECT_TRUE(filter->succeeded());
    const auto items = static_cast<double>(before.size() + first.added().size() + second.added().size());
    EXPECT_NEAR(static_cast<double>((*folded)->ItemCount()), items, items / 50);
  }
}

TEST_F(FoldTest, AFilterThatGetsTooFullMeanwhileStaysAsItIs) {
  const FilterPtr filter = Make(Params(kBlockedType, 100'000), RandomKeyHashes(10'000, 16));
  const std::vector<KeyHash> more = RandomKeyHashes(20'000, 17);
  {
    const auto fold = FilterFold::Begin(filter, {20'000}, budget_).value();
    fold->Run();
    Add(*filter, more);
    EXPECT_THAT(fold->TakeOver().error().message, HasSubstr("the smallest capacity"));
  }
  EXPECT_FALSE(filter->succeeded());
  EXPECT_EQ(filter->params().capacity, 100'000U);
  EXPECT_EQ(Found(*filter, more), more.size());
  EXPECT_EQ(Refusal(filter, 40'000), "") << "and can be folded later";
}

// Those who still hold the first add to the last.
TEST_F(FoldTest, FoldsInSuccessionPassOnToTheLast) {
  const std::vector<KeyHash> hashes = RandomKeyHashes(9'000, 18);
  const FilterPtr first = Make(Params(kClassicType, 1'000'000));
  const FilterPtr second = Fold(first, 100'000, budget_).value();
  const FilterPtr third = Fold(second, 10'000, budget_).value();
  Add(*first, hashes);
  EXPECT_EQ(Found(*third, hashes), hashes.size());
  EXPECT_EQ(Found(*first, hashes), 0U);
  EXPECT_THAT(Refusal(first, 50'000), HasSubstr("folded at the same moment"));
  std::vector<KeyHash> shown;
  for (const KeyHash& hash : RandomKeyHashes(100'000, 19)) {
    if (Found(*third, {&hash, 1}) != 0) shown.push_back(hash);
  }
  ASSERT_FALSE(shown.empty());
  std::vector<RecordOutcome> outcomes(shown.size());
  first->RecordFalsePositives(shown, outcomes);
  EXPECT_EQ(Found(*third, shown), 0U);
}

TEST_F(FoldTest, AnAbandonedFoldLeavesNothing) {
  const uint64_t used = budget_.used_bytes();
  {
    const FilterPtr filter = Make(Params(kBlockedType, 1'000'000));
    const uint64_t with_filter = budget_.used_bytes();
    FilterFold::Begin(filter, {100'000}, budget_).value()->Run();
    EXPECT_EQ(budget_.used_bytes(), with_filter);
    const std::vector<KeyHash> hashes = RandomKeyHashes(1'000, 20);
    Add(*filter, hashes);
    EXPECT_EQ(Found(*filter, hashes), hashes.size());
  }
  EXPECT_EQ(budget_.used_bytes(), used);
}

TEST_F(FoldTest, WithoutMemoryTheFilterStaysAsItIs) {
  MemoryBudget tight(2'200'000);
  FilterPtr filter = MakeFilter(Params(kBlockedType, 1'500'000), tight, SystemClock()).value();
  const std::vector<KeyHash> hashes = RandomKeyHashes(1'000, 12);
  Add(*filter, hashes);
  const uint64_t used = tight.used_bytes();
  const auto folded = Fold(filter, 700'000, tight);
  ASSERT_FALSE(folded);
  EXPECT_EQ(folded.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(tight.used_bytes(), used);
  EXPECT_EQ(Found(*filter, hashes), hashes.size());
}

}  // namespace
}  // namespace bitsieve::core
