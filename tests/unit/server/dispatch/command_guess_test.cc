#include "server/dispatch/command_guess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::EndsWith;
using testing::StartsWith;

class CommandGuessTest : public testing::Test, protected test::CommandFixture {};

TEST_F(CommandGuessTest, CommandsOnValuesAreToldWhatThisServerHolds) {
  constexpr const char* kRest =
      ": this server holds filters, not values; add items with BF.ADD and look them up with BF.EXISTS\r\n";
  for (const char* command : {"GET", "set", "MGET", "INCR", "hset", "SADD", "LPUSH"}) {
    EXPECT_EQ(Reply({command, "a", "b c"}), "-ERR unknown command '" + std::string(command) + "'" + kRest);
  }
}

TEST_F(CommandGuessTest, SimilarNamesAreNamed) {
  EXPECT_EQ(Reply({"BF.EXIST", "f", "x"}), "-ERR unknown command 'BF.EXIST', did you mean BF.EXISTS?\r\n");
  EXPECT_EQ(Reply({"bf.reseve", "f"}), "-ERR unknown command 'bf.reseve', did you mean BF.RESERVE?\r\n");
  EXPECT_EQ(Reply({"PNG"}), "-ERR unknown command 'PNG', did you mean PING?\r\n");
}

TEST_F(CommandGuessTest, ElseTheArgumentsAreQuotedAsByRedis) {
  EXPECT_EQ(Reply({"NOSUCH", "a", "b c"}), "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b c' \r\n");
  EXPECT_EQ(Reply({"x\r\ny"}), "-ERR unknown command 'x  y', with args beginning with: \r\n");
  EXPECT_EQ(Reply({""}), "-ERR unknown command '', with args beginning with: \r\n");
  // Clients take these errors for what they are: no cluster, no sentinel, no scripts.
  for (const char* command : {"CLUSTER", "SENTINEL", "EVAL", "SCRIPT", "REPLCONF", "PSYNC", "FCALL"}) {
    EXPECT_EQ(Reply({command, "x"}),
              "-ERR unknown command '" + std::string(command) + "', with args beginning with: 'x' \r\n");
  }
}

// Fallbacks of clients depend on it.
TEST_F(CommandGuessTest, EveryErrorBeginsAsClientsExpect) {
  for (const CommandRow* row : AllCommands().rows()) {
    const std::string misspelt = std::string(row->name) + "z";
    EXPECT_THAT(Reply({misspelt}), StartsWith("-ERR unknown command '" + misspelt + "'"));
  }
  EXPECT_THAT(Reply({std::string(100'000, 'x'), std::string(100'000, 'y')}),
              testing::AllOf(StartsWith("-ERR unknown command 'xxx"), EndsWith("y' \r\n"),
                             testing::ResultOf([](const std::string& s) { return s.size(); }, testing::Lt(400U))));
}

}  // namespace
}  // namespace bitsieve::server
