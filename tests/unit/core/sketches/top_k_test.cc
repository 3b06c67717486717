#include "core/sketches/top_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/hash/murmur_hash2.h"

namespace bitsieve::core {
namespace {

// A sketch of RedisBloom's, and what TOPK.QUERY, TOPK.COUNT and TOPK.LIST answered.
constexpr TopKShape kShape{.k = 50, .width = 8, .depth = 7, .decay = 0.9};
constexpr std::array<uint32_t, 112> kBuckets{
    // fingerprint and count of each
    0xc9696a45, 1,   0x22242085, 2,   0x9e137b95, 260, 0x4d10cdc6, 2,   0x2552d7dc, 6,   0x470cad75, 5,
    0xeebc81ae, 3,   0xd2ef158b, 2,   0x9bb02e5e, 364, 0x470cad75, 4,   0xc9696a45, 260, 0x151c6c83, 1,
    0x665932fe, 326, 0xef4bba56, 2,   0x22242085, 4,   0xd2ef158b, 3,   0x129425a2, 3,   0x20942388, 3,
    0x470cad75, 1,   0xc9696a45, 259, 0xf61b9f92, 1,   0x665932fe, 342, 0x181fe1e2, 171, 0x22242085, 4,
    0xc9696a45, 1,   0xf0a32dae, 2,   0xb504bd9c, 8,   0x5d8d5675, 304, 0x151c6c83, 139, 0x181fe1e2, 281,
    0x39ef6b06, 1,   0xf61b9f92, 1,   0xa1b90597, 1,   0x4d10cdc6, 3,   0xf6c9932b, 115, 0x665932fe, 267,
    0xc9696a45, 251, 0x22242085, 2,   0x3aaca053, 1,   0x181fe1e2, 193, 0xc9696a45, 259, 0xf61b9f92, 1,
    0x4dbf6b31, 4,   0xeebc81ae, 1,   0xb74847fc, 1,   0x9c223ba7, 1,   0x3aaca053, 1,   0xef8ff8fd, 1,
    0x22242085, 8,   0x151c6c83, 1,   0xc9696a45, 260, 0x181fe1e2, 167, 0x5d8d5675, 237, 0x47280eb4, 2,
    0x665932fe, 287, 0x71533648, 42,
};
const std::array kHeap{
    TopK::Entry{0xe91a6827, 6, "w39317"},    TopK::Entry{0x22618b81, 7, "w151262"},
    TopK::Entry{0x547978fd, 6, "w566950"},   TopK::Entry{0x24f1becc, 7, "w605136"},
    TopK::Entry{0xacdf3495, 4, "w855770"},   TopK::Entry{0x3d4def6c, 7, "w123514"},
    TopK::Entry{0x915cc131, 6, "w993744"},   TopK::Entry{0x900a37f7, 8, "w715131"},
    TopK::Entry{0xad930493, 8, "w657911"},   TopK::Entry{0xb065788d, 5, "w592921"},
    TopK::Entry{0x470cad75, 6, "w61981"},    TopK::Entry{0x79999f4a, 7, "w602326"},
    TopK::Entry{0xe80af22b, 9, "w613984"},   TopK::Entry{0xe98cc081, 8, "w532084"},
    TopK::Entry{0x5df9ff53, 6, "w48845"},    TopK::Entry{0x3ac36c1c, 8, "w900169"},
    TopK::Entry{0x47280eb4, 6, "w953893"},   TopK::Entry{0x4553ca8e, 9, "w867017"},
    TopK::Entry{0x22242085, 8, "w252353"},   TopK::Entry{0x55f85c23, 7, "w861168"},
    TopK::Entry{0xe73a5332, 7, "w51998"},    TopK::Entry{0x1b2ac421, 6, "w196997"},
    TopK::Entry{0xeebc81ae, 7, "w189505"},   TopK::Entry{0x3544be19, 8, "w139643"},
    TopK::Entry{0x2f7ee484, 7, "w993473"},   TopK::Entry{0x801f9b3c, 7, "w390487"},
    TopK::Entry{0x29c7c82c, 6, "w323466"},   TopK::Entry{0xb74847fc, 9, "w414002"},
    TopK::Entry{0x9c223ba7, 13, "w225127"},  TopK::Entry{0xf680bf62, 10, "w669949"},
    TopK::Entry{0xecea0f31, 9, "w438485"},   TopK::Entry{0xf6c9932b, 115, "w445140"},
    TopK::Entry{0x2552d7dc, 7, "w50631"},    TopK::Entry{0x151c6c83, 139, "w383452"},
    TopK::Entry{0xe4bb219d, 6, "w577814"},   TopK::Entry{0x7a1944b5, 10, "w90122"},
    TopK::Entry{0x5d8d5675, 304, "w75954"},  TopK::Entry{0x9e137b95, 260, "w993908"},
    TopK::Entry{0x71533648, 42, "w95119"},   TopK::Entry{0xb504bd9c, 8, "w231821"},
    TopK::Entry{0x4d10cdc6, 11, "w561913"},  TopK::Entry{0x181fe1e2, 281, "w158176"},
    TopK::Entry{0xf8035c82, 6, "w682554"},   TopK::Entry{0xc9696a45, 260, "w98702"},
    TopK::Entry{0x9bb02e5e, 364, "w611097"}, TopK::Entry{0x665932fe, 342, "w339563"},
    TopK::Entry{0x9fbad2f6, 8, "w64867"},    TopK::Entry{0xa1b90597, 6, "w454710"},
    TopK::Entry{0x68b79cc4, 11, "w303677"},  TopK::Entry{0x3aaca053, 8, "w587472"},
};
struct TopKAnswer {
  const char* item;
  bool contains;
  uint32_t count;
};
constexpr std::array kTopKAnswers{
    TopKAnswer{"w339563", true, 342}, TopKAnswer{"w993908", true, 260}, TopKAnswer{"w158176", true, 281},
    TopKAnswer{"w414002", true, 0},   TopKAnswer{"w682554", true, 0},   TopKAnswer{"w50631", true, 6},
    TopKAnswer{"w75954", true, 304},  TopKAnswer{"w861168", true, 0},   TopKAnswer{"w561913", true, 0},
    TopKAnswer{"w98702", true, 260},  TopKAnswer{"w383452", true, 139}, TopKAnswer{"w611097", true, 364},
    TopKAnswer{"w60816", false, 0},   TopKAnswer{"w953893", true, 0},   TopKAnswer{"w532084", true, 0},
    TopKAnswer{"w225127", true, 0},   TopKAnswer{"w39317", true, 0},    TopKAnswer{"w90122", true, 0},
    TopKAnswer{"w454710", true, 0},   TopKAnswer{"w438485", true, 0},   TopKAnswer{"w73248", false, 0},
    TopKAnswer{"w252353", true, 8},   TopKAnswer{"w95119", true, 42},   TopKAnswer{"w577814", true, 0},
};
constexpr std::array kListed{
    "w611097", "w339563", "w75954",  "w158176", "w993908", "w98702",  "w383452", "w445140", "w95119",  "w225127",
    "w561913", "w303677", "w669949", "w90122",  "w613984", "w867017", "w414002", "w438485", "w715131", "w657911",
    "w532084", "w900169", "w252353", "w139643", "w231821", "w64867",  "w587472", "w151262", "w605136", "w123514",
    "w602326", "w861168", "w51998",  "w189505", "w993473", "w390487", "w50631",  "w39317",  "w566950", "w993744",
    "w61981",  "w48845",  "w953893", "w196997", "w323466", "w577814", "w682554", "w454710", "w592921", "w855770"};

TopK RedisBlooms() {
  TopK::State state{.shape = kShape};
  for (size_t i = 0; i < kBuckets.size(); i += 2) state.buckets.push_back({kBuckets[i], kBuckets[i + 1]});
  state.heap.assign(kHeap.begin(), kHeap.end());
  return TopK::FromState(state).value();
}

std::vector<std::string> ListedBy(const TopK& sketch) {
  std::vector<std::string> items;
  for (const TopK::Entry* entry : sketch.List()) items.push_back(entry->item);
  return items;
}

TEST(TopKTest, AnswersAsRedisBloom) {
  const TopK sketch = RedisBlooms();
  for (const TopKAnswer& answer : kTopKAnswers) {
    EXPECT_EQ(sketch.Contains(answer.item), answer.contains) << answer.item;
    EXPECT_EQ(sketch.Count(answer.item), answer.count) << answer.item;
  }
  EXPECT_EQ(ListedBy(sketch), std::vector<std::string>(kListed.begin(), kListed.end()));
}

// The rules in their plainest form, for a decay that leaves nothing to chance.
class Model {
 public:
  Model(const TopKShape& shape, bool always_lowers)
      : shape_(shape), always_lowers_(always_lowers), buckets_(shape.depth, std::vector<TopK::Bucket>(shape.width)) {
    heap_.resize(shape.k);
  }
  std::optional<std::string> Add(const std::string& item, uint32_t n) {
    const uint32_t fingerprint = MurmurHash2(item, 1919), least = heap_[0].count;
    uint32_t best = 0;
    for (uint32_t row = 0; row < shape_.depth; ++row) {
      TopK::Bucket& b = buckets_[row][MurmurHash2(item, row) % shape_.width];
      if (b.count == 0 || b.fingerprint == fingerprint) {
        b = {fingerprint, b.count + n};
        best = std::max(best, b.count);
      } else if (always_lowers_ && b.count <= n) {
        b = {fingerprint, n - b.count + 1};
        best = std::max(best, b.count);
      } else if (always_lowers_) {
        b.count -= n;
      }
    }
    if (best < least) return std::nullopt;
    for (size_t i = heap_.size(); i-- > 0;) {
      if (heap_[i].fingerprint != fingerprint || heap_[i].item != item) continue;
      heap_[i].count = best;
      Sift(i);
      return std::nullopt;
    }
    const TopK::Entry old = heap_[0];
    heap_[0] = {fingerprint, best, item};
    Sift(0);
    return old == TopK::Entry{} ? std::nullopt : std::optional(old.item);
  }
  const std::vector<TopK::Entry>& heap() const { return heap_; }
  std::vector<TopK::Bucket> Flat() const {
    std::vector<TopK::Bucket> all;
    for (const auto& row : buckets_) all.insert(all.end(), row.begin(), row.end());
    return all;
  }

