// Commands that run on workers, and EXEC, which waits for them.

#include "server/dispatch/aside.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/filter/image_pressure.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"
#include "tests/support/manual_workers.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;

// Runs batches as a connection does, including deferred replies.
class AsideTest : public testing::Test, protected CommandFixture {
 protected:
  AsideTest() { ServeBy(&workers_); }

  // Returns the replies of a batch whose commands may be deferred. The commands' bytes are overwritten once they are
  // deferred.
  std::string RunAll(std::vector<Words> commands) {
    std::string out;
    size_t done = 0;
    weights_.clear();
    wrote_.clear();
    while (true) {
      protocol::ReplyWriter reply(out);
      outcome = dispatcher->Execute(session, test::BatchOf(commands), done, reply);
      done += outcome.executed;
      wrote_.push_back(outcome.wrote);
      if (outcome.wait == Wait::kTurn) continue;
      if (!outcome.deferred) return out;
      for (size_t i = 0; i < done; ++i) {
        for (std::string& word : commands[i]) word.assign(word.size(), '!');
      }
      std::optional<WriteReply> write;
      outcome.deferred([&write](WriteReply given) { write = std::move(given); });
      if (!write) weights_.push_back(workers_.RunNext());
      if (!write) throw std::logic_error("a deferred reply never came");
      reply.set_version(session.version);
      (*write)(reply);
      wrote_.push_back(outcome.deferred_wrote);
    }
  }

  static Words Many(std::string command, std::string key, size_t items) {
    Words words{std::move(command), std::move(key)};
    for (size_t i = 0; i < items; ++i) words.push_back("item " + std::to_string(i));
    return words;
  }
  static std::string Ones(size_t items) {
    std::string reply = "*" + std::to_string(items) + "\r\n";
    for (size_t i = 0; i < items; ++i) reply += ":1\r\n";
    return reply;
  }

  test::ManualWorkers workers_;
  std::vector<Weight> weights_;  // of what ran on workers
  std::vector<bool> wrote_;      // of each part that ran, and of each deferred reply
};

TEST_F(AsideTest, RepliesKeepTheirOrder) {
  EXPECT_EQ(RunAll({{"BF.RESERVE", "f", "0.000000001", "3000"},
                    {"BF.ADD", "f", "item 0"},
                    Many("BF.MADD", "f", 2000),
                    {"BF.EXISTS", "f", "item 1999"},
                    Many("BF.MEXISTS", "f", 2000),
                    {"PING"}}),
            "+OK\r\n:1\r\n" + ("*2000\r\n:0\r\n" + Ones(1999).substr(7)) + ":1\r\n" + Ones(2000) + "+PONG\r\n");
  EXPECT_EQ(weights_, (std::vector{Weight::kMany, Weight::kMany}));
}

TEST_F(AsideTest, LightCommandsStayOnTheirLoop) {
  RunAll({{"BF.RESERVE", "f", "0.01", "1000"},
          Many("BF.MADD", "f", 1000),
          {"COPY", "f", "g"},
          {"KEYS", "*"},
          {"BF.MERGE", "f", "g"},
          {"BF.DUMP", "f"},
          {"DEL", "f", "g"},
          {"FLUSHALL"},
          {"INFO", "everything"}});
  EXPECT_EQ(weights_, std::vector<Weight>());
}

TEST_F(AsideTest, WhatLargeFiltersCostRunsAside) {
  RunAll({{"BF.RESERVE", "f", "0.01", "1000000"}, {"CF.RESERVE", "c", "1000000"}});
  const std::vector<Words> commands{{"COPY", "f", "g"},        {"BF.MERGE", "g", "f"},      {"BF.ESTIMATE", "f"},
                                    {"BF.DUMP", "f"},          {"BF.SCANDUMP", "f", "0"},   {"BF.CLEAR", "f"},
                                    {"CF.SCANDUMP", "c", "1"}, {"CF.SCANDUMP", "c", "500"}, {"CF.COMPACT", "c"}};
  for (const Words& command : commands) {
    RunAll({command});
    EXPECT_EQ(weights_, std::vector{Weight::kLarge}) << command[0];
  }
}

TEST_F(AsideTest, WhatManyNamesCostRunsAside) {
  for (int i = 0; i < 300; ++i) Reply({"BF.RESERVE", "f" + std::to_string(i), "0.01", "10"});
  const std::vector<Words> commands{
      {"KEYS", "*"}, {"SCAN", "0", "COUNT", "100000"}, {"INFO", "bf"}, {"INFO", "everything"}, {"FLUSHALL", "SYNC"}};
  for (const Words& command : commands) {
    RunAll({command});
    EXPECT_EQ(weights_, std::vector{Weight::kLarge}) << command[0];
  }
}

