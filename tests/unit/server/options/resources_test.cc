#include "server/options/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "server/process/machine_memory.h"
#include "tests/support/captured_log.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// No system has descriptors for so many.
constexpr uint32_t kTooManyClients = std::numeric_limits<uint32_t>::max();

TEST(Resources, AutomaticMemoryLeavesAFifthOfTheMachine) {
  config::Options options;
  options.maxmemory = config::kAutomatic;
  const uint64_t bytes = MaxMemoryOf(options);
  EXPECT_GT(bytes, 0U);
  EXPECT_LE(bytes, MachineMemory() - MachineMemory() / 5);
  for (const uint64_t given : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 60}) {
    options.maxmemory = given;
    EXPECT_EQ(MaxMemoryOf(options), given) << "it was chosen, even if there is less";
  }
}

TEST(Resources, ClientsAreLimitedToWhatThereAreDescriptorsFor) {
  config::Options options;
  options.maxclients = kTooManyClients;
  const core::Status refused = CheckAffordable(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kInvalidArgument);

  const config::Options resolved = Resolved(options);
  EXPECT_GE(resolved.maxclients, 1U);
  EXPECT_LT(resolved.maxclients, kTooManyClients);
  EXPECT_THAT(refused.error().message, HasSubstr("for " + std::to_string(resolved.maxclients) + " clients"));
  EXPECT_TRUE(CheckAffordable(resolved));
}

TEST(Resources, OnlyTheTwoThatDependOnTheMachineAreResolved) {
  config::Options options;
  options.maxclients = 1;
  options.timeout = 77;
  options.maxmemory = 1 << 20;
  const config::Options resolved = Resolved(options);
  EXPECT_EQ(resolved.maxclients, 1U);
  EXPECT_EQ(resolved.timeout, 77U);
  EXPECT_EQ(resolved.maxmemory, 1U << 20);
}

TEST(Resources, AStartLogsWhatWasChosenOrLowered) {
  test::CapturedLog log;
  config::Options options;
  options.maxclients = 1;
  options.maxmemory = 1 << 20;
  ResolvedAtStart(options);
  EXPECT_THAT(log.TakeLines(), IsEmpty()) << "all was as given";

  options.maxclients = kTooManyClients;
  options.maxmemory = config::kAutomatic;
  const config::Options resolved = ResolvedAtStart(options);
  EXPECT_THAT(log.TakeLines(),
              ElementsAre(AllOf(StartsWith("info "), HasSubstr(std::to_string(resolved.maxmemory) + " bytes")),
                          AllOf(StartsWith("warning "),
                                HasSubstr("maxclients is now " + std::to_string(resolved.maxclients)))));
}

class QuotaResources : public ::testing::Test {
 protected:
  void Define(const std::string& text) { quotas_.Define(*config::ParseQuotas(text)); }

  core::MemoryBudget memory_{1000};
  Quotas quotas_{memory_};
  test::CapturedLog log_;
};

TEST_F(QuotaResources, OnlyTheLimitsOfQuotasMayChange) {
  Define("a* 10 1000 b* 20 0");
  config::Options options;
  options.quota = "a* 11 0 b* 0 5";
  EXPECT_TRUE(CheckQuotas(options, quotas_));
  for (const char* other : {"", "a* 10 1000", "b* 20 0 a* 10 1000", "a* 10 1000 c* 20 0"}) {
    options.quota = other;
    const core::Status refused = CheckQuotas(options, quotas_);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code, core::ErrorCode::kInvalidArgument);
  }
}

TEST_F(QuotaResources, WhatIsWithinItsLimitsIsNotWarnedOf) {
  Define("a* 1 500");
  quotas_.SetLimits(*config::ParseQuotas("a* 1 500"));
  ASSERT_TRUE(quotas_.TryAddName(1));
  ASSERT_TRUE(quotas_.MemoryOf(1).TryTake(500));
  WarnOfExceededLimits(memory_, quotas_);
  EXPECT_THAT(log_.TakeLines(), IsEmpty());
  quotas_.MemoryOf(1).GiveBack(500);
}

TEST_F(QuotaResources, WhatExceedsALimitThatWasLoweredIsWarnedOf) {
  Define("a* 0 0 b* 0 0");
  ASSERT_TRUE(quotas_.MemoryOf(2).TryTake(900));
  memory_.set_limit_bytes(899);
  quotas_.SetLimits(*config::ParseQuotas("a* 1 0 b* 0 899"));
  WarnOfExceededLimits(memory_, quotas_);
  EXPECT_THAT(log_.TakeLines(),
              ElementsAre(AllOf(StartsWith("warning "), HasSubstr("900 bytes, more than maxmemory, 899")),
                          AllOf(StartsWith("warning "), HasSubstr("names like b* take 900 bytes"))));
  quotas_.MemoryOf(2).GiveBack(900);
}

}  // namespace
}  // namespace bitsieve::server