 private:
  void Sift(size_t at) {
    for (bool first = true;; first = false) {
      const size_t left = 2 * at + 1, right = left + 1;
      if (left >= heap_.size()) return;
      const size_t child = right < heap_.size() && heap_[right].count < heap_[left].count ? right : left;
      if (first ? heap_[child].count > heap_[at].count : heap_[child].count >= heap_[at].count) return;
      std::swap(heap_[child], heap_[at]);
      at = child;
    }
  }

  TopKShape shape_;
  bool always_lowers_;
  std::vector<std::vector<TopK::Bucket>> buckets_;
  std::vector<TopK::Entry> heap_;
};

TEST(TopKTest, FollowsTheRulesWhereNothingIsLeftToChance) {
  for (const double decay : {1.0, 1e-300}) {
    for (const TopKShape shape : {TopKShape{3, 2, 2, decay}, {5, 3, 1, decay}, {1, 1, 1, decay}, {10, 7, 4, decay}}) {
      TopK sketch = TopK::Make(shape).value();
      Model model(shape, decay == 1);
      std::mt19937_64 random(shape.k);
      for (int i = 0; i < 3000; ++i) {
        const uint64_t number = random() % 12;
        const std::string item = number == 0 ? "" : number == 1 ? std::string("a\0b", 3) : std::to_string(number);
        const auto increment = static_cast<uint32_t>(random() % 4);
        ASSERT_EQ(sketch.Add(item, increment), model.Add(item, increment)) << i;
        ASSERT_EQ(sketch.state().buckets, model.Flat()) << i;
        ASSERT_EQ(sketch.state().heap, model.heap()) << i;
      }
    }
  }
}

// A counter of c is lowered with the probability decay^c: here from 3 to a takeover.
TEST(TopKTest, CountersAreLoweredAsOftenAsTheDecaySays) {
  constexpr double kDecay = 0.8;
  constexpr int kTrials = 20'000;
  TopK::State state = TopK::Make({1, 1, 1, kDecay}).value().state();
  int lowered = 0, taken = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    state.buckets[0] = {1, 3};
    state.draws = static_cast<uint64_t>(trial) * 7;
    TopK sketch = TopK::FromState(state).value();
    sketch.Add("other", 1);
    lowered += sketch.state().buckets[0].count == 2;
    sketch.Add("other", 6);
    taken += sketch.state().buckets[0].fingerprint != 1;
  }
  const double p3 = std::pow(kDecay, 3);
  EXPECT_NEAR(static_cast<double>(lowered) / kTrials, p3, 4 * std::sqrt(p3 * (1 - p3) / kTrials));
  // The chance that 7 draws lower it three times.
  std::array<double, 4> at{0, 0, 0, 1};
  for (int draw = 0; draw < 7; ++draw) {
    std::array<double, 4> next{at[0], 0, 0, 0};
    for (int count = 1; count <= 3; ++count) {
      const double p = std::pow(kDecay, count);
      next[static_cast<size_t>(count - 1)] += at[static_cast<size_t>(count)] * p;
      next[static_cast<size_t>(count)] += at[static_cast<size_t>(count)] * (1 - p);
    }
    at = next;
  }
  EXPECT_NEAR(static_cast<double>(taken) / kTrials, at[0], 4 * std::sqrt(at[0] * (1 - at[0]) / kTrials));
}

TEST(TopKTest, FindsTheFrequentItems) {
  TopK sketch = TopK::Make({10, 500, 5, 0.9}).value();
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const bool is_frequent = random() % 4 == 0;
    sketch.Add(is_frequent ? "frequent" + std::to_string(random() % 10) : std::to_string(random() % 100'000), 1);
  }
  for (int i = 0; i < 10; ++i) {
    const std::string item = "frequent" + std::to_string(i);
    EXPECT_TRUE(sketch.Contains(item));
    EXPECT_NEAR(sketch.Count(item), 5000, 300);
  }
}

TEST(TopKTest, TheSameCommandsHaveTheSameEffectAlsoOnACopy) {
  TopK one = TopK::Make({5, 3, 3, 0.9}).value();
  std::mt19937_64 random(2);
  const auto next = [&random] { return std::to_string(random() % 30); };
  for (int i = 0; i < 1000; ++i) one.Add(next(), 1);
  TopK copy = TopK::FromState(one.state()).value();
  for (int i = 0; i < 1000; ++i) {
    const std::string item = next();
    ASSERT_EQ(one.Add(item, 2), copy.Add(item, 2));
  }
  EXPECT_EQ(one.state(), copy.state());
  EXPECT_GT(one.state().draws, 100U);
}

TEST(TopKTest, AnItemOfNoIncrementIsThereAndNotListed) {
  TopK sketch = TopK::Make({2}).value();
  EXPECT_EQ(sketch.Add("a", 0), std::nullopt);
  EXPECT_TRUE(sketch.Contains("a"));
  EXPECT_TRUE(sketch.List().empty());
  EXPECT_EQ(sketch.Add("", 0), std::nullopt);
  EXPECT_EQ(sketch.Add("b", 0), "a") << "items of equal counts change places";
  EXPECT_EQ(sketch.Add("c", 0), "") << "the empty item is expelled, too";
}

TEST(TopKTest, ImpossibleNumbersAndStatesAreRefused) {
  const auto code = [](const Result<TopK>& made) { return made ? std::nullopt : std::optional(made.error().code); };
  for (const TopKShape shape : {TopKShape{0, 1, 1, 0.9},
                                {1, 0, 1, 0.9},
                                {1, 1, 0, 0.9},
                                {1, 1, 1, 0},
                                {1, 1, 1, 1.1},
                                {1, 1, 1, -0.5},
                                {1, 1, 1, std::nan("")},
                                {1, UINT32_MAX, UINT32_MAX, 0.9},
                                {UINT32_MAX, 1, 1, 0.9}}) {
    EXPECT_EQ(code(TopK::Make(shape)), ErrorCode::kInvalidArgument);
  }
  const TopK::State good = TopK::Make({2, 3, 2, 0.9}).value().state();
  EXPECT_EQ(code(TopK::FromState(good)), std::nullopt);
  TopK::State state = good;
  state.buckets.pop_back();
  EXPECT_EQ(code(TopK::FromState(state)), ErrorCode::kCorrupt);
  state = good;
  state.heap.emplace_back();
  EXPECT_EQ(code(TopK::FromState(state)), ErrorCode::kCorrupt);
  state = good;
  state.shape.decay = 7;
  EXPECT_EQ(code(TopK::FromState(state)), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace bitsieve::core
