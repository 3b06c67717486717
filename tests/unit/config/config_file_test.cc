#include "config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitsieve::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ProblemsOf(const std::string& json) {
  std::vector<std::string> texts;
  for (const FileProblem& problem : ParseConfigText(json).problems) texts.push_back(problem.text);
  return texts;
}

TEST(ConfigFile, NumbersStringsAndSizes) {
  const FileEntries entries =
      ParseConfigText(R"({"port": 1, "maxmemory": "1gb", "default-error-rate": 0.5, "dir": "x"})");
  EXPECT_THAT(entries.problems, IsEmpty());
  ASSERT_EQ(entries.values.size(), 4u);
  EXPECT_EQ(entries.values[0].row->name, "port");
  EXPECT_EQ(entries.values[0].text, "1");
  EXPECT_EQ(entries.values[1].text, "1gb");
  EXPECT_EQ(entries.values[2].text, "0.5");
  EXPECT_EQ(entries.values[3].text, "x");
}

TEST(ConfigFile, CommentsAreSkipped) {
  const FileEntries entries = ParseConfigText("{ // why\n \"port\": 1 /* so */ }");
  EXPECT_THAT(entries.problems, IsEmpty());
  EXPECT_EQ(entries.values.size(), 1u);
}

TEST(ConfigFile, UnknownKeys) {
  EXPECT_THAT(ProblemsOf(R"({"prot": 1})"), ElementsAre(R"(unknown option "prot"; did you mean port?)"));
}

TEST(ConfigFile, RepeatedKeysAreToldOnce) {
  EXPECT_THAT(ProblemsOf(R"({"port": 1, "port": 2, "port": 3})"), ElementsAre(R"("port" is given more than once)"));
}

TEST(ConfigFile, WrongTypes) {
  EXPECT_THAT(ProblemsOf(R"({"dir": 5})"), ElementsAre("dir must be the path of a directory, not the number 5"));
  EXPECT_THAT(ProblemsOf(R"({"port": true})"),
              ElementsAre("port must be off, or a whole number from 0 to 65535, not the boolean true"));
  EXPECT_THAT(ProblemsOf(R"({"port": null})"), ElementsAre(HasSubstr("not the null null")));
  EXPECT_THAT(ProblemsOf(R"({"port": {"a": {"port": 1}}})"), ElementsAre(HasSubstr("not the object")));
  EXPECT_THAT(ProblemsOf(R"({"port": [1]})"), ElementsAre(HasSubstr("not the array")));
  EXPECT_THAT(ProblemsOf("[1]"), ElementsAre(HasSubstr("must be a JSON object of options")));
}

TEST(ConfigFile, AllProblemsAreToldAtOnce) {
  EXPECT_EQ(ParseConfigText(R"({"dir": 5, "prot": 1, "timeout": [], "port": 1})").problems.size(), 3u);
}

TEST(ConfigFile, BrokenJsonIsToldWithItsPlace) {
  EXPECT_THAT(ProblemsOf("{\n  \"port\": ,\n}"),
              ElementsAre(testing::AllOf(HasSubstr("not valid JSON: "), HasSubstr("line 2, column 11"))));
  for (const char* text : {"", "{", "{\"port\": 1}}", "{\"port\": 1,}", "{\"dir\": \"\xff\"}"}) {
    EXPECT_EQ(ParseConfigText(text).problems.size(), 1u) << text;
  }
}

TEST(ConfigFile, ANumberThatIsTooLargeIsAProblem) {
  ASSERT_EQ(ParseConfigText("{\"timeout\": 6e667}").problems.size(), 1u);
  EXPECT_THAT(ParseConfigText("{\"timeout\": 6e667}").problems[0].text, testing::HasSubstr("6e667"));
}

TEST(ConfigFile, DeepNestingIsHarmless) {
  const std::string deep = "{\"port\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_EQ(ParseConfigText(deep).problems.size(), 1u);
}

TEST(ConfigFile, Templates) {
  const FileEntries entries = ParseConfigText(
      R"({"templates": [{"pattern": "a:*", "type": "classic", "error-rate": 0.001}, {"capacity": 7, "pattern": ""}]})");
  EXPECT_THAT(entries.problems, IsEmpty());
  EXPECT_THAT(entries.values, IsEmpty());
  ASSERT_EQ(entries.templates.size(), 2u);
  EXPECT_EQ(entries.templates[0].where, "templates[0]");
  EXPECT_EQ(entries.templates[0].pattern, "a:*");
  EXPECT_THAT(entries.templates[0].fields,
              ElementsAre(testing::Pair("type", "classic"), testing::Pair("error-rate", "0.001")));
  EXPECT_EQ(entries.templates[1].pattern, "");
  EXPECT_THAT(entries.templates[1].fields, ElementsAre(testing::Pair("capacity", "7")));
}

TEST(ConfigFile, TemplatesOfWrongShapes) {
  const auto problems = [](const char* list) { return ProblemsOf(std::string("{\"templates\": ") + list + "}"); };
  EXPECT_THAT(problems("5"), ElementsAre(HasSubstr("templates must be a list, [{")));
  EXPECT_THAT(problems("{}"), ElementsAre(HasSubstr("not the object")));
  EXPECT_THAT(problems("[5]"), ElementsAre(testing::StartsWith("templates[0] must be an object")));
  EXPECT_THAT(problems(R"([{"pattern": "a"}, {"capacity": 5}])"),
              ElementsAre(HasSubstr("templates[1] has no pattern")));
  EXPECT_THAT(problems(R"([{"pattern": "a", "capacity": [1], "seed": true}])"),
              ElementsAre("templates[0], capacity must be text or a number, not the array",
                          "templates[0], seed must be text or a number, not the boolean true"));
  EXPECT_THAT(problems(R"([{"pattern": "a", "pattern": "b"}])"), ElementsAre(R"("pattern" is given more than once)"));
  EXPECT_THAT(problems(R"([{"pattern": "a"}, {"pattern": "a"}])"), IsEmpty()) << "each entry has one";
}

}  // namespace
}  // namespace bitsieve::config
