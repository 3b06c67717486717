// A filter of very many sub-filters remembers full buckets, which must not affect any result: it is compared, byte for
// byte, with a model that looks into every sub-filter each time.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

class Model {
 public:
  Model(uint64_t buckets, uint64_t bucket_size, uint32_t iterations)
      : buckets_(buckets), bucket_size_(bucket_size), iterations_(iterations) {
    Grow();
  }

  void Add(const CuckooFingerprint& fingerprint) {
    ++items_;
    for (size_t i = tables_.size(); i-- > 0;) {
      if (Place(tables_[i], fingerprint)) return;
    }
    if (Kick(tables_.back(), fingerprint)) return;
    Grow();
    Place(tables_.back(), fingerprint);
  }
  bool Remove(const CuckooFingerprint& fingerprint) {
    for (size_t i = tables_.size(); i-- > 0;) {
      uint8_t* const slot = Find(tables_[i], fingerprint, fingerprint.fingerprint);
      if (slot == nullptr) continue;
      *slot = 0;
      --items_;
      if (++deletes_ > items_ / 10 && tables_.size() > 1) Compact(false);
      return true;
    }
    return false;
  }
  void Compact(bool past_stuck) {
    for (size_t index = tables_.size() - 1; index > 0; --index) {
      for (size_t slot = 0; slot < tables_[index].size(); ++slot) MoveDown(index, slot);
      const bool empty = tables_[index].find_first_not_of('\0') == std::string::npos;
      if (empty && index + 1 == tables_.size()) tables_.pop_back();
      if (!empty && !past_stuck) break;
    }
    deletes_ = 0;
  }
  std::string Joined() const {
    std::string all;
    for (const std::string& table : tables_) all += table;
    return all;
  }

 private:
  static constexpr uint64_t kStep = 0x5bd1e995;

  void Grow() { tables_.emplace_back(buckets_ * bucket_size_, '\0'); }
  uint8_t* SlotsOf(std::string& table, uint64_t bucket) const {
    return reinterpret_cast<uint8_t*>(table.data()) + bucket % buckets_ * bucket_size_;
  }
  uint8_t* Find(std::string& table, const CuckooFingerprint& fingerprint, uint8_t what) const {
    for (const uint64_t bucket : {fingerprint.first, fingerprint.second}) {
      for (uint64_t i = 0; i < bucket_size_; ++i) {
        if (uint8_t* const slot = SlotsOf(table, bucket) + i; *slot == what) return slot;
      }
    }
    return nullptr;
  }
  bool Place(std::string& table, const CuckooFingerprint& fingerprint) const {
    uint8_t* const slot = Find(table, fingerprint, 0);
    if (slot != nullptr) *slot = fingerprint.fingerprint;
    return slot != nullptr;
  }
  bool Kick(std::string& table, const CuckooFingerprint& fingerprint) const {
    const std::string before = table;
    uint64_t bucket = fingerprint.first;
    uint8_t hand = fingerprint.fingerprint;
    for (uint32_t i = 0; i < iterations_; ++i) {
      std::swap(SlotsOf(table, bucket)[i % bucket_size_], hand);
      bucket ^= hand * kStep;
      for (uint64_t s = 0; s < bucket_size_; ++s) {
        if (uint8_t& slot = SlotsOf(table, bucket)[s]; slot == 0) return slot = hand, true;
      }
    }
    table = before;
    return false;
  }
  void MoveDown(size_t index, size_t slot) {
    const auto fingerprint = static_cast<uint8_t>(tables_[index][slot]);
    if (fingerprint == 0) return;
    const uint64_t bucket = slot / bucket_size_;
    for (size_t i = 0; i < index; ++i) {
      if (!Place(tables_[i], {bucket, bucket ^ (fingerprint * kStep), fingerprint})) continue;
      tables_[index][slot] = 0;
      return;
    }
  }

  const uint64_t buckets_;
  const uint64_t bucket_size_;
  const uint32_t iterations_;
  std::vector<std::string> tables_;
  uint64_t items_ = 0;
  uint64_t deletes_ = 0;
};

class RedisCuckooRepeatsTest : public testing::Test {
 protected:
  static constexpr uint64_t kBuckets = 8;

