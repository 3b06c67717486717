#include "server/persistence/recovery/recovery_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"

namespace bitsieve::server {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(LogRecoveryLines, AHealthyStartIsOneLine) {
  test::CapturedLog log;
  RecoveryReport report;
  report.filters_loaded = 3;
  report.bytes_read = 4096;
  report.log.records = 5;
  report.duration_ms = 7;
  LogRecovery(report, "/d");
  EXPECT_THAT(log.TakeLines(),
              ElementsAre("info Loaded 3 filters, 4096 bytes and 5 records of the log, in 7 ms from /d"));
}

TEST(LogRecoveryLines, WhatHadExpiredIsCountedApart) {
  test::CapturedLog log;
  RecoveryReport report;
  report.filters_loaded = 3;
  report.filters_expired = 2;
  LogRecovery(report, "/d");
  EXPECT_THAT(log.TakeLines(), ElementsAre(StartsWith("info Loaded 3 filters (2 more had expired), ")));
}

TEST(LogRecoveryLines, EachLossIsAnErrorAndWhatACrashLeavesIsNot) {
  test::CapturedLog log;
  RecoveryReport report;
  report.quarantined = {{"/d/filters/17.filter", "/d/quarantine/17.filter", "wrong checksum"},
                        {"/d/filters/18.filter", "", "not there"}};
  report.warnings = {"/d/filters/3.filter: cannot be removed"};
  report.leftovers_removed = 4;
  report.log.torn = LogCut{"/d/log/1", 77, 700, 80, 0, "log/1: ends within a record"};
  report.log_problems = {"log/2: wrong checksum"};
  LogRecovery(report, "/d");
  EXPECT_THAT(
      log.TakeLines(),
      ElementsAre("error Quarantined /d/quarantine/17.filter: wrong checksum",
                  "error Quarantined /d/filters/18.filter (missing): not there",
                  "warning /d/filters/3.filter: cannot be removed", AllOf(StartsWith("info "), HasSubstr(" 4 ")),
                  AllOf(StartsWith("warning "), HasSubstr("ends within a record")),
                  AllOf(StartsWith("error "), HasSubstr("log/2: wrong checksum")), StartsWith("info Loaded ")));
}

}  // namespace
}  // namespace bitsieve::server
