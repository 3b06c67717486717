#include "config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/option_table.h"

namespace bitsieve::config {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::pair<std::string, std::string>> Parse(const std::string& line) {
  CLI::App app;
  Flags flags;
  flags.AddTo(app);
  app.parse(line);
  std::vector<std::pair<std::string, std::string>> given;
  for (const auto& [row, value] : flags.ToSources().flags) given.emplace_back(row->name, value);
  return given;
}

TEST(Flags, OnlyThoseGivenAreTold) {
  EXPECT_THAT(Parse(""), IsEmpty());
  EXPECT_THAT(Parse("--port 1 --maxmemory=1gb"),
              testing::ElementsAre(testing::Pair("port", "1"), testing::Pair("maxmemory", "1gb")));
}

TEST(Flags, ValuesReachTheTableUnread) {
  EXPECT_THAT(Parse("--port=-1"), testing::ElementsAre(testing::Pair("port", "-1")));
  EXPECT_THAT(Parse("--port abc"), testing::ElementsAre(testing::Pair("port", "abc")));
}

TEST(Flags, UnknownAndRepeatedFlagsAreRefused) {
  EXPECT_THROW(Parse("--prot 1"), CLI::ExtrasError);
  EXPECT_THROW(Parse("--port"), CLI::ArgumentMismatch);
  EXPECT_THROW(Parse("--port 1 --port 2"), CLI::ArgumentMismatch);
}

TEST(Flags, TheFileIsNamed) {
  CLI::App app;
  Flags flags;
  flags.AddTo(app);
  app.parse("--config x.json");
  EXPECT_EQ(flags.ToSources().file, "x.json");
}

TEST(Flags, HelpShowsEveryOptionWithItsGroupAndDefault) {
  CLI::App app;
  Flags flags;
  flags.AddTo(app);
  const std::string help = app.help();
  for (const OptionRow& row : OptionTable()) {
    EXPECT_THAT(help, HasSubstr("--" + std::string(row.name)));
    EXPECT_THAT(help, HasSubstr(std::string(row.group) + ":"));
  }
  EXPECT_THAT(help, HasSubstr("[7379]"));
  EXPECT_THAT(help, HasSubstr("[256mb]"));
}

}  // namespace
}  // namespace bitsieve::config