  std::unique_ptr<Filter> Make() {
    FilterParams params;
    params.type = kRedisCuckooType;
    params.capacity = kBuckets * 2;
    params.expansion = 1;
    SetRedisCuckooParams(params, {2, 20});
    return std::move(*MakeFilter(params, budget_, SystemClock()));
  }
  static RedisCuckoo& Of(Filter& filter) { return static_cast<RedisCuckoo&>(filter); }
  static std::string Joined(const RedisCuckoo& filter) {
    std::string all;
    for (std::string chunk = filter.ReadChunk(0); !chunk.empty(); chunk = filter.ReadChunk(all.size())) all += chunk;
    return all;
  }
  static void Insert(RedisCuckoo& filter, const KeyHash& hash) {
    AddOutcome outcome{};
    filter.Insert({&hash, 1}, RedisCuckoo::Presence::kIgnored, UINT64_MAX, {&outcome, 1});
    ASSERT_EQ(outcome, AddOutcome::kAdded);
  }

  MemoryBudget budget_;
};

TEST_F(RedisCuckooRepeatsTest, WhatIsRememberedNeverShows) {
  // From one item all the time to more of them than are remembered.
  for (const uint64_t items : {1, 2, 7, 40, 1'000}) {
    const std::unique_ptr<Filter> made = Make();
    RedisCuckoo& filter = Of(*made);
    Model model(kBuckets, 2, 20);
    std::mt19937_64 random(items);
    for (int step = 0; step < 3'000; ++step) {
      const KeyHash hash = filter.HashOf(std::to_string(random() % items));
      const CuckooFingerprint fingerprint = RedisCuckooTable::FingerprintOf(hash);
      // Grows, shrinks a little, and grows again.
      if (random() % 100 < (step / 500 % 3 == 1 ? 45U : 98U)) {
        Insert(filter, hash);
        model.Add(fingerprint);
      } else {
        uint8_t removed = 0;
        filter.Remove({&hash, 1}, {&removed, 1});
        ASSERT_EQ(removed != 0, model.Remove(fingerprint));
      }
      if (step % 1'000 == 999) {
        filter.Compact();
        model.Compact(true);
      }
      if (step % 20 != 0) continue;
      ASSERT_EQ(Joined(filter), model.Joined()) << items << " items, step " << step;
    }
    EXPECT_GT(filter.filters(), 20U) << "else nothing is remembered";
    EXPECT_EQ(filter.Info().size_bytes, budget_.used_bytes());
  }
}

TEST_F(RedisCuckooRepeatsTest, RefusedMemoryToRememberWithIsNoError) {
  const std::unique_ptr<Filter> made = Make();
  RedisCuckoo& filter = Of(*made);
  Model model(kBuckets, 2, 20);
  const KeyHash hash = filter.HashOf("x");
  for (int i = 0; i < 1'000; ++i) {
    // Room for one further sub-filter each time, and for no more.
    budget_.set_limit_bytes(budget_.used_bytes() + 1024);
    Insert(filter, hash);
    model.Add(RedisCuckooTable::FingerprintOf(hash));
  }
  EXPECT_EQ(Joined(filter), model.Joined());
}

// Writers run between the slices, and nothing that they add is missed.
TEST_F(RedisCuckooRepeatsTest, OthersAddAndRemoveWhileItIsCompacted) {
  const std::unique_ptr<Filter> made = Make();
  RedisCuckoo& filter = Of(*made);
  for (int i = 0; i < 20'000; ++i) Insert(filter, filter.HashOf(std::to_string(i)));
  for (int i = 0; i < 20'000; i += 16) {
    const KeyHash hash = filter.HashOf(std::to_string(i));
    uint8_t removed = 0;
    filter.Remove({&hash, 1}, {&removed, 1});
  }
  std::thread writer([&] {
    for (int i = 20'000; i < 22'000; ++i) Insert(filter, filter.HashOf(std::to_string(i)));
    for (int i = 1; i < 4'000; i += 16) {
      const KeyHash hash = filter.HashOf(std::to_string(i));
      uint8_t removed = 0;
      filter.Remove({&hash, 1}, {&removed, 1});
      ASSERT_EQ(removed, 1);
    }
  });
  filter.Compact();
  writer.join();
  filter.Compact();
  EXPECT_EQ(filter.ItemCount(), 20'000U + 2'000U - 1'250U - 250U);
  for (int i = 2; i < 22'000; ++i) {
    if (i < 20'000 && (i % 16 == 0 || (i % 16 == 1 && i < 4'000))) continue;
    const KeyHash hash = filter.HashOf(std::to_string(i));
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    ASSERT_EQ(present, 1) << i;
  }
}

}  // namespace
}  // namespace bitsieve::core
