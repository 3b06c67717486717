#include "server/dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::BatchOf;
using test::CommandFixture;
using test::Words;

class DispatcherTest : public testing::Test, protected CommandFixture {};

TEST_F(DispatcherTest, StartsWhereItIsTold) {
  const std::vector<Words> commands{{"ECHO", "a"}, {"ECHO", "b"}, {"ECHO", "c"}};
  std::string out;
  protocol::ReplyWriter reply(out);
  EXPECT_EQ(dispatcher->Execute(session, BatchOf(commands), 1, reply).executed, 2u);
  EXPECT_EQ(out, "$1\r\nb\r\n$1\r\nc\r\n");
  EXPECT_EQ(dispatcher->Execute(session, BatchOf(commands), 3, reply).executed, 0u);
}

// The preparation of a window of commands must not outlive a command that changes what the name means.
TEST_F(DispatcherTest, NamesChangeInTheMiddleOfAWindow) {
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"},
                     {"BF.EXISTS", "f", "x"},
                     {"DEL", "f"},
                     {"BF.EXISTS", "f", "x"},
                     {"BF.ADD", "f", "x"},
                     {"BF.CLEAR", "f"},
                     {"BF.EXISTS", "f", "x"},
                     {"BF.ADD", "g", "y"},
                     {"RENAME", "g", "f"},
                     {"BF.EXISTS", "f", "y"},
                     {"FLUSHALL"},
                     {"BF.EXISTS", "f", "y"}}),
            ":1\r\n:1\r\n:1\r\n:0\r\n:1\r\n+OK\r\n:0\r\n:1\r\n+OK\r\n:1\r\n+OK\r\n:0\r\n");
}

TEST_F(DispatcherTest, LongBatchesOfManyFilters) {
  std::vector<Words> commands;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    commands.push_back({"BF.ADD", "f" + std::to_string(i % 100), "x"});
    expected += i < 100 ? ":1\r\n" : ":0\r\n";
  }
  EXPECT_EQ(Replies(commands), expected);
}

TEST_F(DispatcherTest, HoldsNoFilterBetweenBatches) {
  Replies({{"BF.ADD", "f", "x"}, {"BF.ADD", "f", "y"}, {"BF.CARD", "f"}});
  EXPECT_EQ(registry.Find("f").use_count(), 2);
}

// Commands of several clients are prepared together, and run one client after the other.
TEST_F(DispatcherTest, WhatWasPreparedRunsAsIfItHadNotBeen) {
  Replies({{"BF.RESERVE", "f", "0.01", "100"}, {"BF.ADD", "f", "x"}});
  const std::vector<Words> mine{{"BF.EXISTS", "f", "x"}, {"BF.ADD", "f", "y"}, {"BF.EXISTS", "f", "y"}, {"PING"}};
  const std::vector<Words> theirs{{"BF.EXISTS", "f", "y"}, {"BF.EXISTS", "none", "y"}, {"BF.EXISTS", "f", "x"}};
  const CommandBatch first = BatchOf(mine);
  const CommandBatch second = BatchOf(theirs);
  auto prepared_first = std::make_unique<PreparedCommands>();
  auto prepared_second = std::make_unique<PreparedCommands>();
  Session other(std::make_shared<ClientRecord>(8, "a:1", "b:2", 0));
  dispatcher->Prepare(session, first, *prepared_first);
  dispatcher->Prepare(other, second, *prepared_second);
  EXPECT_EQ(prepared_first->count, 4);
  EXPECT_EQ(prepared_second->count, 2) << "up to the command that may create its filter";

  std::string out;
  protocol::ReplyWriter reply(out);
  EXPECT_EQ(dispatcher->Execute(session, first, 0, reply, prepared_first.get()).executed, 4);
  EXPECT_EQ(out, ":1\r\n:1\r\n:1\r\n+PONG\r\n");
  out.clear();
  EXPECT_EQ(dispatcher->Execute(other, second, 0, reply, prepared_second.get()).executed, 3);
  EXPECT_EQ(out, ":1\r\n:0\r\n:1\r\n");
  dispatcher->Forget();
  EXPECT_EQ(registry.Find("f").use_count(), 2);
}

