#include "server/persistence/log/unwritten_age.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace bitsieve::server {
namespace {

struct UnwrittenAgeTest : testing::Test {
  void Pass(int64_t ms) { clock.now_ms += ms; }

  test::ManualClock clock;
  UnwrittenAge age{clock};
};

TEST_F(UnwrittenAgeTest, IsThatOfTheOldestRecordFromItsAppendingUntilItIsWritten) {
  Pass(100);
  EXPECT_EQ(age.Ms(), 0);
  age.BeginAppended();
  Pass(20);
  EXPECT_EQ(age.Ms(), 20);
  age.Take();
  Pass(3);
  EXPECT_EQ(age.Ms(), 23);
  age.ClearTaken();
  EXPECT_EQ(age.Ms(), 0);
}

TEST_F(UnwrittenAgeTest, RecordsThatAreTakenLaterAreNotOlder) {
  age.BeginAppended();
  age.Take();
  Pass(20);
  age.BeginAppended();
  Pass(3);
  age.Take();
  EXPECT_EQ(age.Ms(), 23);
  age.ClearTaken();
  EXPECT_EQ(age.Ms(), 0) << "both were written";
}

TEST_F(UnwrittenAgeTest, WhatWasAppendedDuringTheWritingKeepsItsAge) {
  age.BeginAppended();
  age.Take();
  Pass(20);
  age.BeginAppended();
  Pass(3);
  age.ClearTaken();
  EXPECT_EQ(age.Ms(), 3);
}

TEST_F(UnwrittenAgeTest, WhatMustBeWrittenAgainGetsItsAgeBackUnlessOlderRecordsHaveOne) {
  age.RestoreTaken(std::chrono::milliseconds(50));
  EXPECT_EQ(age.Ms(), 50);
  Pass(7);
  age.RestoreTaken(std::chrono::milliseconds(1));
  EXPECT_EQ(age.Ms(), 57);
}

}  // namespace
}  // namespace bitsieve::server
