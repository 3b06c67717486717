#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ServerCommandsTest : public testing::Test, protected CommandFixture {};

TEST_F(ServerCommandsTest, InfoHasWhatToolsRead) {
  Reply({"BF.ADD", "f", "x"});
  control.snapshot = {.last_save_unix_s = 123,
                      .in_progress = true,
                      .last_ok = false,
                      .changes_since_last_save = 9,
                      .last_duration_ms = 2500};
  const std::string info = Reply({"INFO"});
  for (const char* field : {"# Server\r\n",
                            "redis_version:7.4.0\r\n",
                            "bitsieve_version:",
                            "redis_mode:standalone\r\n",
                            "process_id:",
                            "connected_clients:1\r\n",
                            "blocked_clients:0\r\n",
                            "maxclients:10000\r\n",
                            "used_memory_rss:",
                            "maxmemory:0\r\n",
                            "maxmemory_policy:noeviction\r\n",
                            "loading:0\r\n",
                            "rdb_changes_since_last_save:9\r\n",
                            "rdb_bgsave_in_progress:1\r\n",
                            "rdb_last_save_time:123\r\n",
                            "rdb_last_bgsave_status:err\r\n",
                            "rdb_last_bgsave_time_sec:2\r\n",
                            "aof_rewrite_in_progress:0\r\n",
                            "role:master\r\n",
                            "cluster_enabled:0\r\n",
                            "used_cpu_user:",
                            "# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=0\r\n"}) {
    EXPECT_THAT(info, HasSubstr(field));
  }
  EXPECT_THAT(info, HasSubstr("used_memory:" + std::to_string(budget.used_bytes()) + "\r\n"));
  EXPECT_THAT(info, Not(HasSubstr("bf_bloom_")));
}

TEST_F(ServerCommandsTest, InfoChoosesSections) {
  EXPECT_EQ(Reply({"INFO", "replication"}),
            "$126\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:" + stats.replication_id +
                "\r\nmaster_repl_offset:0\r\n\r\n");
  EXPECT_EQ(Reply({"INFO", "keyspace"}), "$12\r\n# Keyspace\r\n\r\n") << "an empty server has no databases to tell of";
  EXPECT_EQ(Reply({"INFO", "nothing"}), "$0\r\n\r\n");
  EXPECT_THAT(Reply({"INFO", "server", "CPU"}),
              AllOf(HasSubstr("# Server"), HasSubstr("# CPU"), Not(HasSubstr("# Stats"))));
  EXPECT_THAT(Reply({"INFO", "ALL"}), AllOf(HasSubstr("# Stats"), Not(HasSubstr("# bf"))));
  EXPECT_THAT(Reply({"INFO", "everything"}), AllOf(HasSubstr("# Stats"), HasSubstr("# bf")));
  EXPECT_THAT(Reply({"INFO", "modules"}), AllOf(HasSubstr("module:name=bf,ver=20812"), HasSubstr("# bf")));
}

TEST_F(ServerCommandsTest, InfoAddsUpAllFilters) {
  Reply({"BF.RESERVE", "a", "0.01", "100"});
  Reply({"BF.RESERVE", "b", "0.01", "200"});
  Reply({"BF.MADD", "b", "x", "y"});
  EXPECT_THAT(Reply({"INFO", "bf"}),
              AllOf(HasSubstr("bf_bloom_num_objects:2\r\n"), HasSubstr("bf_bloom_num_filters_across_objects:2\r\n"),
                    HasSubstr("bf_bloom_num_items_across_objects:2\r\n"),
                    HasSubstr("bf_bloom_capacity_across_objects:300\r\n")));
}

TEST_F(ServerCommandsTest, InfoCountsWhatWasDoneBefore) {
  const std::string info = Replies({{"BF.ADD", "f", "x"},
                                    {"BF.MEXISTS", "f", "x", "x", "other"},
                                    {"BF.EXISTS", "f", "x"},
                                    {"BF.EXISTS", "missing", "x"},
                                    {"GET", "x"},
                                    {"INFO", "stats"}});
  EXPECT_THAT(info, HasSubstr("total_commands_processed:6\r\n"));
  EXPECT_THAT(info, HasSubstr("total_error_replies:1\r\n"));
  EXPECT_THAT(info, HasSubstr("keyspace_hits:3\r\n"));
  EXPECT_THAT(info, HasSubstr("keyspace_misses:2\r\n"));
  EXPECT_THAT(info, HasSubstr("items_added:1\r\n"));
  EXPECT_EQ(Reply({"CONFIG", "RESETSTAT"}), "+OK\r\n");
  EXPECT_THAT(Reply({"INFO", "stats"}),
              AllOf(HasSubstr("total_commands_processed:1\r\n"), HasSubstr("keyspace_hits:0\r\n")));
}

TEST_F(ServerCommandsTest, ModuleList) {
  EXPECT_EQ(
      Reply({"MODULE", "LIST"}),
      "*1\r\n*8\r\n$4\r\nname\r\n$2\r\nbf\r\n$3\r\nver\r\n:20812\r\n$4\r\npath\r\n$0\r\n\r\n$4\r\nargs\r\n*0\r\n");
}

