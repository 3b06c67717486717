#include "commands/filter_templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/families/bloom/bloom_types.h"
#include "core/families/window/window_type.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Fields = std::vector<std::pair<std::string, std::string>>;

class FilterTemplatesTest : public testing::Test, protected CommandFixture {
 protected:
  void Use(const std::vector<TemplateEntry>& entries) {
    auto made = FilterTemplates::Make(entries);
    ASSERT_TRUE(made) << made.error().front();
    settings.templates.Set(std::move(*made));
  }
  static TemplateEntry Entry(const std::string& pattern, const Fields& fields) {
    return {"f.json: templates[0]", pattern, fields};
  }
  static std::vector<std::string> Problems(const Fields& fields) {
    const auto made = FilterTemplate::Make(Entry("*", fields));
    return made ? std::vector<std::string>() : made.error();
  }
  core::FilterParams ParamsOf(const std::string& name) {
    const FilterPtr filter = registry.Find(name);
    return filter == nullptr ? core::FilterParams{.capacity = 0} : filter->params();
  }
};

TEST_F(FilterTemplatesTest, AddMaddAndInsertMakeFiltersByThem) {
  Use({Entry("c:*", {{"type", "classic"}, {"error-rate", "0.001"}, {"capacity", "5000"}, {"expansion", "4"}})});
  Reply({"BF.ADD", "c:1", "x"});
  Reply({"BF.MADD", "c:2", "x", "y"});
  Reply({"BF.INSERT", "c:3", "ITEMS", "x"});
  for (const char* name : {"c:1", "c:2", "c:3"}) {
    const core::FilterParams params = ParamsOf(name);
    EXPECT_EQ(params.type, core::kClassicType);
    EXPECT_EQ(params.error_rate, 0.001);
    EXPECT_EQ(params.capacity, 5000U);
    EXPECT_EQ(params.expansion, 4U);
    EXPECT_EQ(params.first_share, 0.8) << "its capacity is stated";
  }
  Reply({"BF.ADD", "d:1", "x"});
  EXPECT_EQ(ParamsOf("d:1").type, core::kBlockedType);
  EXPECT_EQ(ParamsOf("d:1").capacity, 100U);
}

TEST_F(FilterTemplatesTest, TheFirstThatFitsWins) {
  Use({Entry("a:b:*", {{"capacity", "1"}}), Entry("a:*", {{"capacity", "2"}}), Entry("*", {{"error-rate", "0.25"}})});
  for (const char* name : {"a:b:c", "a:c", "other"}) Reply({"BF.ADD", name, "x"});
  EXPECT_EQ(ParamsOf("a:b:c").capacity, 1U);
  EXPECT_EQ(ParamsOf("a:c").capacity, 2U);
  EXPECT_EQ(ParamsOf("a:c").error_rate, 0.01);
  EXPECT_EQ(ParamsOf("other").error_rate, 0.25);
}

// Parameters that an entry leaves out come from the options in force when the filter is made.
TEST_F(FilterTemplatesTest, DefaultsOfTheMomentFillTheGaps) {
  Use({Entry("*", {{"capacity", "7"}})});
  settings.default_type = core::kCountingType;
  settings.default_expansion = 0;
  Reply({"BF.ADD", "f", "x"});
  EXPECT_EQ(ParamsOf("f").type, core::kCountingType);
  EXPECT_EQ(ParamsOf("f").capacity, 7U);
  EXPECT_EQ(ParamsOf("f").expansion, 0U);
}

