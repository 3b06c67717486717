#include "commands/bloom_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "commands/wire_errors.h"
#include "core/families/bloom/bloom_types.h"
#include "tests/support/default_settings.h"

namespace bitsieve::commands {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BloomOptionsTest : public testing::Test {
 protected:
  ReserveRequest Reserve(std::vector<std::string_view> rest) {
    ArgumentReader reader(rest, 0);
    ReserveRequest request = ReadReserve(reader, settings_);
    error_ = reader.error();
    return request;
  }
  InsertRequest Insert(const std::vector<std::string_view>& rest, std::string_view name = "f") {
    ArgumentReader reader(rest, 0);
    InsertRequest request = ReadInsert(reader, settings_, name);
    error_ = reader.error();
    return request;
  }
  void UseTemplate(const std::vector<std::pair<std::string, std::string>>& fields) {
    auto made = FilterTemplates::Make({{"f.json: templates[0]", "t:*", fields}});
    ASSERT_TRUE(made) << made.error().front();
    settings_.templates.Set(std::move(*made));
  }

  test::Default<CommandSettings> settings_;
  std::string error_;
};

TEST_F(BloomOptionsTest, TheFirstErrorIsReported) {
  Reserve({"x", "0"});
  EXPECT_EQ(error_, wire::kBadErrorRate);
  Reserve({"0.01", "0", "TYPE", "x"});
  EXPECT_EQ(error_, std::string_view(wire::kCapacityRange));
  Reserve({"0.01", "100", "NONSCALING", "EXPANSION", "2"});
  EXPECT_EQ(error_, wire::kNonscalingExpands);
  Reserve({"0.01", "100", "NOCREATE"});
  EXPECT_EQ(error_, "ERR unknown option 'NOCREATE'");
}

TEST_F(BloomOptionsTest, OnlyWhatWasGivenIsReportedAsGiven) {
  const ReserveRequest plain = Reserve({"0.01", "100"});
  EXPECT_EQ(error_, "");
  EXPECT_FALSE(plain.seed || plain.tightening_given || plain.if_not_exists);
  const ReserveRequest full = Reserve({"0.01", "100", "ifnotexists", "tightening", "0.5", "seed", "7"});
  EXPECT_EQ(error_, "");
  EXPECT_EQ(full.seed, 7U);
  EXPECT_TRUE(full.tightening_given && full.if_not_exists);
}

TEST_F(BloomOptionsTest, ADifferenceIsNamedUnlessTheOptionWasNotGiven) {
  core::FilterParams have = Reserve({"0.01", "100"}).params;
  have.seed = 9;
  have.tightening_ratio = 0.6;
  EXPECT_EQ(DifferenceFrom(Reserve({"0.01", "100"}), have), std::nullopt);
  EXPECT_THAT(*DifferenceFrom(Reserve({"0.01", "100", "SEED", "7"}), have), HasSubstr("seed: it has 9, not 7"));
  EXPECT_THAT(*DifferenceFrom(Reserve({"0.01", "100", "TIGHTENING", "0.5"}), have),
              HasSubstr("tightening ratio: it has 0.6, not 0.5"));
  EXPECT_THAT(*DifferenceFrom(Reserve({"0.02", "200"}), have), HasSubstr("error rate: it has 0.01, not 0.02"))
      << "the first difference only";
  EXPECT_THAT(*DifferenceFrom(Reserve({"0.01", "100", "TYPE", "classic"}), have),
              HasSubstr("type: it has blocked, not classic"));
}

TEST_F(BloomOptionsTest, AnInsertionHasItemsAndValues) {
  const std::vector<std::string_view> words = {"NOCREATE", "ITEMS", "a", "NOCREATE"};
  const InsertRequest request = Insert(words);
  EXPECT_EQ(error_, "");
  EXPECT_FALSE(request.create);
  EXPECT_THAT(request.items, ElementsAre("a", "NOCREATE")) << "all that follows ITEMS is an item";
  for (const std::vector<std::string_view>& incomplete :
       {std::vector<std::string_view>{}, {"ITEMS"}, {"CAPACITY"}, {"NOCREATE"}}) {
    EXPECT_THAT(Insert(incomplete).items, IsEmpty());
    EXPECT_EQ(error_, wire::kArity) << testing::PrintToString(incomplete);
  }
}

TEST_F(BloomOptionsTest, AnInsertionsOptionsOverrideThoseOfItsTemplate) {
  UseTemplate({{"type", "cuckoo"}, {"bucketsize", "2"}, {"capacity", "5000"}, {"seed", "3"}});
  const CreateRequest by_template = RequestFor(settings_, "t:1");
  EXPECT_EQ(by_template.params.capacity, 5000U);
  EXPECT_EQ(by_template.seed, 3U);
  EXPECT_EQ(RequestFor(settings_, "u:1").params.type, core::kBlockedType) << "no template describes this name";

  const InsertRequest smaller = Insert({"CAPACITY", "70", "ITEMS", "a"}, "t:1");
  EXPECT_EQ(error_, "");
  EXPECT_EQ(smaller.filter.params.capacity, 70U);
  EXPECT_EQ(smaller.filter.params.type, by_template.params.type);
  EXPECT_EQ(smaller.filter.params.own, by_template.params.own);

  const InsertRequest of_other_type = Insert({"TYPE", "classic", "ITEMS", "a"}, "t:1");
  EXPECT_EQ(error_, "") << "the template's BUCKETSIZE does not apply";
  EXPECT_EQ(of_other_type.filter.params.type, core::kClassicType);
  EXPECT_EQ(of_other_type.filter.params.capacity, 5000U);
}

}  // namespace
}  // namespace bitsieve::commands
