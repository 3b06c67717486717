#include "commands/type_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/filter/filter_type.h"

namespace bitsieve::commands {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class TypeOptionsTest : public testing::Test {
 protected:
  static core::FilterParams OfType(std::string_view name) {
    core::FilterParams params;
    params.type = core::FindFilterType(name)->type;
    return params;
  }
  // Reads the words as options of this type, and applies them.
  core::FilterParams Read(std::string_view type, const std::vector<std::string_view>& words,
                          std::string_view missing_instead = {}) {
    core::FilterParams params = OfType(type);
    ArgumentReader reader(words, 0);
    GivenTypeOptions given;
    while (reader.More() && ReadTypeOption(reader, missing_instead, params, given)) {
    }
    all_read_ = reader.AtEnd();
    ApplyTypeOptions(reader, given, params);
    RefuseMisplaced(reader, given, params.type);
    error_ = reader.error();
    return params;
  }

  std::string error_;
  bool all_read_ = false;
};

TEST_F(TypeOptionsTest, OtherWordsAreLeft) {
  Read("cuckoo", {"CAPACITY", "100"});
  EXPECT_FALSE(all_read_);
  Read("cuckoo", {"bucketsize", "2", "MAXITERATIONS", "9"});
  EXPECT_TRUE(all_read_);
  EXPECT_EQ(error_, "");
}

TEST_F(TypeOptionsTest, AMissingValueHasTheErrorOfTheCommandOrItsOwn) {
  Read("cuckoo", {"BUCKETSIZE"});
  EXPECT_THAT(error_, StartsWith("ERR no "));
  Read("cuckoo", {"BUCKETSIZE"}, "as the command has it");
  EXPECT_EQ(error_, "as the command has it");
}

TEST_F(TypeOptionsTest, AValueIsCheckedAsSoonAsItIsRead) {
  Read("cuckoo", {"BUCKETSIZE", "0", "MAXITERATIONS", "x"});
  EXPECT_THAT(error_, AllOf(StartsWith("ERR "), HasSubstr("bucket size")));
  EXPECT_FALSE(all_read_);
}

TEST_F(TypeOptionsTest, AnOptionOfOtherTypesIsRefusedWithTheirNames) {
  Read("blocked", {"BUCKETSIZE", "2"});
  EXPECT_THAT(error_, AllOf(StartsWith("ERR BUCKETSIZE is for TYPE "), HasSubstr("cuckoo")));
}

TEST_F(TypeOptionsTest, TheFirstDifferenceIsNamed) {
  const core::FilterParams two = Read("cuckoo", {"BUCKETSIZE", "2"});
  const core::FilterParams four = Read("cuckoo", {"BUCKETSIZE", "4", "MAXITERATIONS", "9"});
  EXPECT_EQ(TypeOptionDifference(two, two), std::nullopt);
  EXPECT_EQ(TypeOptionDifference(two, four), "ERR item exists with a different bucket size: it has 2, not 4");
}

}  // namespace
}  // namespace bitsieve::commands