TEST_F(FilterTemplatesTest, WhatInsertStatesWins) {
  Use({Entry("*", {{"type", "classic"}, {"hash", "sip"}, {"capacity", "7"}, {"expansion", "4"}, {"seed", "9"}})});
  Reply({"BF.INSERT", "a", "CAPACITY", "8", "HASH", "fnv1a", "ITEMS", "x"});
  EXPECT_EQ(ParamsOf("a").capacity, 8U);
  EXPECT_EQ(ParamsOf("a").hash, core::HashKind::kFnv1a);
  EXPECT_EQ(ParamsOf("a").seed, 9U);
  Reply({"BF.INSERT", "b", "NONSCALING", "SEED", "1", "TYPE", "classic", "ITEMS", "x"});
  EXPECT_EQ(ParamsOf("b").expansion, 0U);
  EXPECT_EQ(ParamsOf("b").seed, 1U);
  EXPECT_EQ(ParamsOf("b").hash, core::HashKind::kSip) << "the type is the same";
  // With another type, the parameters that belong to the entry's type do not apply.
  Reply({"BF.INSERT", "c", "TYPE", "counting", "ITEMS", "x"});
  EXPECT_EQ(ParamsOf("c").type, core::kCountingType);
  EXPECT_EQ(ParamsOf("c").capacity, 7U);
  EXPECT_EQ(ParamsOf("c").hash, core::HashKind::kXxh3);
  Reply({"BF.INSERT", "d", "TYPE", "window", "WINDOW", "7", "ITEMS", "x"});
  EXPECT_EQ(core::WindowOf(ParamsOf("d")).items, 7U);
  EXPECT_EQ(Reply({"BF.INSERT", "e", "TYPE", "counting", "HASH", "sip", "ITEMS", "x"}),
            "-ERR HASH is for TYPE " + core::FilterTypeNames(" or ", test::AnyHash) + " only\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "e", "NOCREATE", "ITEMS", "x"}), "-ERR not found\r\n");
}

TEST_F(FilterTemplatesTest, WindowsAndOptionsOfSingleTypes) {
  Use({Entry("w:*", {{"type", "window"}, {"window", "24h"}, {"capacity", "50"}}),
       Entry("n:*", {{"window", "1000"}, {"type", "window"}}),
       Entry("c:*", {{"counterbits", "8"}, {"type", "counting"}})});
  Reply({"BF.ADD", "w:1", "x"});
  EXPECT_EQ(core::WindowOf(ParamsOf("w:1")).duration_ms, 86'400'000U);
  Reply({"BF.INSERT", "w:2", "WINDOW", "1h", "ITEMS", "x"});
  EXPECT_EQ(core::WindowOf(ParamsOf("w:2")).duration_ms, 3'600'000U);
  EXPECT_EQ(ParamsOf("w:2").capacity, 50U);
  Reply({"BF.ADD", "n:1", "x"});
  EXPECT_EQ(ParamsOf("n:1").capacity, 1000U);
  Reply({"BF.ADD", "c:1", "x"});
  EXPECT_EQ(core::CounterBitsOf(ParamsOf("c:1")), 8U);
}

// A seed of 32 bytes is for one type, so it is not used for a filter that is asked to be of another.
TEST_F(FilterTemplatesTest, ASeedOfATypeIsForThatType) {
  const std::string digits(64, 'a');
  Use({Entry("*", {{"type", "valkeybloom"}, {"seed", digits}, {"expansion", "100000"}})});
  Reply({"BF.ADD", "f", "x"});
  EXPECT_EQ(ParamsOf("f").type, core::kValkeyBloomType);
  EXPECT_EQ(core::SeedText(ParamsOf("f")), digits);
  EXPECT_EQ(ParamsOf("f").expansion, 100'000U);
  EXPECT_EQ(Reply({"BF.INSERT", "c", "TYPE", "classic", "EXPANSION", "2", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_EQ(ParamsOf("c").type, core::kClassicType);
  EXPECT_THAT(Problems({{"seed", digits}}), ElementsAre(HasSubstr("seed needs a type next to it")));
}

TEST_F(FilterTemplatesTest, ReserveKnowsNone) {
  Use({Entry("*", {{"type", "classic"}})});
  Reply({"BF.RESERVE", "f", "0.01", "100"});
  EXPECT_EQ(ParamsOf("f").type, core::kBlockedType);
}

TEST_F(FilterTemplatesTest, EachProblemNamesEntryAndField) {
  const std::string place = "f.json: templates[0]";
  EXPECT_THAT(Problems({{"capacity", "x"}, {"error-rate", "2"}}),
              ElementsAre(place + ", capacity 'x': capacity must be in the range [1, 1073741824]",
                          place + ", error-rate '2': error rate must be in the range (0.000000, 1.000000): from 1e-9 "
                                  "to 0.25, or a larger one below 1, which is taken as 0.25"));
  EXPECT_THAT(Problems({{"expansion", "99999"}}),
              ElementsAre(place + ", expansion '99999': expansion must be in the range [0, 32768]"));
  EXPECT_THAT(Problems({{"type", "magic"}}), ElementsAre(StartsWith(place + ", type 'magic': unknown type 'magic'")));
  EXPECT_THAT(Problems({{"type", "classic"}, {"hash", "md5"}}), ElementsAre(HasSubstr(", hash 'md5': unknown hash")));
  EXPECT_THAT(Problems({{"type", "window"}, {"window", "24x"}}), ElementsAre(HasSubstr(", window '24x': bad window")));
  for (const char* field : {"prot", "error", "ERROR", "Type", "nonscaling", "nocreate", "items", "ifnotexists", ""}) {
    EXPECT_THAT(Problems({{field, "1"}}), ElementsAre(AllOf(StartsWith(place + ", " + field + ": unknown field"))))
        << field;
  }
}

TEST_F(FilterTemplatesTest, WhatDoesNotFitTogetherIsTold) {
  const std::string place = "f.json: templates[0]: ";
  EXPECT_THAT(Problems({{"hash", "sip"}}),
              ElementsAre(place + "hash needs a type next to it, since not every type has it"));
  EXPECT_THAT(Problems({{"type", "counting"}, {"hash", "sip"}}),
              ElementsAre(place + "HASH is for TYPE " + core::FilterTypeNames(" or ", test::AnyHash) + " only"));
  EXPECT_THAT(Problems({{"type", "window"}}),
              ElementsAre(place + "a window filter needs WINDOW, with a number of items "
                                  "or a duration such as 24h"));
  EXPECT_THAT(Problems({{"type", "window"}, {"window", "24h"}}), ElementsAre(HasSubstr("needs CAPACITY")));
  EXPECT_THAT(Problems({{"type", "window"}, {"window", "9"}, {"expansion", "2"}}),
              ElementsAre(HasSubstr("does not grow")));
  EXPECT_THAT(Problems({{"type", "fingerprint"}, {"error-rate", "0.000000001"}}),
              ElementsAre(HasSubstr("too small for fingerprints of 32 bits")));
  EXPECT_THAT(Problems({{"capacity", "1073741824"}}), ElementsAre()) << "how large is not how valid";
  EXPECT_THAT(Problems({}), ElementsAre());
}

TEST_F(FilterTemplatesTest, AllEntriesAreTold) {
  const auto made = FilterTemplates::Make(
      {{"templates[0]", "*", {{"capacity", "0"}}}, {"templates[1]", "*", {}}, {"templates[2]", "*", {{"seed", "-1"}}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error(), ElementsAre(StartsWith("templates[0], capacity"), StartsWith("templates[2], seed")));
}

}  // namespace
}  // namespace bitsieve::server
