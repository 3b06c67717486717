#include "commands/weigh.h"

#include <gtest/gtest.h>

#include "core/filter/image_pressure.h"
#include "tests/support/handler_context.h"

namespace bitsieve::commands {
namespace {

class WeighTest : public testing::Test, protected test::CommandFixture {
 protected:
  WeighTest() {
    Reply({"BF.RESERVE", "small", "0.01", "100"});
    Reply({"BF.RESERVE", "large", "0.01", "1000000"});
    for (const char* half : {"half1", "half2"}) Reply({"BF.RESERVE", half, "0.01", "140000"});
  }
  static test::Words Items(const std::string& command, const std::string& name, size_t arguments) {
    test::Words words{command, name};
    words.resize(arguments, "x");
    return words;
  }
  Weight Of(Weigher weigh, test::Words words) {
    test::HandlerContext call(*this, std::move(words));
    return weigh(call.context);
  }
};

TEST_F(WeighTest, ManyArgumentsOrBytesOfThemWeigh) {
  EXPECT_EQ(Of(WeighArguments, Items("bf.mexists", "small", kManyArguments)), Weight::kLight);
  EXPECT_EQ(Of(WeighArguments, Items("bf.mexists", "small", kManyArguments + 1)), Weight::kMany);
  const size_t others = std::string("bf.existssmall").size();
  EXPECT_EQ(Of(WeighArguments, {"bf.exists", "small", std::string(kManyArgumentBytes - others, 'x')}), Weight::kLight);
  EXPECT_EQ(Of(WeighArguments, {"bf.exists", "small", std::string(kManyArgumentBytes - others + 1, 'x')}),
            Weight::kMany);
}

TEST_F(WeighTest, ChangesWeighMoreWhileAnImageOfTheFilterIsWritten) {
  const test::Words many = Items("bf.madd", "small", kManyImagedItems + 1);
  EXPECT_EQ(Of(WeighChanges, many), Weight::kLight);
  const core::MemoryBudget pool(1000);
  const FilterPtr filter = registry.Find("small");
  {
    const core::ImagePressure::Reading reading(*filter, pool);
    EXPECT_EQ(Of(WeighChanges, many), Weight::kMany);
    EXPECT_EQ(Of(WeighChanges, Items("bf.madd", "small", kManyImagedItems)), Weight::kLight);
    EXPECT_EQ(Of(WeighChanges, Items("bf.madd", "half1", kManyImagedItems + 1)), Weight::kLight) << "another filter";
    EXPECT_EQ(Of(WeighChanges, Items("bf.madd", "none", kManyImagedItems + 1)), Weight::kLight);
  }
  EXPECT_EQ(Of(WeighChanges, many), Weight::kLight);
}

TEST_F(WeighTest, ALargeFilterWeighs) {
  ASSERT_GT(registry.Find("large")->size_bytes(), kLargeFilterBytes);
  EXPECT_EQ(Of(WeighFilter, {"bf.dump", "large"}), Weight::kLarge);
  EXPECT_EQ(Of(WeighFilter, {"bf.dump", "small"}), Weight::kLight);
  EXPECT_EQ(Of(WeighFilter, {"bf.dump", "none"}), Weight::kLight);
}

TEST_F(WeighTest, FiltersWeighTogether) {
  ASSERT_LE(registry.Find("half1")->size_bytes(), kLargeFilterBytes);
  EXPECT_EQ(Of(WeighFilters, {"bf.merge", "small", "half1"}), Weight::kLight);
  EXPECT_EQ(Of(WeighFilters, {"bf.merge", "small", "half1", "half2"}), Weight::kLarge);
  EXPECT_EQ(Of(WeighFilters, Items("bf.merge", "small", kManyArguments + 1)), Weight::kLarge);
}

}  // namespace
}  // namespace bitsieve::commands
