#include "cli/bulk/load_progress.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace bitsieve::cli {
namespace {

using std::chrono::seconds;

class LoadProgressTest : public testing::Test {
 protected:
  LoadProgress Make(LoadProgress::Form form, uint64_t total_bytes) {
    return {form, total_bytes, output_, [this] { return now_; }};
  }
  // Returns the JSON object that was written since the last call; null if there was none.
  nlohmann::json Shown() {
    const std::string text = output_.str();
    output_.str("");
    return text.empty() ? nlohmann::json() : nlohmann::json::parse(text);
  }
  std::string Text() {
    std::string text = output_.str();
    output_.str("");
    return text;
  }

  std::ostringstream output_;
  LoadProgress::Clock::time_point now_{};
};

TEST_F(LoadProgressTest, CountingIsShownAndDoesNotSlowTheRateOfLoading) {
  LoadProgress progress = Make(LoadProgress::Form::kJson, 4000);
  progress.Begin(LoadProgress::Phase::kCounting);
  now_ += seconds(10);
  progress.Show({.read = 500}, 1000);
  nlohmann::json counting = Shown();
  EXPECT_EQ(counting["phase"], "counting");
  EXPECT_EQ(counting["items_per_second"], 50.0);
  EXPECT_EQ(counting["seconds_left"], 30.0);
  EXPECT_FALSE(counting.contains("new"));

  now_ += seconds(30);
  progress.Begin(LoadProgress::Phase::kLoading);
  now_ += seconds(4);
  progress.Show({.read = 800, .added = 800}, 1600);
  nlohmann::json loading = Shown();
  EXPECT_EQ(loading["phase"], "loading");
  EXPECT_EQ(loading["items_per_second"], 200.0);
  EXPECT_EQ(loading["seconds_left"], 6.0);
  EXPECT_EQ(loading["new"], 800);
  EXPECT_EQ(progress.seconds(), 44.0);
}

TEST_F(LoadProgressTest, WhatAnEarlierLoadDidIsNoneOfTheRate) {
  LoadProgress progress = Make(LoadProgress::Form::kJson, 2000);
  progress.Begin(LoadProgress::Phase::kLoading);
  progress.Skip(400, 800);  // of the first file, of 1000 bytes
  now_ += seconds(2);
  progress.Show({.read = 500}, 1000);
  EXPECT_EQ(Shown()["items_per_second"], 50.0);
  progress.Skip(300, 600);  // of the second
  now_ += seconds(2);
  progress.Show({.read = 900}, 1800);
  const nlohmann::json second = Shown();
  EXPECT_EQ(second["items_per_second"], 50.0);
  EXPECT_EQ(second["seconds_left"], 2.0);
}

TEST_F(LoadProgressTest, ABarNamesTheCounting) {
  LoadProgress progress = Make(LoadProgress::Form::kBar, 1000);
  progress.Begin(LoadProgress::Phase::kCounting);
  now_ += seconds(1);
  Text();
  progress.Show({.read = 100}, 250);
  EXPECT_EQ(Text(), "\r\033[Kcounting:  25% [######..................] 100 items, 100/s, 0:03 left");
  progress.Begin(LoadProgress::Phase::kLoading);
  now_ += seconds(1);
  Text();
  progress.Show({.read = 500, .refused = 2}, 500);
  EXPECT_EQ(Text(), "\r\033[K 50% [############............] 500 items, 500/s, 0:01 left, 2 refused");
  progress.End();
  EXPECT_EQ(Text(), "\r\033[K");
}

TEST_F(LoadProgressTest, IsShownNowAndThenAndQuietlyNever) {
  LoadProgress progress = Make(LoadProgress::Form::kJson, 0);
  now_ += std::chrono::milliseconds(1999);
  progress.Show({.read = 1}, 1);
  EXPECT_EQ(Text(), "");
  LoadProgress quiet = Make(LoadProgress::Form::kNone, 0);
  now_ += seconds(100);
  quiet.Show({.read = 1}, 1);
  EXPECT_EQ(Text(), "");
}

}  // namespace
}  // namespace bitsieve::cli