TEST_F(AsideTest, AFlushInTheBackgroundIsLight) {
  for (int i = 0; i < 300; ++i) Reply({"BF.RESERVE", "f" + std::to_string(i), "0.01", "10"});
  EXPECT_EQ(RunAll({{"FLUSHALL", "async"}, {"DBSIZE"}}), "+OK\r\n:0\r\n");
  EXPECT_EQ(weights_, std::vector<Weight>());
  for (int i = 0; i < 300; ++i) Reply({"BF.RESERVE", "f" + std::to_string(i), "0.01", "10"});
  EXPECT_EQ(RunAll({{"FLUSHALL"}, {"DBSIZE"}}), "+OK\r\n:0\r\n");
  EXPECT_EQ(weights_, std::vector<Weight>()) << "many names are freed in the background";
}

TEST_F(AsideTest, FewItemsRunAsideIfEachIsSlow) {
  RunAll({{"BF.RESERVE", "fresh", "0.01", "100000000", "TYPE", "counting"}, {"BF.RESERVE", "small", "0.01", "1000"}});
  RunAll({Many("BF.MADD", "fresh", 200), Many("BF.MADD", "small", 500), Many("BF.MEXISTS", "fresh", 500)});
  EXPECT_EQ(weights_, std::vector<Weight>());
  RunAll({Many("BF.MADD", "fresh", 500)});
  EXPECT_EQ(weights_, std::vector{Weight::kMany}) << "pages that are touched for the first time";

  core::MemoryBudget pool(1 << 20);
  const core::ImagePressure::Reading reading(*registry.Find("small"), pool);
  RunAll({Many("BF.MADD", "small", 20), Many("BF.MADD", "fresh", 100), Many("BF.MEXISTS", "small", 100)});
  EXPECT_EQ(weights_, std::vector<Weight>());
  RunAll({Many("BF.MADD", "small", 100)});
  EXPECT_EQ(weights_, std::vector{Weight::kMany}) << "chunks that are copied for an image";
}

TEST_F(AsideTest, ALongChangeWaitsWhileThereIsNoMemoryForTheImage) {
  RunAll({{"BF.RESERVE", "f", "0.000000001", "3000"}});
  core::MemoryBudget pool(800);
  const core::ImagePressure::Reading reading(*registry.Find("f"), pool);
  std::string out;
  protocol::ReplyWriter reply(out);
  outcome = dispatcher->Execute(session, test::BatchOf({Many("BF.MADD", "f", 2000)}), 0, reply);
  auto full = core::MemoryReservation::TryTake(pool, 800);  // after the command has begun
  WriteReply write;
  outcome.deferred([&write](WriteReply given) { write = std::move(given); });
  std::thread worker([this] { workers_.RunNext(); });
  while (workers_.Waiting() != 0) std::this_thread::yield();
  EXPECT_EQ(registry.Find("f")->ItemCount(), 0U);
  full = {};
  worker.join();
  write(reply);
  EXPECT_EQ(registry.Find("f")->ItemCount(), 2000U);
}