TEST_F(ServerCommandsTest, ConfigGet) {
  EXPECT_EQ(Reply({"CONFIG", "GET", "maxm*"}), "*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n");
  EXPECT_EQ(Reply({"CONFIG", "GET", "max*", "*memory", "nothing"}),
            "*4\r\n$10\r\nmaxclients\r\n$5\r\n10000\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n");
  EXPECT_EQ(Reply({"CONFIG", "GET", "nothing"}), "*0\r\n");
  session.version = protocol::ProtocolVersion::kResp3;
  EXPECT_EQ(Reply({"CONFIG", "GET", "timeout"}), "%1\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
}

TEST_F(ServerCommandsTest, ConfigSetIsAllOrNothing) {
  EXPECT_EQ(Reply({"CONFIG", "SET", "timeout", "5", "maxmemory", "100"}), "+OK\r\n");
  EXPECT_EQ(control.options["timeout"], "5");
  EXPECT_EQ(control.options["maxmemory"], "100");
  EXPECT_EQ(Reply({"CONFIG", "SET", "timeout", "6", "timeout", "7", "maxmemory", "bad"}),
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - must be good\r\n");
  EXPECT_EQ(control.options["timeout"], "5");
  EXPECT_EQ(Reply({"CONFIG", "SET", "timeout", "6", "*", "7"}),
            "-ERR CONFIG SET failed (possibly related to argument '*') - unknown option\r\n");
  EXPECT_EQ(control.options["timeout"], "5");
  EXPECT_EQ(Reply({"CONFIG", "SET", "timeout", "6", "maxmemory"}),
            "-ERR wrong number of arguments for 'config|set' command\r\n");
}

TEST_F(ServerCommandsTest, SaveRepliesWhenItIsDone) {
  EXPECT_EQ(Replies({{"PING"}, {"SAVE"}, {"PING"}}), "+PONG\r\n");
  EXPECT_EQ(outcome.executed, 2u);
  ASSERT_TRUE(outcome.deferred);
  EXPECT_TRUE(control.saves.empty()) << "it starts when the connection says so";

  WriteReply write;
  outcome.deferred([&write](WriteReply finished) { write = std::move(finished); });
  ASSERT_EQ(control.saves.size(), 1u);
  EXPECT_FALSE(write);
  control.saves[0]({});
  std::string out;
  protocol::ReplyWriter reply(out);
  write(reply);
  EXPECT_EQ(out, "+OK\r\n");

  outcome.deferred([&write](WriteReply finished) { write = std::move(finished); });
  control.saves[1](core::Fail(core::ErrorCode::kIo, "disk full"));
  out.clear();
  write(reply);
  EXPECT_EQ(out, "-ERR snapshot failed: disk full\r\n");
  EXPECT_EQ(stats.loops.front().error_replies, 1u);
}

TEST_F(ServerCommandsTest, ConfigRewriteRepliesWhenItIsDone) {
  EXPECT_EQ(Replies({{"CONFIG", "REWRITE"}}), "");
  ASSERT_TRUE(outcome.deferred);
  WriteReply write;
  outcome.deferred([&write](WriteReply finished) { write = std::move(finished); });
  ASSERT_EQ(control.rewrites.size(), 1U);
  control.rewrites[0](core::Fail(core::ErrorCode::kInvalidArgument, "The server is running without a config file"));
  std::string out;
  protocol::ReplyWriter reply(out);
  write(reply);
  EXPECT_EQ(out, "-ERR The server is running without a config file\r\n");
}

TEST_F(ServerCommandsTest, BackgroundSave) {
  EXPECT_EQ(Reply({"BGSAVE"}), "+Background saving started\r\n");
  control.snapshot.in_progress = true;
  EXPECT_EQ(Reply({"BGSAVE", "SCHEDULE"}), "+Background saving scheduled\r\n");
  EXPECT_EQ(control.saves.size(), 2u);
  EXPECT_EQ(Reply({"BGSAVE", "NOW"}), "-ERR syntax error\r\n");
  EXPECT_EQ(control.saves.size(), 2u);
  control.snapshot.last_save_unix_s = 99;
  EXPECT_EQ(Reply({"LASTSAVE"}), ":99\r\n");
}

TEST_F(ServerCommandsTest, ShutdownEndsTheBatchWithoutAReply) {
  for (const test::Words& command : {test::Words{"SHUTDOWN", "LATER"},
                                     {"SHUTDOWN", "SAVE", "NOSAVE"},
                                     {"SHUTDOWN", "ABORT", "NOW"},
                                     {"SHUTDOWN", "NOW", "ABORT"}}) {
    EXPECT_EQ(Reply(command), "-ERR syntax error\r\n");
  }
  EXPECT_EQ(Reply({"SHUTDOWN", "ABORT"}), "-ERR No shutdown in progress.\r\n");
  EXPECT_TRUE(control.shutdowns.empty());
  EXPECT_EQ(Replies({{"PING"}, {"SHUTDOWN", "NOSAVE"}, {"PING"}}), "+PONG\r\n");
  EXPECT_TRUE(session.closing);
  session.closing = false;
  Reply({"SHUTDOWN"});
  EXPECT_EQ(control.shutdowns, (std::vector<bool>{false, true}));
}

TEST_F(ServerCommandsTest, TimeIsTwoNumbers) { EXPECT_THAT(Reply({"TIME"}), StartsWith("*2\r\n$10\r\n")); }

TEST_F(ServerCommandsTest, WhatWouldMistakeUsForOthersIsUnknown) {
  for (const char* name : {"SENTINEL", "CLUSTER", "READONLY", "EVAL", "SCRIPT", "SET"}) {
    EXPECT_THAT(Reply({name, "x"}), StartsWith("-ERR unknown command"));
  }
}

}  // namespace
}  // namespace bitsieve::server
