#include "server/metrics/info_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class InfoReportTest : public testing::Test, protected test::CommandFixture {
 protected:
  std::string Report(const std::vector<std::string_view>& sections) const { return InfoReport(environment_, sections); }
  // Returns the titles of the report's sections, in order.
  std::vector<std::string> Titles(const std::vector<std::string_view>& sections) const {
    std::vector<std::string> titles;
    std::istringstream report(Report(sections));
    for (std::string line; std::getline(report, line);) {
      if (line.starts_with("# ")) titles.push_back(line.substr(2, line.size() - 3));
    }
    return titles;
  }

  const Environment environment_ = EnvironmentWith(nullptr);
};

TEST_F(InfoReportTest, ASectionIsFoundInAnyCaseAndShownOnce) {
  EXPECT_THAT(Titles({"server"}), ElementsAre("Server"));
  EXPECT_THAT(Titles({"SeRvEr", "server", "SERVER"}), ElementsAre("Server"));
  EXPECT_EQ(Report({"nonsense"}), "");
  EXPECT_THAT(Titles({"nonsense", "server"}), ElementsAre("Server"));
}

TEST_F(InfoReportTest, SectionsComeInTheOrderOfTheTable) {
  EXPECT_EQ(Titles({"memory", "server", "clients"}), Titles({"clients", "memory", "server"}));
}

TEST_F(InfoReportTest, EachNameOfManySectionsShowsMore) {
  const auto by_default = Titles({});
  const auto all = Titles({"all"});
  const auto everything = Titles({"everything"});
  EXPECT_EQ(Titles({"default"}), by_default);
  EXPECT_THAT(by_default, Not(Contains("Commandstats")));
  EXPECT_THAT(all, IsSupersetOf(by_default));
  EXPECT_THAT(all, Contains("Commandstats"));
  EXPECT_THAT(all, Not(Contains("bf")));
  EXPECT_THAT(everything, IsSupersetOf(all));
  EXPECT_THAT(everything, Contains("bf"));
}

TEST_F(InfoReportTest, OnlySectionsOnRequestLookAtEveryFilter) {
  const auto visits = [](const std::vector<std::string_view>& sections) { return VisitsAllFilters(sections); };
  EXPECT_FALSE(visits({}));
  EXPECT_FALSE(visits({"default", "all", "server", "nonsense"}));
  EXPECT_TRUE(visits({"BF"}));
  EXPECT_TRUE(visits({"modules"}));
  EXPECT_TRUE(visits({"server", "everything"}));
}

TEST_F(InfoReportTest, FieldsAreLinesOfNameAndValue) {
  stats.port = 7379;
  const std::string report = Report({"server"});
  EXPECT_THAT(report, testing::StartsWith("# Server\r\n"));
  EXPECT_THAT(report, HasSubstr("\r\ntcp_port:7379\r\n"));
  EXPECT_THAT(report, HasSubstr("\r\nrun_id:" + stats.run_id + "\r\n"));
}

TEST_F(InfoReportTest, AReportIsOfTheMomentThatItIsMade) {
  Reply({"BF.ADD", "f", "a"});
  EXPECT_THAT(Report({"commandstats"}), HasSubstr("cmdstat_bf.add:calls=1,"));
  Reply({"BF.ADD", "f", "b"});
  EXPECT_THAT(Report({"commandstats"}), HasSubstr("cmdstat_bf.add:calls=2,"));
}

}  // namespace
}  // namespace bitsieve::server
