#include "server/process/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/option_table.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;

constexpr const char* kTimePattern =
    "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9][0-9]Z";

class Logging : public testing::Test {
 protected:
  Logging() {
    options_.logfile =
        testing::TempDir() + "logging_test_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".log";
    std::remove(options_.logfile.c_str());
  }
  ~Logging() override {
    spdlog::set_default_logger(logger_before_);
    std::remove(options_.logfile.c_str());
  }
  std::vector<std::string> Lines() const {
    std::ifstream file(options_.logfile, std::ios::binary);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  config::Options options_;

 private:
  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
};

TEST_F(Logging, TextLines) {
  ASSERT_TRUE(SetUpLogging(options_));
  spdlog::info("listening on {}", 7379);
  spdlog::warn("careful");
  EXPECT_THAT(Lines(), ElementsAre(MatchesRegex(std::string(kTimePattern) + " info listening on 7379"),
                                   MatchesRegex(std::string(kTimePattern) + " warning careful")));
}

TEST_F(Logging, AMessageInTextIsOneLineWhateverItHolds) {
  ASSERT_TRUE(SetUpLogging(options_));
  spdlog::info("{}", std::string("a\n2024-05-01T12:00:00.000Z info forged\r\0\x1b[31m", 42));
  EXPECT_THAT(Lines(), ElementsAre(HasSubstr("a\\x0a2024-05-01T12:00:00.000Z info forged\\x0d\\x00\\x1b")));
}

TEST_F(Logging, JsonLinesAreValidWhateverTheMessageHolds) {
  options_.logformat = "json";
  ASSERT_TRUE(SetUpLogging(options_));
  const std::string awkward = "a \"quoted\"\\\n\t\x01 message, \xc3\xa4";
  spdlog::info("{}", awkward);
  spdlog::error("{}", "not \xff UTF-8");
  const auto lines = Lines();
  ASSERT_THAT(lines, SizeIs(2));
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first.at("message"), awkward);
  EXPECT_EQ(first.at("level"), "info");
  EXPECT_THAT(first.at("time").get<std::string>(), MatchesRegex(kTimePattern));
  EXPECT_EQ(nlohmann::json::parse(lines[1]).at("message"), "not \xef\xbf\xbd UTF-8");
}

TEST_F(Logging, LessSevereMessagesThanTheLevelAreLeftOut) {
  options_.loglevel = "warning";
  ASSERT_TRUE(SetUpLogging(options_));
  spdlog::info("one");
  spdlog::warn("two");
  SetLogLevel("debug");
  spdlog::debug("three");
  SetLogLevel("off");
  spdlog::critical("four");
  EXPECT_THAT(Lines(), ElementsAre(HasSubstr("two"), HasSubstr("three")));
}

TEST_F(Logging, EveryWordOfTheOptionIsALevel) {
  const auto* words = std::get_if<config::OneOf>(&config::FindOption("loglevel")->domain);
  ASSERT_NE(words, nullptr);
  ASSERT_TRUE(SetUpLogging(options_));
  for (const std::string_view word : words->words) {
    SetLogLevel(word);
    const auto name = spdlog::level::to_string_view(spdlog::get_level());
    EXPECT_EQ(std::string_view(name.data(), name.size()), word);
  }
}

TEST_F(Logging, TheFileIsAppendedTo) {
  ASSERT_TRUE(SetUpLogging(options_));
  spdlog::info("one");
  ASSERT_TRUE(SetUpLogging(options_));
  spdlog::info("two");
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(Logging, AFileThatWasMovedIsOpenedAnew) {
  for (const char* const format : {"text", "json"}) {
    options_.logformat = format;
    ASSERT_TRUE(SetUpLogging(options_));
    spdlog::info("one");
    std::filesystem::rename(options_.logfile, options_.logfile + ".1");
    ReopenLog(options_.logfile);
    spdlog::info("two");
    EXPECT_THAT(Lines(), ElementsAre(HasSubstr("Reopened the log file"), HasSubstr("two"))) << format;
    std::filesystem::remove(options_.logfile);
  }
}

TEST_F(Logging, AFileThatCannotBeOpenedIsNamed) {
  options_.logfile = "/proc/no/such.log";
  const core::Status status = SetUpLogging(options_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kIo);
  EXPECT_THAT(status.error().message,
              testing::AllOf(HasSubstr("cannot write the log file"), HasSubstr("/proc/no/such.log"),
                             HasSubstr("No such file or directory")));
}

}  // namespace
}  // namespace bitsieve::server
