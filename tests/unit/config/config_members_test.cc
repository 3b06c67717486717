#include "config/config_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/config_file.h"
#include "config/option_table.h"

namespace bitsieve::config {
namespace {

using testing::HasSubstr;

const std::vector<const OptionRow*> kRows = {FindOption("timeout"), FindOption("maxmemory"), FindOption("dir")};

Options Changed() {
  Options options;
  options.timeout = 5;
  options.maxmemory = 1ULL << 30;
  options.dir = "a \"b\"";
  return options;
}

std::string Rewritten(const std::string& json) {
  const auto text = WithValues(json, kRows, Changed());
  return text ? *text : "error: " + text.error();
}

TEST(ConfigMembers, AreFoundWithTheirPlaces) {
  const std::string json =
      "\xef\xbb\xbf// {\n{ /* } */ \"a\\u0062\": [1, {\"x\": \"]\"}], // \"c\": 1\n  \"d\":-1.5e3}";
  const ConfigMembers found = MembersOf(json);
  ASSERT_EQ(found.members.size(), 2U);
  EXPECT_EQ(found.members[0].key, "ab");
  EXPECT_EQ(found.members[0].line, 2U);
  EXPECT_EQ(json.substr(found.members[0].value_begin, found.members[0].value_end - found.members[0].value_begin),
            "[1, {\"x\": \"]\"}]");
  EXPECT_EQ(found.members[1].key, "d");
  EXPECT_EQ(found.members[1].line, 3U);
  EXPECT_EQ(json.substr(found.members[1].value_begin, found.members[1].value_end - found.members[1].value_begin),
            "-1.5e3");
  EXPECT_EQ(json[found.end], '}');
}

TEST(ConfigMembers, ValuesAreReplacedWhereTheyAre) {
  EXPECT_EQ(
      Rewritten("{\n  // why\n  \"maxmemory\": 7, /* so */\n  \"port\": 1,\n  \"dir\": \"x\", \"timeout\":0\n}\n"),
      "{\n  // why\n  \"maxmemory\": \"1gb\", /* so */\n  \"port\": 1,\n  \"dir\": \"a \\\"b\\\"\", "
      "\"timeout\":5\n}\n");
}

TEST(ConfigMembers, WhatIsMissingIsAddedAtTheEnd) {
  const std::string added = "\"timeout\": 5,\n  \"maxmemory\": \"1gb\",\n  \"dir\": \"a \\\"b\\\"\"\n";
  EXPECT_EQ(Rewritten("{\n  \"port\": 1 // last\n}"), "{\n  \"port\": 1, // last\n  " + added + "}");
  EXPECT_EQ(Rewritten("{}"), "{\n  " + added + "}");
  EXPECT_EQ(Rewritten("{ // none\n}"), "{ // none\n  " + added + "}");
  EXPECT_EQ(Rewritten("{\"port\": 1}"),
            "{\"port\": 1, \"timeout\": 5, \"maxmemory\": \"1gb\", \"dir\": \"a \\\"b\\\"\"}");
  EXPECT_EQ(Rewritten("{\n  \"port\": 1 /* two\n lines */ }"),
            "{\n  \"port\": 1, /* two\n lines */\n  " + added + " }");
  EXPECT_EQ(Rewritten("{\n\t\"port\": 1\n\t}"),
            "{\n\t\"port\": 1,\n\t\"timeout\": 5,\n\t\"maxmemory\": \"1gb\",\n\t\"dir\": \"a \\\"b\\\"\"\n\t}");
}

TEST(ConfigMembers, WhatTheFileGivesAlreadyStaysAsItIsWritten) {
  const std::string json = R"({"timeout": "5", "maxmemory": 1073741824, "dir": "a \u0022b\""})";
  EXPECT_EQ(Rewritten(json), json);
  Options defaults;
  EXPECT_EQ(WithValues("{}", kRows, defaults).value(), "{}");
  EXPECT_EQ(WithValues(R"({"timeout": 7})", kRows, defaults).value(), R"({"timeout": 0})");
}

TEST(ConfigMembers, AFileWithErrorsIsLeftAlone) {
  EXPECT_THAT(Rewritten("{\n\"prot\": 1}"), HasSubstr("line 2: unknown option"));
  EXPECT_THAT(Rewritten("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Rewritten("[]"), HasSubstr("must be a JSON object"));
}

TEST(ConfigMembers, BytesThatJsonCannotHoldAreRefused) {
  Options options;
  options.dir = "\xff";
  EXPECT_THAT(WithValues("{}", kRows, options).error(), HasSubstr("dir is not UTF-8"));
}

}  // namespace
}  // namespace bitsieve::config
