// The parts that sub-filters with bits all over one array have in common, with places that the hash names itself.
#include "core/families/bloom/spread_bloom.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/families/bloom/add_progress.h"
#include "core/families/bloom/classic_bloom.h"
#include "core/filter/quick_add.h"

namespace bitsieve::core {
namespace {

// The first place of an item is `low`, each further one `high` more.
class NamedPlaces {
 public:
  using Range = uint64_t;

  NamedPlaces(const KeyHash& hash, uint64_t positions) : next_(hash.low), step_(hash.high), positions_(positions) {}
  uint64_t Next() {
    const uint64_t place = next_ % positions_;
    next_ += step_;
    return place;
  }

 private:
  uint64_t next_, step_, positions_;
};

class NamedBloom final : public SpreadBloom<NamedPlaces> {
 public:
  NamedBloom(const SubFilterShape& shape, BitMemory memory) : SpreadBloom(shape, std::move(memory), shape.bits) {}
  std::optional<double> EstimatedRate() const override { return std::nullopt; }
};

class SpreadBloomTest : public testing::Test {
 protected:
  std::unique_ptr<NamedBloom> Make(uint64_t capacity, uint32_t hash_functions = 2) {
    const SubFilterShape shape{.layout = &kClassicLayout,
                               .capacity = capacity,
                               .error_rate = 0.01,
                               .bits = 512,
                               .hash_functions = hash_functions,
                               .lines_per_item = 0};
    return std::make_unique<NamedBloom>(shape, std::move(*BitMemory::Allocate(shape.SizeBytes(), budget_)));
  }
  static AddProgress Add(BitSubFilter& bloom, const std::vector<KeyHash>& hashes, const std::vector<uint8_t>& skip,
                         std::vector<uint8_t>& added) {
    return bloom.Add(hashes, skip, added);
  }
  static std::vector<uint8_t> Present(const NamedBloom& bloom, const std::vector<KeyHash>& hashes) {
    std::vector<uint8_t> present(hashes.size());
    bloom.MayContain(hashes, present);
    return present;
  }

  MemoryBudget budget_;
};

TEST_F(SpreadBloomTest, AnItemIsThereIfAllItsBitsAre) {
  const auto bloom = Make(10);
  const std::vector<KeyHash> hashes{{1, 10}, {2, 10}};
  std::vector<uint8_t> skip(2), added(2);
  const AddProgress progress = Add(*bloom, hashes, skip, added);
  EXPECT_EQ(progress.done, 2U);
  EXPECT_EQ(progress.added, 2U);
  EXPECT_EQ(progress.bits_set, 4U);
  EXPECT_EQ(bloom->set_bits(), 4U);
  EXPECT_EQ(Present(*bloom, {{1, 10}, {2, 10}, {1, 1}, {11, 0}, {1, 2}, {12, 1}}),
            (std::vector<uint8_t>{1, 1, 1, 1, 0, 0}))
      << "{1, 1} has the first bits of both items";
}

TEST_F(SpreadBloomTest, SkippedAndPresentItemsAreNotNew) {
  const auto bloom = Make(10);
  const std::vector<KeyHash> hashes{{1, 10}, {1, 10}, {5, 10}};
  const std::vector<uint8_t> skip{0, 0, 1};
  std::vector<uint8_t> added(3, 9);
  EXPECT_EQ(Add(*bloom, hashes, skip, added).added, 1U);
  EXPECT_EQ(added, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(bloom->items(), 1U);
}

TEST_F(SpreadBloomTest, WithoutRoomAddingStopsBeforeTheFirstNewItem) {
  const auto bloom = Make(1);
  const std::vector<KeyHash> hashes{{1, 10}, {1, 10}, {3, 10}, {4, 10}};
  std::vector<uint8_t> skip(4), added(4);
  EXPECT_EQ(Add(*bloom, hashes, skip, added).done, 2U);
  EXPECT_EQ(Present(*bloom, {{3, 10}}), std::vector<uint8_t>{0});
}

TEST_F(SpreadBloomTest, AddingOneItemDeclinesWithoutRoomAndForAnImage) {
  const auto bloom = Make(2);
  EXPECT_EQ(bloom->TryAddOne({1, 10}), QuickAdd::kAdded);
  EXPECT_EQ(bloom->TryAddOne({1, 10}), QuickAdd::kPresent);
  EXPECT_EQ(bloom->items(), 1U);
  EXPECT_EQ(bloom->set_bits(), 2U);
  {
    const MemoryImage image(bloom->memory(), bloom->size_bytes(), {budget_, Patience::kLose});
    EXPECT_EQ(bloom->TryAddOne({3, 10}), QuickAdd::kDeclined);
  }
  EXPECT_EQ(bloom->TryAddOne({3, 10}), QuickAdd::kAdded);
  EXPECT_EQ(bloom->TryAddOne({4, 10}), QuickAdd::kDeclined) << "it is full";
  EXPECT_EQ(Present(*bloom, {{1, 10}, {3, 10}, {4, 10}}), (std::vector<uint8_t>{1, 1, 0}));
}

TEST_F(SpreadBloomTest, ManyHashFunctionsSetAsManyBits) {
  const auto bloom = Make(10, 40);
  const std::vector<KeyHash> hashes{{0, 3}, {0, 3}};
  std::vector<uint8_t> skip(2), added(2);
  EXPECT_EQ(Add(*bloom, hashes, skip, added).bits_set, 40U);
  EXPECT_EQ(added, (std::vector<uint8_t>{1, 0}));
}

TEST_F(SpreadBloomTest, MoreHashFunctionsThanAByteCountsSetAsManyBits) {
  for (const uint32_t hash_functions : {255, 256, 257, 512}) {
    const auto bloom = Make(10, hash_functions);
    const std::vector<KeyHash> hashes{{0, 1}, {0, 1}};
    std::vector<uint8_t> skip(2), added(2);
    EXPECT_EQ(Add(*bloom, hashes, skip, added).bits_set, hash_functions);
    EXPECT_EQ(added, (std::vector<uint8_t>{1, 0})) << hash_functions;
    EXPECT_EQ(bloom->set_bits(), hash_functions);
  }
}

TEST_F(SpreadBloomTest, UnitingSetsTheBitsOfBoth) {
  const auto one = Make(10), other = Make(10);
  std::vector<uint8_t> skip(1), added(1);
  Add(*one, std::vector<KeyHash>{{1, 70}}, skip, added);
  Add(*other, std::vector<KeyHash>{{1, 140}}, skip, added);
  EXPECT_EQ(one->UniteWith(*other, {0, 1}), 0U) << "bit 1, the only one in the first word, is set already";
  EXPECT_EQ(Present(*one, {{1, 140}}), std::vector<uint8_t>{0});
  EXPECT_EQ(one->UniteWith(*other, {1, 8}), 1U);
  EXPECT_EQ(Present(*one, {{1, 140}, {1, 70}}), (std::vector<uint8_t>{1, 1}));
}

}  // namespace
}  // namespace bitsieve::core
