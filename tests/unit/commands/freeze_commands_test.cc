#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/filter/staging.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;
using testing::StartsWith;

using test::kOk;
constexpr const char* kRefused = "-ERR the filter is frozen: a ribbon filter accepts no items after BF.FREEZE\r\n";

class FreezeCommandsTest : public testing::Test, protected test::CommandFixture {
 protected:
  void MakeRibbon() {
    ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.01", "1000", "TYPE", "ribbon", "SEED", "1"}), kOk);
    ASSERT_EQ(Reply({"BF.MADD", "f", "a", "b"}), "*2\r\n:1\r\n:1\r\n");
  }
  // Builds the frozen filter and replaces the closed one, as the background thread does.
  void FinishBuilding() {
    const FilterPtr closed = control.freezes.at(0).second;
    FilterPtr frozen = std::move(*closed->staging()->Build(budget, [] { return true; }));
    ASSERT_TRUE(registry.Replace("f", closed, frozen));
  }
};

TEST_F(FreezeCommandsTest, ClosesAtOnceAndBuildsElsewhere) {
  MakeRibbon();
  EXPECT_EQ(Replies({{"BF.FREEZE", "f"}, {"BF.ADD", "f", "c"}, {"BF.EXISTS", "f", "a"}, {"BF.EXISTS", "f", "c"}}),
            std::string(kOk) + kRefused + ":1\r\n:0\r\n");
  ASSERT_EQ(control.freezes.size(), 1U);
  EXPECT_EQ(control.freezes[0].first, "f");
  EXPECT_EQ(control.freezes[0].second, registry.Find("f"));
  EXPECT_EQ(Reply({"BF.INFO", "f", "STATE"}), "*1\r\n$8\r\nbuilding\r\n");
  FinishBuilding();
  EXPECT_EQ(Reply({"BF.INFO", "f", "STATE"}), "*1\r\n$6\r\nfrozen\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "PROGRESS"}), "*1\r\n:100\r\n");
  EXPECT_EQ(Reply({"BF.MADD", "f", "a", "c"}), std::string("*2\r\n") + kRefused + kRefused);
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "a", "b"}), "*2\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":2\r\n");
}

TEST_F(FreezeCommandsTest, OnceMoreIsAsGoodAsOnce) {
  MakeRibbon();
  EXPECT_EQ(Replies({{"BF.FREEZE", "f"}, {"BF.FREEZE", "f"}}), std::string(kOk) + kOk);
  EXPECT_EQ(control.freezes.size(), 1U);
  FinishBuilding();
  EXPECT_EQ(Reply({"BF.FREEZE", "f"}), kOk);
  EXPECT_EQ(control.freezes.size(), 1U);
}

TEST_F(FreezeCommandsTest, OtherKindsCannot) {
  EXPECT_EQ(Reply({"BF.FREEZE", "none"}), "-ERR not found\r\n");
  Reply({"BF.RESERVE", "b", "0.01", "100"});
  EXPECT_EQ(Reply({"BF.FREEZE", "b"}),
            "-ERR a blocked filter cannot be frozen; " + test::TypesThatCan(test::Freezes) + "\r\n");
  EXPECT_EQ(Reply({"BF.FREEZE"}), test::ArityReply("bf.freeze"));
}

TEST_F(FreezeCommandsTest, InfoTellsWhyBuildingFailed) {
  MakeRibbon();
  EXPECT_EQ(Reply({"BF.INFO", "f", "FAILURE"}), "*1\r\n$0\r\n\r\n");
  Reply({"BF.FREEZE", "f"});
  control.freezes[0].second->staging()->Reopen("no room");
  EXPECT_EQ(Reply({"BF.INFO", "f", "FAILURE"}), "*1\r\n$7\r\nno room\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "STATE"}), "*1\r\n$7\r\nstaging\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "c"}), ":1\r\n");
  Reply({"BF.FREEZE", "f"});
  EXPECT_EQ(control.freezes.size(), 2U);
}

TEST_F(FreezeCommandsTest, WhatARibbonFilterCannot) {
  MakeRibbon();
  EXPECT_EQ(Reply({"BF.DEL", "f", "a"}),
            "-ERR a ribbon filter cannot remove items; " + test::TypesThatCan(test::Removes) + "\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "f", "a"}),
            "-ERR a ribbon filter cannot count items; " + test::TypesThatCan(test::Counts) + "\r\n");
  EXPECT_THAT(Reply({"BF.MERGE", "g", "f"}),
              HasSubstr("a ribbon filter cannot be merged; " + test::TypesThatCan(test::Merges)));
  EXPECT_THAT(Reply({"BF.ESTIMATE", "f"}), StartsWith("-ERR cannot merge"));
}

TEST_F(FreezeCommandsTest, ClearGivesAnEmptyOneThatCollects) {
  MakeRibbon();
  Reply({"BF.FREEZE", "f"});
  FinishBuilding();
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), kOk);
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "a"}, {"BF.ADD", "f", "a"}}), ":0\r\n:1\r\n");
}

TEST_F(FreezeCommandsTest, CopyIsFrozenAlike) {
  MakeRibbon();
  Reply({"BF.FREEZE", "f"});
  FinishBuilding();
  EXPECT_EQ(Reply({"COPY", "f", "g"}), ":1\r\n");
  EXPECT_EQ(Replies({{"BF.EXISTS", "g", "a"}, {"BF.ADD", "g", "c"}}), std::string(":1\r\n") + kRefused);
}

}  // namespace
}  // namespace bitsieve::server