// A filter that another client removes meanwhile is kept: commands that wait at the same time have no order.
TEST_F(DispatcherTest, APreparedFilterStaysUntilItIsForgotten) {
  Replies({{"BF.ADD", "f", "x"}});
  const std::vector<Words> commands{{"BF.EXISTS", "f", "x"}};
  const CommandBatch batch = BatchOf(commands);
  auto prepared = std::make_unique<PreparedCommands>();
  dispatcher->Prepare(session, batch, *prepared);
  Replies({{"DEL", "f"}});
  std::string out;
  protocol::ReplyWriter reply(out);
  dispatcher->Execute(session, batch, 0, reply, prepared.get());
  dispatcher->Forget();
  dispatcher->Execute(session, batch, 0, reply);
  EXPECT_EQ(out, ":1\r\n:0\r\n");
}

TEST_F(DispatcherTest, PreparesNothingThatMayBeRefusedOrQueued) {
  Replies({{"BF.ADD", "f", "x"}, {"MULTI"}});
  const std::vector<Words> commands{{"BF.EXISTS", "f", "x"}, {"EXEC"}};
  const CommandBatch batch = BatchOf(commands);
  auto prepared = std::make_unique<PreparedCommands>();
  dispatcher->Prepare(session, batch, *prepared);
  EXPECT_EQ(prepared->count, 0);
  std::string out;
  protocol::ReplyWriter reply(out);
  dispatcher->Execute(session, batch, 0, reply, prepared.get());
  EXPECT_EQ(out, "+QUEUED\r\n*1\r\n:1\r\n");
}

// However many clients wait, what was prepared for the first of them is in the cache when it runs.
TEST_F(DispatcherTest, PreparesABoundedNumberOfCommands) {
  Replies({{"BF.ADD", "f", "x"}});
  const std::vector<Words> commands(Executor::kWindow / 2, Words{"BF.EXISTS", "f", "x"});
  const CommandBatch batch = BatchOf(commands);
  auto prepared = std::make_unique<PreparedCommands>();
  size_t all = 0;
  for (int i = 0; i < 100; ++i) {
    dispatcher->Prepare(session, batch, *prepared);
    all += prepared->count;
  }
  EXPECT_GE(all, Executor::kWindow);
  EXPECT_LE(all, 4 * Executor::kWindow);
  dispatcher->Forget();
  dispatcher->Prepare(session, batch, *prepared);
  EXPECT_EQ(prepared->count, batch.size());
  dispatcher->Forget();
}

// The names of a window lie in a buffer that the next client's bytes overwrite.
TEST_F(DispatcherTest, ForgetsItsNamesWhenAHandlerRunsOutOfMemory) {
  Replies({{"BF.RESERVE", "ff", "0.01", "100"}, {"BF.RESERVE", "gg", "0.01", "100"}, {"BF.ADD", "ff", "x"}});
  std::string name = "ff";
  CommandBatch batch;
  batch.arguments = {"BF.EXISTS", name, "x", "BGSAVE"};
  batch.ends = {3, 4};
  std::string out;
  protocol::ReplyWriter reply(out);
  control.out_of_memory = true;
  const uint64_t commands = stats.loops.front().commands;
  EXPECT_THROW(dispatcher->Execute(session, batch, 0, reply), std::bad_alloc);
  control.out_of_memory = false;

  EXPECT_EQ(registry.Find("ff").use_count(), 2);
  EXPECT_EQ(stats.loops.front().commands, commands + 2);
  name = "gg";
  batch.arguments = {"BF.ADD", name, "y"};
  batch.ends = {3};
  out.clear();
  EXPECT_EQ(dispatcher->Execute(session, batch, 0, reply).executed, 1u);
  EXPECT_EQ(out, ":1\r\n");
  EXPECT_EQ(Replies({{"BF.EXISTS", "gg", "y"}, {"BF.EXISTS", "ff", "y"}, {"BF.CARD", "ff"}, {"BF.CARD", "gg"}}),
            ":1\r\n:0\r\n:1\r\n:1\r\n");
}

