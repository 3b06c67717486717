#include "server/persistence/recovery/recovery_damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace bitsieve::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto kRefuseFilters = OnCorruptFilter::kRefuse;
constexpr auto kQuarantine = OnCorruptFilter::kQuarantine;
constexpr auto kRefuseLog = OnCorruptLog::kRefuse;
constexpr auto kTruncate = OnCorruptLog::kTruncate;

std::string VerdictOf(const RecoveryDamage& damage, OnCorruptFilter filter, OnCorruptLog log) {
  const core::Status status = CheckDamage(damage, "/d", filter, log);
  return status ? "" : status.error().message;
}

RecoveryDamage DamagedFilters() {
  RecoveryDamage damage;
  damage.filters = {{17, "17.filter: wrong checksum"}, {18, "18.filter: is missing"}, {19, "19.filter: record", 3}};
  damage.filters_listed = 40;
  return damage;
}

RecoveryDamage DamagedLog() {
  RecoveryDamage damage;
  damage.log = {"log/1: wrong checksum at 77"};
  damage.log_cut = LogCut{"/d/log/1", 77, 700, 80, 1, "wrong checksum"};
  return damage;
}

TEST(RecoveryDamageTest, NothingDamagedNeedsNoOption) {
  EXPECT_TRUE(CheckDamage({}, "/d", kRefuseFilters, kRefuseLog));
}

TEST(RecoveryDamageTest, DamagedFiltersNeedTheirOptionOnly) {
  const RecoveryDamage damage = DamagedFilters();
  EXPECT_TRUE(CheckDamage(damage, "/d", kQuarantine, kRefuseLog));
  const core::Status refused = CheckDamage(damage, "/d", kRefuseFilters, kTruncate);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().message,
              AllOf(StartsWith("/d: "), HasSubstr("2 filter files and 1 record of packs damaged or missing, of 40"),
                    HasSubstr("\n  17.filter: wrong checksum\n  18.filter: is missing\n  19.filter: record\n"),
                    HasSubstr("nothing was changed"), HasSubstr("on-corrupt-filter quarantine"),
                    Not(HasSubstr("on-corrupt-log"))));
}

TEST(RecoveryDamageTest, ADamagedLogNeedsItsOptionOnly) {
  const RecoveryDamage damage = DamagedLog();
  EXPECT_TRUE(CheckDamage(damage, "/d", kRefuseFilters, kTruncate));
  EXPECT_THAT(VerdictOf(damage, kQuarantine, kRefuseLog),
              AllOf(HasSubstr("\n  log/1: wrong checksum at 77"),
                    HasSubstr("on-corrupt-log truncate ends the log at position 700 and loses 80 bytes from there on "
                              "(1 readable record among them)"),
                    Not(HasSubstr("on-corrupt-filter"))));
}

TEST(RecoveryDamageTest, BothKindsNeedBothOptionsAndAreReportedTogether) {
  RecoveryDamage damage = DamagedLog();
  damage.filters = DamagedFilters().filters;
  EXPECT_TRUE(CheckDamage(damage, "/d", kQuarantine, kTruncate));
  for (const std::string& error :
       {VerdictOf(damage, kRefuseFilters, kRefuseLog), VerdictOf(damage, kQuarantine, kRefuseLog),
        VerdictOf(damage, kRefuseFilters, kTruncate)}) {
    EXPECT_THAT(error, AllOf(HasSubstr("17.filter"), HasSubstr("log/1"), HasSubstr("on-corrupt-filter quarantine"),
                             HasSubstr("on-corrupt-log truncate")));
  }
}

TEST(RecoveryDamageTest, ALostManifestTakesTheLogWithIt) {
  RecoveryDamage damage;
  damage.manifest = "MANIFEST: is missing";
  damage.unnamed_filters = 12;
  EXPECT_TRUE(CheckDamage(damage, "/d", kQuarantine, kRefuseLog)) << "there is no log";
  damage.unusable_segments = 2;
  EXPECT_THAT(VerdictOf(damage, kQuarantine, kRefuseLog),
              AllOf(HasSubstr("the manifest is lost"), HasSubstr("all 12 filter files aside and starts empty"),
                    HasSubstr("sets the log aside")));
  EXPECT_TRUE(CheckDamage(damage, "/d", kQuarantine, kTruncate));
}

TEST(RecoveryDamageTest, NoOptionHelpsAgainstWhatIsHopeless) {
  RecoveryDamage damage;
  damage.hopeless = {{core::ErrorCode::kUnsupported, "17.filter: version 9"},
                     {core::ErrorCode::kOutOfMemory, "18.filter: out of memory"}};
  const core::Status newer = CheckDamage(damage, "/d", kQuarantine, kTruncate);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(newer.error().message,
              AllOf(HasSubstr("17.filter: version 9"), HasSubstr("18.filter: out of memory"),
                    HasSubstr("only a newer server can read"), Not(HasSubstr("accept the loss"))));
  damage.hopeless.erase(damage.hopeless.begin());
  EXPECT_EQ(CheckDamage(damage, "/d", kQuarantine, kTruncate).error().code, core::ErrorCode::kOutOfMemory);
}

TEST(RecoveryDamageTest, OfVeryManyProblemsAThousandAreShown) {
  RecoveryDamage damage;
  for (uint64_t i = 1; i <= 1003; ++i) damage.filters.push_back({i, "file " + std::to_string(i) + " is damaged"});
  EXPECT_THAT(VerdictOf(damage, kRefuseFilters, kRefuseLog),
              AllOf(HasSubstr("1003 filter files"), HasSubstr("file 1000 is damaged\n  and 3 more\n"),
                    Not(HasSubstr("file 1001 is"))));
}

}  // namespace
}  // namespace bitsieve::server
