// A filter whose image is being written, and for whose changes there is nearly no memory left: changes to it are
// postponed, and nothing else is.
#include "core/filter/image_pressure.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;

class ImagePressureTest : public testing::Test, protected CommandFixture {
 protected:
  ImagePressureTest() {
    for (const std::string name : {"f", "g"}) Reply({"BF.RESERVE", name, "0.01", "100"});
    reading_.emplace(*registry.Find("f"), pool_);
  }

  void Use(uint64_t bytes) {
    used_ = {};
    used_ = core::MemoryReservation::TryTake(pool_, bytes);
  }

  core::MemoryBudget pool_{800};
  core::MemoryReservation used_;
  std::optional<core::ImagePressure::Reading> reading_;
};

TEST_F(ImagePressureTest, ChangesToTheFilterArePostponedAndNothingElse) {
  Use(700);
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "x"}, {"BF.ADD", "g", "x"}, {"BF.ADD", "f", "x"}, {"PING"}}), ":0\r\n:1\r\n");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_EQ(outcome.executed, 2U);
  EXPECT_EQ(Replies({{"BF.MADD", "f", "x", "y"}}), "");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_EQ(Replies({{"BF.ADD", "g", "y"}, {"BF.ADD", "g", "z"}, {"BF.MEXISTS", "f", "x"}}),
            ":1\r\n:1\r\n*1\r\n:0\r\n");
  EXPECT_NE(outcome.wait, Wait::kMoment);
}

TEST_F(ImagePressureTest, WhatOnlyReadsTheFilterOrItsNameIsNotPostponed) {
  Use(800);
  EXPECT_EQ(Replies({{"COPY", "f", "h"}, {"BF.MERGE", "h", "f"}, {"RENAME", "f", "e"}, {"DEL", "e", "h"}}),
            ":1\r\n+OK\r\n+OK\r\n:2\r\n");
  EXPECT_NE(outcome.wait, Wait::kMoment);
}

TEST_F(ImagePressureTest, ATransactionThatChangesTheFilterIsPostponedAsAWhole) {
  Use(800);
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "g", "1"}, {"BF.EXISTS", "f", "x"}, {"EXEC"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "g", "2"}, {"BF.ADD", "f", "x"}, {"EXEC"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  EXPECT_FALSE(outcome.wrote);
  used_ = {};
  EXPECT_EQ(Replies({{"EXEC"}}), "*2\r\n:1\r\n:1\r\n");
}

TEST_F(ImagePressureTest, TheyGoOnOnceThereIsMemoryOrTheImageIsWritten) {
  Use(700);
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"}}), "");
  Use(699);
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"}}), ":1\r\n");
  Use(800);
  EXPECT_EQ(Replies({{"BF.ADD", "f", "y"}}), "");
  reading_.reset();
  EXPECT_EQ(Replies({{"BF.ADD", "f", "y"}}), ":1\r\n");
  EXPECT_FALSE(core::ImagePressure::MayBeActive());
}

TEST_F(ImagePressureTest, MoreReadingsThanAreKnownOfDoNoHarm) {
  Use(800);
  {
    std::deque<core::ImagePressure::Reading> many;
    for (int i = 0; i < 20; ++i) many.emplace_back(*registry.Find("g"), pool_);
    EXPECT_TRUE(core::ImagePressure::MustWait(*registry.Find("g")));
  }
  EXPECT_FALSE(core::ImagePressure::MustWait(*registry.Find("g")));
  EXPECT_TRUE(core::ImagePressure::MustWait(*registry.Find("f")));
}

}  // namespace
}  // namespace bitsieve::server
