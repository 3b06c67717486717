#include "cli/migrate/migration_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

OtherKeys SomeOthers() {
  OtherKeys others{.counts = {{"string", 1200}, {"filter of database 3", 1}}, .expired = 2};
  others.sketches.Add("TopK-TYPE", "top");
  return others;
}

TEST(MigrationReport, KeysThatStay) {
  std::ostringstream out;
  PrintOthers(out, SomeOthers());
  EXPECT_THAT(out.str(), HasSubstr("1,201 other keys skipped: 1 filter of database 3, 1,200 string\n"));
  EXPECT_THAT(out.str(), HasSubstr("1 sketch is not moved: a Bitsieve server has no sketches"));
  EXPECT_THAT(out.str(), HasSubstr("\n  1 Top-K: 'top'\n"));
  EXPECT_THAT(out.str(), HasSubstr("2 filters and sketches have expired and are skipped\n"));
  std::ostringstream nothing;
  PrintOthers(nothing, OtherKeys());
  EXPECT_EQ(nothing.str(), "");
}

TEST(MigrationReport, Json) {
  std::ostringstream out;
  PrintJson(out, {.moves = {.failures = {{.name = "a", .reason = "why"}}}, .others = SomeOthers()});
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["sketches"], nlohmann::json::parse(R"({"TopK-TYPE": {"count": 1, "names": ["top"]}})"));
  EXPECT_EQ(json["other_keys"]["string"], 1200);
  EXPECT_EQ(json["failed"][0]["filter"], "a");
  std::ostringstream nothing;
  PrintJson(nothing, {});
  EXPECT_EQ(nlohmann::json::parse(nothing.str())["sketches"], nlohmann::json::object());
}

TEST(MigrationReport, OnlyTheFirstFailuresArePrinted) {
  std::ostringstream out;
  PrintFailures(out, std::vector<MoveFailure>(25, {.name = "f", .reason = "why"}));
  EXPECT_THAT(out.str(), HasSubstr("bitsieve migrate: 'f': why\n"));
  EXPECT_THAT(out.str(), HasSubstr("and 5 more; --json lists all\n"));
  std::ostringstream few;
  PrintFailures(few, {{.name = "f", .reason = "why"}});
  EXPECT_THAT(few.str(), Not(HasSubstr("more")));
}

}  // namespace
}  // namespace bitsieve::cli
