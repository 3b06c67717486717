#include "server/commands/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;

class HelpTest : public testing::Test, protected test::CommandFixture {};

TEST_F(HelpTest, EveryCommandWithSubcommandsHasIt) {
  size_t containers = 0;
  for (const CommandRow* row : AllCommands().rows()) {
    if (row->subcommands.empty()) continue;
    ++containers;
    const std::string help = Reply({std::string(row->name), "HELP"});
    EXPECT_EQ(help.substr(0, help.find('\r')), "*" + std::to_string(1 + 2 * row->subcommands.size())) << row->name;
    for (const CommandRow& subcommand : row->subcommands) {
      EXPECT_THAT(help, HasSubstr("\r\n+    " + std::string(subcommand.summary) + "\r\n")) << subcommand.name;
    }
  }
  EXPECT_GE(containers, 6U);
}

TEST_F(HelpTest, IsLaidOutAsByRedis) {
  EXPECT_EQ(Reply({"MODULE", "HELP"}),
            "*5\r\n+MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n+HELP\r\n"
            "+    Lists the subcommands: a line for the arguments of each and one for what it does.\r\n+LIST\r\n"
            "+    Returns what a server with RedisBloom returns, so that clients find BF.*.\r\n");
  EXPECT_THAT(Reply({"memory", "help"}), HasSubstr("\r\n+USAGE key [SAMPLES count]\r\n+    "));
  EXPECT_EQ(Reply({"MEMORY", "HELP", "more"}), "-ERR wrong number of arguments for 'memory|help' command\r\n");
}

}  // namespace
}  // namespace bitsieve::server
