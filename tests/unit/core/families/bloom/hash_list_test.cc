#include "core/families/bloom/hash_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace bitsieve::core {
namespace {

// Halves that lists often share: only both together tell hashes apart.
KeyHash HashNumber(uint64_t i) { return {i / 3, i % 3}; }

class HashListTest : public testing::Test {
 protected:
  bool Has(uint64_t i) {
    const KeyHash hash = HashNumber(i);
    uint8_t present = 0;
    list_.MayContain({&hash, 1}, {&present, 1}, pins_);
    EXPECT_EQ(list_.Contains(hash), present != 0);
    return present != 0;
  }

  ReaderPins pins_;
  HashList list_;
};

TEST_F(HashListTest, HoldsExactlyWhatWasAddedInItsOrder) {
  for (uint64_t count = 0; count <= HashList::kMaxHashes; ++count) {
    EXPECT_EQ(list_.size(pins_), count);
    for (uint64_t i = 0; i < 2 * HashList::kMaxHashes; ++i) EXPECT_EQ(Has(i), i < count) << i << " of " << count;
    const std::vector<KeyHash> all = list_.All();
    ASSERT_EQ(all.size(), count);
    for (uint64_t i = 0; i < count; ++i) {
      EXPECT_EQ(all[i].low, HashNumber(i).low);
      EXPECT_EQ(all[i].high, HashNumber(i).high);
    }
    if (count < HashList::kMaxHashes) list_.Add(HashNumber(count), pins_);
  }
  list_.Clear(pins_);
  EXPECT_EQ(list_.size(pins_), 0U);
  EXPECT_FALSE(Has(0));
}

TEST_F(HashListTest, AHashOfZerosIsAHashAsAnyOther) {
  EXPECT_FALSE(Has(0));
  list_.Add({0, 0}, pins_);
  EXPECT_TRUE(Has(0));
}

TEST_F(HashListTest, LooksUpABatchAndLeavesWhatIsThere) {
  for (uint64_t i = 0; i < 5; ++i) list_.Add(HashNumber(i), pins_);
  std::vector<KeyHash> hashes;
  for (uint64_t i = 0; i < 64; ++i) hashes.push_back(HashNumber(i));
  std::vector<uint8_t> present(64);
  present[63] = 1;
  list_.MayContain(hashes, present, pins_);
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(present[i], i < 5 || i == 63) << i;
}

TEST_F(HashListTest, TakesNoBlockForOneHash) {
  EXPECT_EQ(HashList::BlockBytes(0), 0U);
  EXPECT_EQ(HashList::BlockBytes(1), 0U);
  EXPECT_GE(HashList::BlockBytes(2), sizeof(KeyHash));
  for (size_t hashes = 2; hashes <= HashList::kMaxHashes; ++hashes) {
    EXPECT_GE(HashList::BlockBytes(hashes), (hashes - 1) * sizeof(KeyHash));
    EXPECT_GE(HashList::BlockBytes(hashes), HashList::BlockBytes(hashes - 1));
  }
}

// Blocks are replaced and freed while readers look at them.
TEST_F(HashListTest, ReadersFindWhatWasThereBeforeTheyLooked) {
  for (int round = 0; round < 300; ++round) {
    ReaderPins pins;
    HashList list;
    std::atomic<uint64_t> added{0};
    std::atomic<bool> missed{false};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 2; ++reader) {
      readers.emplace_back([&] {
        for (uint64_t seen = 0; seen < HashList::kMaxHashes;) {
          seen = added.load(std::memory_order_acquire);
          for (uint64_t i = 0; i < seen; ++i) {
            const KeyHash hash = HashNumber(i);
            uint8_t present = 0;
            list.MayContain({&hash, 1}, {&present, 1}, pins);
            if (present == 0) missed = true;
          }
          if (list.size(pins) < seen) missed = true;
        }
      });
    }
    for (uint64_t i = 0; i < HashList::kMaxHashes; ++i) {
      list.Add(HashNumber(i), pins);
      added.store(i + 1, std::memory_order_release);
    }
    for (std::thread& reader : readers) reader.join();
    ASSERT_FALSE(missed);
  }
}

}  // namespace
}  // namespace bitsieve::core