TEST_F(AsideTest, ALargeCuckooFilterIsCompactedAsideAfterRemovals) {
  RunAll({{"CF.RESERVE", "c", "20000", "EXPANSION", "1"}});
  for (int i = 0; i < 60'000; i += 1000) {
    Words words{"CF.INSERT", "c", "ITEMS"};
    for (int item = i; item < i + 1000; ++item) words.push_back(std::to_string(item));
    RunAll({words});
  }
  const auto& cuckoo = dynamic_cast<core::RedisCuckoo&>(*registry.Find("c"));
  const uint64_t filters = cuckoo.filters();
  ASSERT_GT(filters, 2U);
  for (int i = 0; i < 59'000; ++i) ASSERT_EQ(RunAll({{"CF.DEL", "c", std::to_string(i)}}), ":1\r\n");
  EXPECT_EQ(cuckoo.filters(), filters);
  EXPECT_EQ(cuckoo.Header().deletes, 59'000U);
  EXPECT_EQ(workers_.Waiting(), 1U) << "asked for once";
  EXPECT_EQ(workers_.RunNext(), Weight::kLarge);
  EXPECT_EQ(cuckoo.Header().deletes, 0U);
  EXPECT_EQ(cuckoo.filters(), 1U);
  EXPECT_EQ(cuckoo.ItemCount(), 1'000U);
  for (int i = 59'000; i < 60'000; ++i) ASSERT_EQ(Reply({"CF.EXISTS", "c", std::to_string(i)}), ":1\r\n");
}

TEST_F(AsideTest, LongItemsRunAside) {
  const std::string item(1 << 20, 'x');
  EXPECT_EQ(RunAll({{"BF.ADD", "f", "x"}, {"BF.ADD", "f", item}, {"BF.EXISTS", "f", item}, {"BF.EXISTS", "f", "x"}}),
            ":1\r\n:1\r\n:1\r\n:1\r\n");
  EXPECT_EQ(weights_, (std::vector{Weight::kMany, Weight::kMany}));
}

// Expects a weight of every command that takes any number of arguments, since it may be given 10^6 of them.
void ExpectWeighed(const CommandRow& row) {
  for (const CommandRow& subcommand : row.subcommands) ExpectWeighed(subcommand);
  // These commands change the session, which only the loop may do.
  const bool of_session =
      row.name == "hello" || row.name == "quit" || row.name == "watch" || row.name.ends_with("subscribe");
  const bool any_number = row.arity < 0 && row.max_arguments == 0 && row.handler != nullptr && !of_session;
  if (any_number) {
    EXPECT_NE(row.weigh, nullptr) << row.name;
  }
}

TEST_F(AsideTest, EveryCommandOfManyArgumentsIsWeighed) {
  for (const CommandRow* row : AllCommands().rows()) ExpectWeighed(*row);
}

TEST_F(AsideTest, ADeferredReplyTellsWhetherItsCommandWrote) {
  RunAll({Many("BF.MADD", "f", 2000)});
  EXPECT_EQ(wrote_, (std::vector{false, true, false}));
  RunAll({Many("BF.MEXISTS", "f", 2000)});
  EXPECT_EQ(wrote_, (std::vector{false, false, false}));
  RunAll({{"BF.ADD", "f", "x"}, Many("BF.MEXISTS", "f", 2000), {"BF.ADD", "f", "y"}});
  EXPECT_EQ(wrote_, (std::vector{true, false, true}));
}

TEST_F(AsideTest, CountsForItsLoop) {
  const uint64_t commands = stats.loops.front().commands;
  RunAll({Many("BF.MADD", "f", 2000), Many("BF.MEXISTS", "f", 2000), {"COPY", "f"}});
  EXPECT_EQ(stats.loops.front().commands, commands + 3);
  EXPECT_EQ(stats.loops.front().lookup_hits, 2000);
  EXPECT_GE(stats.loops.front().items_added, 1900);
  EXPECT_EQ(stats.loops.front().error_replies, 1);
}

TEST_F(AsideTest, AnErrorComesInItsPlace) {
  EXPECT_EQ(RunAll({{"PING"}, Many("BF.MDEL", "none", 2000), {"PING"}}), "+PONG\r\n-ERR not found\r\n+PONG\r\n");
  EXPECT_EQ(stats.loops.front().error_replies, 1);
}

TEST_F(AsideTest, RepliesInTheProtocolOfTheConnection) {
  RunAll({Many("BF.MADD", "f", 1100)});
  session.version = protocol::ProtocolVersion::kResp3;
  EXPECT_EQ(RunAll({Many("BF.MEXISTS", "f", 1100)}).substr(0, 15), "*1100\r\n#t\r\n#t\r\n");
}

TEST_F(AsideTest, ExecWaitsForItsCommands) {
  EXPECT_EQ(RunAll({{"MULTI"},
                    {"BF.RESERVE", "f", "0.000000001", "3000"},
                    Many("BF.MADD", "f", 2000),
                    {"BF.CARD", "f"},
                    Many("BF.MEXISTS", "f", 2000),
                    {"EXEC"},
                    {"ECHO", "behind"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n+OK\r\n" + Ones(2000) + ":2000\r\n" + Ones(2000) +
                "$6\r\nbehind\r\n");
  EXPECT_EQ(weights_, (std::vector{Weight::kMany, Weight::kMany}));
  EXPECT_EQ(session.executing, nullptr);
}

TEST_F(AsideTest, AnExecOfManyCommandsLetsOthersIn) {
  Reply({"BF.RESERVE", "f", "0.000001", "1000"});
  std::vector<Words> commands{{"MULTI"}};
  std::string expected = "+OK\r\n";
  for (size_t i = 0; i < 3 * Executor::kWindow; ++i) {
    commands.push_back({"BF.ADD", "f", std::to_string(i)});
    expected += "+QUEUED\r\n";
  }
  commands.push_back({"EXEC"});
  expected += "*192\r\n";
  for (size_t i = 0; i < 3 * Executor::kWindow; ++i) expected += ":1\r\n";
  const server::CommandBatch batch = test::BatchOf(commands);
  size_t turns = 0, done = 0;
  bool wrote = false;
  std::string replies;
  do {
    protocol::ReplyWriter reply(replies);
    outcome = dispatcher->Execute(session, batch, done, reply);
    done += outcome.executed;
    wrote |= outcome.wrote;
    ++turns;
    EXPECT_LE(registry.Find("f")->ItemCount(), turns * Executor::kWindow);
  } while (outcome.wait == Wait::kTurn);
  EXPECT_GE(turns, 3);  // more where the time of a turn ends first
  EXPECT_TRUE(wrote);
  EXPECT_EQ(replies, expected);
}

TEST_F(AsideTest, AnExecThatIsAbandonedMeanwhileLeavesItsCommandAlone) {
  Session gone(client);
  std::string out;
  protocol::ReplyWriter reply(out);
  dispatcher->Execute(gone, test::BatchOf({{"MULTI"}, Many("BF.MADD", "f", 2000)}), 0, reply);
  auto exec = dispatcher->Execute(gone, test::BatchOf({{"EXEC"}}), 0, reply);
  exec.deferred([](const WriteReply&) {});
  gone = Session(client);
  workers_.RunNext();
  EXPECT_GE(registry.Find("f")->ItemCount(), 1900);
}

}  // namespace
}  // namespace bitsieve::server
