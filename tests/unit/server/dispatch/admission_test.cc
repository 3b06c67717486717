// Commands that are refused with any arguments: changes while they cannot be logged, and nearly everything while the
// filters are being loaded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kNotLogged =
    "-MISCONF Errors writing to the disk: log/7: No space left?on device. Commands that change data are refused until "
    "the disk can be written again; lookups still work. See the server's log.\r\n";
constexpr const char* kNotLoaded = "-LOADING Bitsieve is loading its filters into memory\r\n";

// Returns a command with as many arguments as it must have.
Words CommandOf(const CommandRow& row) {
  Words words(static_cast<size_t>(std::abs(row.arity)), "x");
  words[0] = row.name;
  return words;
}

class AdmissionTest : public testing::Test, protected CommandFixture {};

TEST_F(AdmissionTest, WhatCannotBeLoggedIsNotDone) {
  Reply({"BF.ADD", "f", "a"});
  durability.in_trouble = true;
  for (const CommandRow* row : AllCommands().rows()) {
    if (row->flags & kWrite) {
      EXPECT_EQ(Reply(CommandOf(*row)), kNotLogged) << row->name;
    }
  }
  EXPECT_FALSE(outcome.wrote);
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":1\r\n");
  durability.in_trouble = false;
  EXPECT_EQ(Reply({"BF.ADD", "f", "b"}), ":1\r\n");
}

TEST_F(AdmissionTest, ReadsAndSavesGoOnWhileNothingCanBeLogged) {
  Reply({"BF.ADD", "f", "a"});
  durability.in_trouble = true;
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "a"},
                     {"BF.MEXISTS", "f", "a", "b"},
                     {"PING"},
                     {"CONFIG", "SET", "timeout", "1"},
                     {"BGSAVE"}}),
            ":1\r\n*2\r\n:1\r\n:0\r\n+PONG\r\n+OK\r\n+Background saving started\r\n");
}

TEST_F(AdmissionTest, NamesAreNotLongerThanTheLogCanTake) {
  const std::string longest(kMaxNameBytes, 'n');
  const std::string longer = longest + "n";
  settings.max_name_bytes = kMaxNameBytes;
  const std::string error =
      "-ERR a name of 1048577 bytes is too long: at most 1048576 are allowed (option max-name-bytes)\r\n";
  EXPECT_EQ(Reply({"BF.ADD", longest, "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.ADD", longer, "a"}), error);
  EXPECT_EQ(Reply({"RENAME", longest, longer}), error);
  EXPECT_EQ(Reply({"BF.EXISTS", longer, "a"}), ":0\r\n");
}

TEST_F(AdmissionTest, LongNamesThatExistCanBeUsedAndLeft) {
  const std::string longest(kMaxNameBytes, 'n');
  settings.max_name_bytes = kMaxNameBytes;
  EXPECT_EQ(Reply({"BF.ADD", longest, "a"}), ":1\r\n");
  settings.max_name_bytes = 64 * 1024;
  const std::string error =
      "-ERR a name of 65537 bytes is too long: at most 65536 are allowed (option max-name-bytes)\r\n";
  const std::string longer(64 * 1024 + 1, 'm');
  EXPECT_EQ(Reply({"BF.ADD", longer, "a"}), error);
  EXPECT_EQ(Reply({"COPY", longest, longer}), error);
  EXPECT_EQ(Reply({"RENAME", longest, longer}), error);
  EXPECT_EQ(Reply({"BF.ADD", longer.substr(1), "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.ADD", longest, "b"}), ":1\r\n");
  EXPECT_EQ(Reply({"RENAME", longest, "short"}), "+OK\r\n");
  EXPECT_EQ(Reply({"RENAME", "short", longest}).substr(0, 5), "-ERR ");
  EXPECT_EQ(Reply({"DEL", "short"}), ":1\r\n");
}

// A run of commands of one item skips admission when all is well.
TEST_F(AdmissionTest, ARunOfAddsIsRefusedAmidReads) {
  Reply({"BF.ADD", "f", "a"});
  durability.in_trouble = true;
  const std::string refused = kNotLogged;
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "a"}, {"BF.ADD", "f", "b"}, {"BF.ADD", "f", "c"}, {"BF.EXISTS", "f", "b"}}),
            ":1\r\n" + refused + refused + ":0\r\n");
  EXPECT_EQ(stats.Sum(&LoopStats::error_replies), 2u);
}

TEST_F(AdmissionTest, AChangeThatCannotBeLoggedFailsItsTransaction) {
  durability.in_trouble = true;
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "a"}, {"PING"}, {"EXEC"}}),
            std::string("+OK\r\n") + kNotLogged +
                "+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n");
}

TEST_F(AdmissionTest, ATransactionWhoseChangesCanNoLongerBeLoggedIsDiscardedWhole) {
  Replies({{"MULTI"}, {"PING"}, {"BF.ADD", "f", "a"}});
  durability.in_trouble = true;
  EXPECT_THAT(Reply({"EXEC"}), StartsWith("-EXECABORT Transaction discarded because of: MISCONF Errors writing"));
  EXPECT_EQ(Replies({{"EXISTS", "f"}, {"MULTI"}, {"EXISTS", "f"}, {"EXEC"}}), ":0\r\n+OK\r\n+QUEUED\r\n*1\r\n:0\r\n");
}

