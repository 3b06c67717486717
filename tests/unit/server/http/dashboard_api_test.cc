#include "server/http/dashboard_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DashboardApiTest : public ::testing::Test, protected test::CommandFixture {
 protected:
  static AdminRequest RequestOf(std::multimap<std::string, std::string> parameters) {
    AdminRequest request;
    request.parameters = std::move(parameters);
    return request;
  }
  AdminResponse Filters(std::multimap<std::string, std::string> parameters) {
    return api_.Filters(RequestOf(std::move(parameters)));
  }
  void AwaitList() {
    collector_.Start();
    while (collector_.List() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  const Environment environment_ = EnvironmentWith(nullptr);
  FilterCollector collector_{registry, [] { return false; }};
  History history_;
  const DashboardApi api_{environment_, collector_, history_};
};

TEST_F(DashboardApiTest, TheStatusNeedsNoPassOverTheFilters) {
  Reply({"BF.ADD", "f", "a"});
  const AdminResponse response = api_.Status();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.type, "application/json");
  EXPECT_THAT(response.body, AllOf(StartsWith("{"), HasSubstr("\"Server\":"), HasSubstr("\"filters\":1"),
                                   HasSubstr("\"longest_round_s\":"), Not(HasSubstr("\"bf\":"))));
}

TEST_F(DashboardApiTest, PointsAreThoseAfterTheNumber) {
  history_.Take(environment_);
  history_.Take(environment_);
  EXPECT_THAT(api_.Recent(RequestOf({{"after", "1"}})).body,
              AllOf(HasSubstr("\"number\":2"), Not(HasSubstr("\"number\":1,"))));
  EXPECT_THAT(api_.Recent({}).body, AllOf(HasSubstr("\"number\":1,"), HasSubstr("\"number\":2,")));
  for (const char* nonsense : {"x", "-1", "1.5", "99999999999999999999"}) {
    const AdminResponse refused = api_.Recent(RequestOf({{"after", nonsense}}));
    EXPECT_EQ(refused.status, 400) << nonsense;
    EXPECT_THAT(refused.body, StartsWith("{\"error\":"));
  }
}

TEST_F(DashboardApiTest, AListThatIsNotThereYetIsNoError) {
  const AdminResponse response = Filters({});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "{\"ready\":false}");
}

TEST_F(DashboardApiTest, APageHasAtMostAHundredFilters) {
  EXPECT_EQ(Filters({{"limit", "100"}}).status, 200);
  EXPECT_EQ(Filters({{"limit", "101"}}).status, 400);
  EXPECT_EQ(Filters({{"limit", "many"}}).status, 400);
  EXPECT_EQ(Filters({{"offset", "-1"}}).status, 400);
}

TEST_F(DashboardApiTest, APageIsSortedSearchedAndCut) {
  for (const char* name : {"users:1", "users:2", "sessions"}) Reply({"BF.ADD", name, "a"});
  AwaitList();
  EXPECT_THAT(Filters({{"search", "users"}, {"order", "desc"}, {"limit", "1"}}).body,
              AllOf(HasSubstr("\"matches\":2"), HasSubstr("\"filters\":3"), HasSubstr("\"name\":\"users:2\""),
                    Not(HasSubstr("\"name\":\"users:1\"")), Not(HasSubstr("sessions"))));
  EXPECT_THAT(Filters({{"search", "users"}, {"offset", "1"}}).body,
              AllOf(HasSubstr("\"name\":\"users:2\""), Not(HasSubstr("\"name\":\"users:1\""))));
  EXPECT_EQ(Filters({{"sort", "colour"}}).status, 400);
}

TEST_F(DashboardApiTest, ARowOfAFilterThatIsGoneIsLeftOut) {
  Reply({"BF.ADD", "here", "a"});
  Reply({"BF.ADD", "gone", "a"});
  AwaitList();
  registry.Remove("gone");
  EXPECT_THAT(Filters({}).body, AllOf(HasSubstr("\"name\":\"here\""), Not(HasSubstr("\"name\":\"gone\""))));
}

TEST_F(DashboardApiTest, AFilterIsShownWithANameForPeopleAndOneForUrls) {
  Reply({"BF.ADD", "a b\xff", "item"});
  const AdminResponse response = api_.Filter(RequestOf({{"name", "a b\xff"}}));
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, AllOf(HasSubstr("\"link\":\"a%20b%FF\""), HasSubstr("\"items\":1"),
                                   HasSubstr("\"fields\":["), HasSubstr("\"curve\":[["), Not(HasSubstr("\xff"))));
  const AdminResponse missing = api_.Filter(RequestOf({{"name", "missing"}}));
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, StartsWith("{\"error\":"));
}

}  // namespace
}  // namespace bitsieve::server
