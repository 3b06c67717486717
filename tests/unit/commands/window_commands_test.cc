// BF.* on filters that forget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/families/window/window_type.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;

TEST(WindowText, ReadsItemsAndDurations) {
  const auto items = [](uint64_t n) { return core::WindowSpan{.items = n}; };
  const auto ms = [](uint64_t n) { return core::WindowSpan{.duration_ms = n}; };
  EXPECT_EQ(core::ParseWindow("1"), items(1));
  EXPECT_EQ(core::ParseWindow("1073741824"), items(1073741824));
  EXPECT_EQ(core::ParseWindow("500ms"), ms(500));
  EXPECT_EQ(core::ParseWindow("90s"), ms(90'000));
  EXPECT_EQ(core::ParseWindow("30M"), ms(1'800'000));
  EXPECT_EQ(core::ParseWindow("24h"), ms(86'400'000));
  EXPECT_EQ(core::ParseWindow("7d"), ms(604'800'000));
  EXPECT_EQ(core::ParseWindow("3650d"), ms(core::kMaxWindowMs));
  for (const char* bad : {"", "0", "0s", "-1", "1073741825", "99ms", "3651d", "1y", "1.5h", "h", "24 h", "1h30m", "+5",
                          "007", "18446744073709551616s", "99999999999999999d"}) {
    EXPECT_EQ(core::ParseWindow(bad), std::nullopt) << bad;
  }
}

TEST(WindowText, TellsTheShortestForm) {
  for (const char* text : {"1000000", "500ms", "90s", "30m", "24h", "25h", "7d"}) {
    const std::string expected = std::string(text) == "24h" ? "1d" : text;
    EXPECT_EQ(core::WindowText(*core::ParseWindow(text)), expected);
  }
}

class WindowCommands : public testing::Test, protected test::CommandFixture {};

using test::kOk;

TEST_F(WindowCommands, ReserveMakesOneOfItems) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.000001", "3", "TYPE", "window", "WINDOW", "3"}), kOk);
  EXPECT_EQ(Reply({"BF.MADD", "f", "a", "b", "c"}), "*3\r\n:1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "a", "b", "c"}), "*3\r\n:1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.MADD", "f", "d", "e", "f", "g", "a"}), "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":4\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "WINDOW"}), "*1\r\n$1\r\n3\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "GENERATIONS"}), "*1\r\n:4\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "OLDEST"}), "*1\r\n:4\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "EXPANSION"}), "*1\r\n$-1\r\n");
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), kOk);
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "a"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "WINDOW"}), "*1\r\n$1\r\n3\r\n");
}

TEST_F(WindowCommands, ReserveMakesOneOfTime) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "1000", "WINDOW", "24h", "TYPE", "WINDOW", "NONSCALING"}), kOk);
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "WINDOW"}), "*1\r\n$2\r\n1d\r\n");
  EXPECT_THAT(Reply({"BF.INFO", "f", "FULL"}), HasSubstr("+Window\r\n$2\r\n1d\r\n+Oldest age\r\n"));
}

TEST_F(WindowCommands, ABurstBeyondTheWindowIsAnErrorOfEachItem) {
  Reply({"BF.RESERVE", "f", "0.000000001", "3", "TYPE", "window", "WINDOW", "1h"});
  EXPECT_EQ(Reply({"BF.MADD", "f", "1", "2", "3", "4", "5", "6", "7", "6"}),
            "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"
            "-ERR window is full: more than its capacity arrived within the window\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "8"}), "-ERR window is full: more than its capacity arrived within the window\r\n");
}

TEST_F(WindowCommands, ContradictionsAreErrors) {
  const auto reserve = [&](test::Words options) {
    test::Words words{"BF.RESERVE", "f", "0.01", "100"};
    words.insert(words.end(), options.begin(), options.end());
    return Reply(words);
  };
  EXPECT_EQ(reserve({"TYPE", "window"}),
            "-ERR a window filter needs WINDOW, with a number of items or a duration such as 24h\r\n");
  EXPECT_EQ(reserve({"WINDOW", "100"}), "-ERR WINDOW is for TYPE window only\r\n");
  EXPECT_EQ(reserve({"TYPE", "window", "WINDOW"}), "-ERR no window\r\n");
  EXPECT_THAT(reserve({"TYPE", "window", "WINDOW", "soon"}), HasSubstr("-ERR bad window: it must be"));
  EXPECT_EQ(reserve({"TYPE", "window", "WINDOW", "50"}),
            "-ERR a window of 50 items must have the capacity 50, not 100\r\n");
  EXPECT_EQ(reserve({"TYPE", "window", "WINDOW", "100", "EXPANSION", "2"}),
            "-ERR a window filter does not grow: omit EXPANSION\r\n");
  EXPECT_EQ(reserve({"TYPE", "window", "WINDOW", "100", "EXPANSION", "0"}), kOk);
  EXPECT_EQ(reserve({"TYPE", "window", "WINDOW", "100", "IFNOTEXISTS"}), kOk);
  EXPECT_EQ(reserve({"TYPE", "window", "WINDOW", "1h", "IFNOTEXISTS"}),
            "-ERR item exists with a different window: it has 100, not 1h\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "other", "WINDOW"}), "-ERR not found\r\n");
  Reply({"BF.ADD", "other", "x"});
  EXPECT_EQ(Reply({"BF.INFO", "other", "WINDOW"}), "-Invalid information value\r\n");
}

TEST_F(WindowCommands, InsertMakesThemToo) {
  EXPECT_EQ(Reply({"BF.INSERT", "n", "TYPE", "window", "WINDOW", "1000", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "n", "CAPACITY"}), "*1\r\n:1000\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "t", "TYPE", "window", "WINDOW", "1h", "ITEMS", "x"}),
            "-ERR a window of time needs CAPACITY, the items expected within it\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "t", "CAPACITY", "500", "TYPE", "window", "WINDOW", "1h", "ITEMS", "x"}),
            "*1\r\n:1\r\n");
}

}  // namespace
}  // namespace bitsieve::server