TEST_F(DispatcherTest, CountsOnceABatch) {
  Replies({{"BF.ADD", "f", "x"}, {"BF.ADD", "f", "y"}, {"BF.ADD", "f", "y"}, {"BF.ADD", "f"}, {"PING"}});
  const LoopStats& loop = stats.loops.front();
  EXPECT_EQ(loop.commands, 5u);
  EXPECT_EQ(loop.items_added, 2u);
  EXPECT_EQ(loop.error_replies, 1u);
}

TEST_F(DispatcherTest, TellsTheClientsLastCommand) {
  Replies({{"PING"}, {"BF.ADD", "f", "x"}, {"BF.ADD", "f", "y"}});
  EXPECT_STREQ(client->last_command, "bf.add");
  Reply({"config", "get", "x"});
  EXPECT_STREQ(client->last_command, "config|get");
  EXPECT_GT(client->last_active_ms, 1'000);
}

// A stream of commands in which names come, go and change, filters are full, commands are wrong and transactions nest
// badly. Filters have random seeds, but rates so low that no answer depends on them.
class RandomStream {
 public:
  explicit RandomStream(uint32_t seed) : random_(seed) {}

  Words Next() {
    const uint32_t choice = Below(100);
    if (choice < 30) return {"BF.EXISTS", Name(), Item()};
    if (choice < 60) return {"bf.add", Name(), Item()};
    if (choice < 64) return {"BF.MADD", Name(), Item(), Item(), Item()};
    if (choice < 68) return {"BF.MEXISTS", Name(), Item(), Item()};
    if (choice < 74) return {"BF.RESERVE", Name(), "0.000000001", "3", Below(2) ? "NONSCALING" : "IFNOTEXISTS"};
    if (choice < 77) return {"DEL", Name()};
    if (choice < 79) return {"RENAME", Name(), Name()};
    if (choice < 81) return {"BF.CLEAR", Name()};
    if (choice < 83) return {"BF.CARD", Name()};
    if (choice < 86) return {"PING"};
    if (choice < 88) return {"HELLO", Below(2) ? "2" : "3"};
    if (choice < 90) return {"MULTI"};
    if (choice < 94) return {Below(4) ? "EXEC" : "DISCARD"};
    if (choice < 96) return Below(2) ? Words{"NONSENSE", Item()} : Words{"BF.ADD", Name()};
    if (choice < 99) return {"EXISTS", Name(), Name()};
    return {"FLUSHALL", "ASYNC"};
  }

 private:
  uint32_t Below(uint32_t bound) { return random_() % bound; }
  std::string Name() { return "f" + std::to_string(Below(3)); }
  std::string Item() { return "i" + std::to_string(Below(40)); }

  std::mt19937 random_;
};

struct Counts {
  uint64_t commands, hits, misses, added, errors;
  explicit Counts(const LoopStats& stats)
      : commands(stats.commands),
        hits(stats.lookup_hits),
        misses(stats.lookup_misses),
        added(stats.items_added),
        errors(stats.error_replies) {}
  bool operator==(const Counts&) const = default;
};

TEST(DispatcherDifferentialTest, BatchesAnswerAsOneByOne) {
  int met_full_filters = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    RandomStream stream(seed);
    std::vector<Words> commands(1000);
    for (Words& command : commands) command = stream.Next();
    CommandFixture batched, single;
    batched.settings.default_error_rate = single.settings.default_error_rate = 1e-9;
    std::string expected;
    for (const Words& command : commands) expected += single.Reply(command);
    ASSERT_EQ(batched.Replies(commands), expected) << "seed " << seed;
    const Counts counts(single.stats.loops.front());
    EXPECT_EQ(Counts(batched.stats.loops.front()), counts);
    EXPECT_GT(counts.hits, 0u);
    EXPECT_GT(counts.added, 0u);
    met_full_filters += expected.find("non scaling filter is full") != std::string::npos;
  }
  EXPECT_GT(met_full_filters, 10);
}

}  // namespace
}  // namespace bitsieve::server
