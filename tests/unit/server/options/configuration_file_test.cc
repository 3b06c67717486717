#include "server/options/configuration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/captured_log.h"
#include "tests/support/default_settings.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ConfigurationFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string Text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Starts with what the sources say.
  void Start(const std::string& text) {
    Write(text);
    sources_.file = path_;
    StartWithoutFile();
  }
  void StartWithoutFile() {
    const auto loaded = config::Load(sources_);
    ASSERT_TRUE(loaded);
    options_ = std::make_unique<RunTimeOptions>(
        loaded->options,
        [](const config::Options& options, RunTimeOptions::Parts) -> core::Result<RunTimeOptions::Use> {
          if (options.timeout == 666) return core::Fail(core::ErrorCode::kInvalidArgument, "the system cannot");
          return [](const config::Options&) {};
        });
    file_ = std::make_unique<ConfigurationFile>(
        sources_, [](config::Options options) { return options; }, *options_, settings_);
  }
  void Set(const char* name, const char* value) {
    const config::NameAndText pair{name, value};
    ASSERT_TRUE(options_->Set({&pair, 1}));
  }
  std::string Value(const std::string& name) const { return options_->Match(name).front().second; }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/bitsieve.json";
  test::CapturedLog log_;
  test::Default<commands::CommandSettings> settings_;
  config::Sources sources_;
  std::unique_ptr<RunTimeOptions> options_;
  std::unique_ptr<ConfigurationFile> file_;
};

TEST_F(ConfigurationFileTest, ReloadingAppliesAndLogsWhatWasChangedInTheFile) {
  Start(R"({"timeout": 5})");
  Write(R"({"timeout": 30})");
  file_->Reload();
  EXPECT_EQ(Value("timeout"), "30");
  EXPECT_THAT(log_.TakeLines(), ElementsAre("info Configuration: timeout is now 30, it was 5"));
  file_->Reload();
  EXPECT_THAT(log_.TakeLines(), IsEmpty()) << "nothing was changed since";
}

TEST_F(ConfigurationFileTest, ReloadingLeavesWhatWasSetAtRunTime) {
  Start(R"({"timeout": 5})");
  Set("timeout", "30");
  file_->Reload();
  EXPECT_EQ(Value("timeout"), "30");
  Write(R"({"timeout": 7})");
  file_->Reload();
  EXPECT_EQ(Value("timeout"), "7") << "the file was changed for it, too";
}

TEST_F(ConfigurationFileTest, OneProblemAppliesNothingAndAllAreLogged) {
  Start("{}");
  Write(R"({"timeout": 30, "loglevel": "loud", "maxclients": "many"})");
  file_->Reload();
  EXPECT_EQ(Value("timeout"), "0");
  const std::vector<std::string> lines = log_.TakeLines();
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("error "), HasSubstr("loglevel"))));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("error "), HasSubstr("maxclients"))));
  EXPECT_EQ(lines.back(), "error Configuration: not reloaded, all values are unchanged");
}

TEST_F(ConfigurationFileTest, WhatTheSystemRefusesIsNotReloaded) {
  Start("{}");
  Write(R"({"timeout": 666, "loglevel": "debug"})");
  file_->Reload();
  EXPECT_EQ(Value("loglevel"), "info");
  EXPECT_THAT(log_.TakeLines(), ElementsAre("error Configuration: the system cannot",
                                            "error Configuration: not reloaded, all values are unchanged"));
}

TEST_F(ConfigurationFileTest, AnOptionOfTheStartWaitsForTheNextOne) {
  Start(R"({"port": 7000})");
  Write(R"({"port": 7001})");
  file_->Reload();
  EXPECT_EQ(Value("port"), "7000");
  EXPECT_THAT(log_.TakeLines(), ElementsAre(AllOf(StartsWith("warning "), HasSubstr("port stays 7000"))));
}

TEST_F(ConfigurationFileTest, WithoutAFileNothingCanBeRewritten) {
  StartWithoutFile();
  const core::Status status = file_->Rewrite();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kInvalidArgument);
}

TEST_F(ConfigurationFileTest, RewritingKeepsWhatWasSetForTheNextStart) {
  Start(R"({"timeout": 5, "loglevel": "debug"})");
  Set("timeout", "30");
  Set("tcp-keepalive", "60");
  ASSERT_TRUE(file_->Rewrite());
  const auto loaded = config::Load(sources_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->options.timeout, 30U);
  EXPECT_EQ(loaded->options.tcp_keepalive, 60U);
  EXPECT_EQ(loaded->options.loglevel, "debug");

  const std::string text = Text();
  ASSERT_TRUE(file_->Rewrite());
  EXPECT_EQ(Text(), text) << "nothing was set since";
  log_.TakeLines();
  file_->Reload();
  EXPECT_THAT(log_.TakeLines(), IsEmpty()) << "the file says what is in use";
}

TEST_F(ConfigurationFileTest, AnInvalidFileIsLeftAsItIs) {
  Start("{}");
  Set("timeout", "30");
  Write("{\"timeout\": ");
  const core::Status status = file_->Rewrite();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr(path_));
  EXPECT_EQ(Text(), "{\"timeout\": ");
}

TEST_F(ConfigurationFileTest, AFileThatIsGoneIsNotMadeAgain) {
  Start("{}");
  Set("timeout", "30");
  std::filesystem::remove(path_);
  const core::Status status = file_->Rewrite();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kIo);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ConfigurationFileTest, AValueThatTheNextStartWouldNotReadIsWarnedOf) {
  sources_.environment = {{"BITSIEVE_TIMEOUT", "5"}};
  Start("{}");
  Set("timeout", "30");
  ASSERT_TRUE(file_->Rewrite());
  EXPECT_THAT(log_.TakeLines(),
              Contains(AllOf(StartsWith("warning "), HasSubstr("timeout will be 5"), HasSubstr("BITSIEVE_TIMEOUT"))));
}

}  // namespace
}  // namespace bitsieve::server