TEST_F(AdmissionTest, OnlyChangesMakeRepliesWait) {
  Reply({"BF.ADD", "f", "a"});
  EXPECT_TRUE(outcome.wrote) << "made";
  Replies({{"PING"}, {"BF.EXISTS", "f", "a"}, {"BF.ADD", "f", "b"}, {"BF.EXISTS", "f", "a"}});
  EXPECT_TRUE(outcome.wrote) << "prepared";
  Replies({{"MULTI"}, {"BF.ADD", "f", "c"}});
  EXPECT_FALSE(outcome.wrote) << "queued";
  Reply({"EXEC"});
  EXPECT_TRUE(outcome.wrote) << "within EXEC";
  Replies({{"BF.EXISTS", "f", "a"}, {"BF.ADD", "f"}, {"SAVE"}});
  EXPECT_FALSE(outcome.wrote) << "no change was tried";
}

TEST_F(AdmissionTest, WhileLoadingWhatNeedsFiltersIsRefused) {
  stats.loading_since_unix_s = 1'700'000'000;
  for (const CommandRow* row : AllCommands().rows()) {
    if (!(row->flags & kLoading) && row->subcommands.empty()) {
      EXPECT_EQ(Reply(CommandOf(*row)), kNotLoaded) << row->name;
    }
  }
  EXPECT_EQ(Reply({"MEMORY", "USAGE", "f"}), kNotLoaded);
  EXPECT_EQ(Reply({"PING", "x"}), kNotLoaded);
}

// Prepared commands skip admission.
TEST_F(AdmissionTest, WhileLoadingNothingIsPrepared) {
  Reply({"BF.ADD", "f", "a"});
  stats.loading_since_unix_s = 1'700'000'000;
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "a"}, {"BF.ADD", "f", "b"}}), std::string(kNotLoaded) + kNotLoaded);
  stats.loading_since_unix_s = 0;
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":1\r\n");
}

TEST_F(AdmissionTest, WhileLoadingConnectionsAreMadeAndTheOperatorIsHeard) {
  stats.loading_since_unix_s = 1'700'000'000;
  EXPECT_THAT(Reply({"HELLO", "2"}), StartsWith("*"));
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), HasSubstr("id=7"));
  EXPECT_EQ(Replies({{"CLIENT", "SETNAME", "me"}, {"SELECT", "0"}, {"CONFIG", "SET", "timeout", "1"}, {"RESET"}}),
            "+OK\r\n+OK\r\n+OK\r\n+RESET\r\n");
  EXPECT_THAT(Reply({"COMMAND", "INFO", "INFO"}), HasSubstr("+loading"));
  const std::string info = Reply({"INFO", "persistence"});
  EXPECT_THAT(info, HasSubstr("loading:1\r\nasync_loading:0\r\nloading_start_time:1700000000\r\n"));
  EXPECT_EQ(Reply({"SHUTDOWN", "NOSAVE"}), "");
  EXPECT_EQ(control.shutdowns, std::vector<bool>{false});
}

TEST_F(AdmissionTest, WhileLoadingATransactionFailsAtItsFirstCommand) {
  stats.loading_since_unix_s = 1'700'000'000;
  EXPECT_EQ(Replies({{"MULTI"}, {"BF.ADD", "f", "a"}, {"DISCARD"}, {"MULTI"}, {"PING"}, {"EXEC"}}),
            std::string("+OK\r\n") + kNotLoaded + "+OK\r\n+OK\r\n" + kNotLoaded +
                "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

TEST_F(AdmissionTest, InfoTellsOfTheLog) {
  EXPECT_THAT(Reply({"INFO", "persistence"}),
              HasSubstr("aof_enabled:0\r\naof_rewrite_in_progress:0\r\naof_last_write_status:ok\r\n\r\n"));
  control.log = {.enabled = true,
                 .position = 1000,
                 .durable_position = 400,
                 .waiting_bytes = 25,
                 .segments_bytes = 900,
                 .oldest_unwritten_ms = 7};
  const std::string info = Reply({"INFO", "persistence"});
  EXPECT_THAT(info, HasSubstr("aof_enabled:1\r\n"));
  EXPECT_THAT(
      info,
      HasSubstr("aof_current_size:900\r\naof_buffer_length:25\r\naof_oldest_unwritten_ms:7\r\naof_pending_bytes:600\r\n"
                "log_position:1000\r\nlog_durable_position:400\r\n"));
  EXPECT_THAT(info, Not(HasSubstr("loading_start_time")));
  control.log.in_trouble = true;
  control.log.trouble = "log/7: No space left on device";
  EXPECT_THAT(Reply({"INFO", "persistence"}),
              HasSubstr("aof_last_write_status:err\r\nlog_trouble:log/7: No space left on device\r\n"));
}

}  // namespace
}  // namespace bitsieve::server
