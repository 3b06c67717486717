#include "server/options/run_time_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bitsieve::server {
namespace {

using config::AppliedBy;
using config::NameAndText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RunTimeOptionsTest : public ::testing::Test {
 protected:
  core::Result<RunTimeOptions::Use> Prepare(const config::Options& options, RunTimeOptions::Parts parts) {
    prepared_.assign(parts.begin(), parts.end());
    if (options.timeout == kRefused) return core::Fail(core::ErrorCode::kInvalidArgument, "the system cannot");
    return [this](const config::Options& values) { committed_.push_back(values); };
  }
  core::Outcome<void, config::RefusedPair> Set(const std::vector<NameAndText>& pairs) { return options_.Set(pairs); }
  std::string Value(const std::string& name) const {
    const auto found = options_.Match(name);
    return found.size() == 1 ? found.front().second : "";
  }

  static constexpr uint32_t kRefused = 666;
  std::vector<AppliedBy> prepared_;         // by the last call
  std::vector<config::Options> committed_;  // in their order
  RunTimeOptions options_{config::Options{}, [this](const config::Options& options, RunTimeOptions::Parts parts) {
                            return Prepare(options, parts);
                          }};
};

TEST_F(RunTimeOptionsTest, AChangeReachesThePartsOfItsOptionsAlone) {
  ASSERT_TRUE(Set({{"timeout", "30"}, {"tcp-keepalive", "60"}, {"loglevel", "debug"}}));
  EXPECT_THAT(prepared_, UnorderedElementsAre(AppliedBy::kNetwork, AppliedBy::kLog));
  ASSERT_EQ(committed_.size(), 1u);
  EXPECT_EQ(committed_[0].timeout, 30u);
  EXPECT_EQ(committed_[0].loglevel, "debug");
  EXPECT_EQ(Value("timeout"), "30");
}

TEST_F(RunTimeOptionsTest, AnAliasBelongsToThePartOfItsOption) {
  ASSERT_TRUE(Set({{"bf-error-rate", "0.002"}}));
  EXPECT_THAT(prepared_, ElementsAre(AppliedBy::kCommands));
}

TEST_F(RunTimeOptionsTest, TheValueThatAnOptionHasIsPreparedAnewSinceItsFileMayBeAnother) {
  ASSERT_TRUE(Set({{"tls-cert-file", ""}}));
  EXPECT_THAT(prepared_, ElementsAre(AppliedBy::kTls));
  EXPECT_EQ(committed_.size(), 1u);
}

TEST_F(RunTimeOptionsTest, WhatCannotBePreparedIsNotCommittedAndChangesNothing) {
  const auto refused = Set({{"loglevel", "debug"}, {"timeout", "666"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().index, 1u);
  EXPECT_EQ(refused.error().reason, "the system cannot");
  EXPECT_THAT(committed_, IsEmpty());
  EXPECT_EQ(Value("loglevel"), "info");
  EXPECT_EQ(Value("timeout"), "0");
}

TEST_F(RunTimeOptionsTest, WhatTheTableRefusesIsNotPrepared) {
  const auto refused = Set({{"timeout", "30"}, {"port", "7000"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().index, 1u);
  EXPECT_THAT(refused.error().reason, HasSubstr("cannot be changed at run time"));
  EXPECT_THAT(prepared_, IsEmpty());
  EXPECT_EQ(Value("timeout"), "0");
}

TEST_F(RunTimeOptionsTest, AReadingAppliesWhatTheConfigurationChanged) {
  ASSERT_TRUE(Set({{"loglevel", "debug"}}));
  config::Options configured;
  configured.timeout = 30;
  configured.port = 7000;
  const auto reloaded = options_.Reload(configured);
  ASSERT_TRUE(reloaded) << reloaded.error();
  EXPECT_THAT(prepared_, ElementsAre(AppliedBy::kNetwork));
  ASSERT_EQ(reloaded->applied.size(), 1u);
  EXPECT_EQ(reloaded->applied[0].row->name, "timeout");
  ASSERT_EQ(reloaded->at_restart.size(), 1u);
  EXPECT_EQ(reloaded->at_restart[0].row->name, "port");
  EXPECT_EQ(committed_.back().timeout, 30u);
  EXPECT_EQ(committed_.back().loglevel, "debug") << "what was set at run time stays";
}

TEST_F(RunTimeOptionsTest, AReadingThatIsRefusedChangesNothing) {
  config::Options configured;
  configured.loglevel = "debug";
  configured.timeout = kRefused;
  const auto reloaded = options_.Reload(configured);
  ASSERT_FALSE(reloaded);
  EXPECT_EQ(reloaded.error(), "the system cannot");
  EXPECT_THAT(committed_, IsEmpty());
  EXPECT_EQ(Value("loglevel"), "info");
}

TEST_F(RunTimeOptionsTest, WhatWasWrittenIntoTheConfigurationIsNoLongerChanged) {
  ASSERT_TRUE(Set({{"loglevel", "debug"}}));
  const RunTimeOptions::SetAtRunTime changed = options_.ChangedSinceConfigured();
  ASSERT_EQ(changed.rows.size(), 1u);
  EXPECT_EQ(changed.rows[0]->name, "loglevel");
  options_.SetConfigured(changed);
  EXPECT_THAT(options_.ChangedSinceConfigured().rows, IsEmpty());
}

}  // namespace
}  // namespace bitsieve::server
