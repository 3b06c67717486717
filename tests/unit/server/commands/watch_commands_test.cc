#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/filter/staging.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;

using test::kOk;
constexpr const char* kTouched = "+OK\r\n+QUEUED\r\n*-1\r\n";
constexpr const char* kRan = "+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n";

// Two connections: one watches, the other one does something.
class WatchCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  std::string Other(const Words& command) {
    std::string out;
    protocol::ReplyWriter reply(out);
    (void)dispatcher->Execute(other_, test::BatchOf({command}), 0, reply);
    return out;
  }
  std::string Exec() { return Replies({{"MULTI"}, {"PING"}, {"EXEC"}}); }

  Session other_{std::make_shared<ClientRecord>(8, "127.0.0.1:5001", "127.0.0.1:7379", 1'000)};
};

struct Case {
  const char* what;
  std::vector<Words> before;
  std::vector<Words> between;
};

const Words kReserve{"BF.RESERVE", "k", "0.01", "100"};

std::vector<Case> Touching() {
  return {
      {"an added item", {kReserve}, {{"BF.ADD", "k", "x"}}},
      {"an added item among others", {{"BF.ADD", "k", "x"}}, {{"BF.MADD", "k", "x", "y"}}},
      {"an inserted item", {kReserve}, {{"BF.INSERT", "k", "ITEMS", "x"}}},
      {"a filter that came to be", {}, {kReserve}},
      {"a filter that an item made", {}, {{"BF.ADD", "k", "x"}}},
      {"a filter that came and went", {}, {kReserve, {"DEL", "k"}}},
      {"a filter that came and was flushed", {}, {kReserve, {"FLUSHALL"}}},
      {"a filter that came and was renamed", {}, {kReserve, {"RENAME", "k", "other"}}},
      {"a filter that was renamed to it and back",
       {{"BF.ADD", "o", "x"}},
       {{"RENAME", "o", "k"}, {"RENAME", "k", "o"}}},
      {"deleted", {kReserve}, {{"DEL", "k"}}},
      {"unlinked", {kReserve}, {{"UNLINK", "k"}}},
      {"deleted and made again", {kReserve}, {{"DEL", "k"}, kReserve}},
      {"renamed away", {kReserve}, {{"RENAME", "k", "other"}}},
      {"renamed away and back", {kReserve}, {{"RENAME", "k", "o"}, {"RENAME", "o", "k"}}},
      {"renamed onto", {kReserve, {"BF.ADD", "o", "x"}}, {{"RENAME", "o", "k"}}},
      {"copied onto", {kReserve, {"BF.ADD", "o", "x"}}, {{"COPY", "o", "k", "REPLACE"}}},
      {"copied to", {{"BF.ADD", "o", "x"}}, {{"COPY", "o", "k"}}},
      {"cleared", {kReserve}, {{"BF.CLEAR", "k"}}},
      {"flushed", {kReserve}, {{"FLUSHALL"}}},
      {"flushed in the background", {kReserve}, {{"FLUSHDB", "ASYNC"}}},
      {"given an expiry", {kReserve}, {{"EXPIRE", "k", "100"}}},
      {"given another expiry", {kReserve, {"EXPIRE", "k", "100"}}, {{"EXPIRE", "k", "200"}}},
      {"ended by an expiry that is past", {kReserve}, {{"PEXPIREAT", "k", "1"}}},
      {"persisted", {kReserve, {"EXPIRE", "k", "100"}}, {{"PERSIST", "k"}}},
      {"merged into",
       {{"BF.RESERVE", "k", "0.01", "100", "SEED", "1"},
        {"BF.RESERVE", "o", "0.01", "100", "SEED", "1"},
        {"BF.ADD", "o", "x"}},
       {{"BF.MERGE", "k", "o"}}},
      {"made by a merge", {{"BF.ADD", "o", "x"}}, {{"BF.MERGE", "k", "o"}}},
      {"counted once more",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "counting"}, {"BF.ADD", "k", "x"}},
       {{"BF.ADD", "k", "x"}}},
      {"removed from",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "counting"}, {"BF.ADD", "k", "x"}},
       {{"BF.DEL", "k", "x"}}},
      {"added and removed",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "counting"}},
       {{"BF.ADD", "k", "x"}, {"BF.DEL", "k", "x"}}},
      {"put once more into a cuckoo filter",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "cuckoo"}, {"BF.ADD", "k", "x"}},
       {{"BF.ADD", "k", "x"}}},
      {"put into a fingerprint filter",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "fingerprint"}},
       {{"BF.ADD", "k", "x"}}},
      {"put into a classic filter", {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "classic"}}, {{"BF.ADD", "k", "x"}}},
      {"put into a filter of RedisBloom's",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "redisbloom"}},
       {{"BF.ADD", "k", "x"}}},
      {"put into a window",
       {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "window", "WINDOW", "100"}},
       {{"BF.ADD", "k", "x"}}},
      {"put into a ribbon filter", {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "ribbon"}}, {{"BF.ADD", "k", "x"}}},
      {"frozen", {{"BF.RESERVE", "k", "0.01", "100", "TYPE", "ribbon"}, {"BF.ADD", "k", "x"}}, {{"BF.FREEZE", "k"}}},
      {"CF.ADD", {{"CF.RESERVE", "k", "100"}}, {{"CF.ADD", "k", "x"}}},
      {"CF.ADD once more", {{"CF.ADD", "k", "x"}}, {{"CF.ADD", "k", "x"}}},
      {"CF.INSERT", {{"CF.ADD", "k", "x"}}, {{"CF.INSERT", "k", "ITEMS", "x"}}},
      {"CF.DEL", {{"CF.ADD", "k", "x"}}, {{"CF.DEL", "k", "x"}}},
      {"CF.COMPACT", {{"CF.ADD", "k", "x"}}, {{"CF.COMPACT", "k"}}},
      {"itself", {kReserve}, {}},
  };
}

TEST_F(WatchCommandsTest, EveryChangeTouches) {
  for (const Case& each : Touching()) {
    for (const Words& command : each.before) ASSERT_EQ(Reply(command).find('-'), std::string::npos) << each.what;
    EXPECT_EQ(Reply({"WATCH", "unrelated", "k"}), kOk);
    for (const Words& command : each.between) ASSERT_EQ(Other(command).find('-'), std::string::npos) << each.what;
    // A transaction also fails if its own connection touched the name.
    if (each.between.empty()) Reply({"BF.ADD", "k", "by itself"});
    EXPECT_EQ(Exec(), kTouched) << each.what;
    EXPECT_EQ(Exec(), kRan) << each.what;
    Reply({"FLUSHALL"});
  }
}

TEST_F(WatchCommandsTest, WhatChangesNothingDoesNotTouch) {
  const std::vector<Case> cases{
      {"nothing", {kReserve}, {}},
      {"an item that was there", {{"BF.ADD", "k", "x"}}, {{"BF.ADD", "k", "x"}, {"BF.MADD", "k", "x"}}},
      {"an item that was not added", {{"CF.ADD", "k", "x"}}, {{"CF.ADDNX", "k", "x"}}},
      {"questions",
       {{"BF.ADD", "k", "x"}},
       {{"BF.EXISTS", "k", "x"},
        {"BF.INFO", "k"},
        {"BF.CARD", "k"},
        {"BF.SCANDUMP", "k", "0"},
        {"TTL", "k"},
        {"TYPE", "k"},
        {"COPY", "k", "copy"},
        {"BF.DUMP", "k"}}},
      {"other names", {kReserve}, {{"BF.ADD", "other", "x"}, {"RENAME", "other", "another"}, {"DEL", "another"}}},
      {"a missing name and others", {}, {{"BF.ADD", "other", "x"}, {"DEL", "k"}, {"FLUSHALL"}}},
      {"persisting what has no expiry", {kReserve}, {{"PERSIST", "k"}}},
      {"renaming to itself", {kReserve}, {{"RENAME", "k", "k"}}},
      {"refused commands",
       {kReserve, {"BF.ADD", "o", "x"}},
       {{"RENAMENX", "o", "k"}, {"COPY", "o", "k"}, {"EXPIRE", "k", "100", "XX"}}},
  };
  for (const Case& each : cases) {
    for (const Words& command : each.before) Reply(command);
    EXPECT_EQ(Reply({"WATCH", "k"}), kOk);
    for (const Words& command : each.between) Other(command);
    EXPECT_EQ(Exec(), kRan) << each.what;
    Reply({"FLUSHALL"});
  }
}

TEST_F(WatchCommandsTest, ExpiryTouches) {
  Replies({kReserve, {"PEXPIRE", "k", "100"}, {"WATCH", "k"}});
  clock.now_ms += 200;  // it need not have been removed
  EXPECT_EQ(Exec(), kTouched);
}

TEST_F(WatchCommandsTest, WhatHadExpiredBeforeDoesNotTouch) {
  Replies({kReserve, {"PEXPIRE", "k", "100"}});
  clock.now_ms += 200;
  Reply({"WATCH", "k"});
  registry.RemoveExpired();
  EXPECT_EQ(Exec(), kRan);
}

TEST_F(WatchCommandsTest, AFilterThatTakesTheFrozenOnesPlaceTouches) {
  Replies({{"BF.RESERVE", "k", "0.01", "100", "TYPE", "ribbon"}, {"BF.ADD", "k", "x"}, {"BF.FREEZE", "k"}});
  Reply({"WATCH", "k"});
  const FilterPtr closed = control.freezes.at(0).second;
  FilterPtr frozen = std::move(*closed->staging()->Build(budget, [] { return true; }));
  ASSERT_TRUE(registry.Replace("k", closed, frozen));
  EXPECT_EQ(Exec(), kTouched);
}

TEST_F(WatchCommandsTest, NothingRunsAfterATouch) {
  Replies({{"WATCH", "k"}, {"MULTI"}, {"BF.ADD", "mine", "x"}});
  Other({"BF.ADD", "k", "x"});
  EXPECT_EQ(Reply({"EXEC"}), "*-1\r\n");
  EXPECT_EQ(registry.Find("mine"), nullptr);
  EXPECT_EQ(client->queued_commands, -1);
}

TEST_F(WatchCommandsTest, NullOfTheProtocolThatIsSpoken) {
  Replies({{"HELLO", "3"}, {"WATCH", "k"}, {"MULTI"}});
  Other({"BF.ADD", "k", "x"});
  EXPECT_EQ(Reply({"EXEC"}), "_\r\n");
}

TEST_F(WatchCommandsTest, TheWatchingEnds) {
  const std::vector<std::vector<Words>> ends{
      {{"UNWATCH"}}, {{"MULTI"}, {"DISCARD"}}, {{"MULTI"}, {"EXEC"}}, {{"RESET"}}, {{"MULTI"}, {"GET", "x"}, {"EXEC"}}};
  for (const std::vector<Words>& end : ends) {
    Reply({"WATCH", "k"});
    Replies(end);
    EXPECT_TRUE(session.watches.empty()) << end.back()[0];
    EXPECT_EQ(session.watches.bytes(), 0U);
    Other({"BF.ADD", "k", end.back()[0]});
    EXPECT_EQ(Exec(), kRan) << end.back()[0];
  }
}

TEST_F(WatchCommandsTest, OrderOfRefusals) {
  // A queueing error has precedence over a touched name, as in Redis.
  Replies({{"WATCH", "k"}, {"MULTI"}, {"GET", "x"}});
  Other({"BF.ADD", "k", "x"});
  EXPECT_EQ(Reply({"EXEC"}), "-EXECABORT Transaction discarded because of previous errors.\r\n");
  EXPECT_EQ(Replies({{"MULTI"}, {"WATCH", "k"}, {"UNWATCH"}, {"EXEC"}}),
            "+OK\r\n-ERR WATCH inside MULTI is not allowed\r\n+QUEUED\r\n*1\r\n+OK\r\n");
}

TEST_F(WatchCommandsTest, FirstLookCounts) {
  Reply({"WATCH", "k"});
  Other({"BF.ADD", "k", "x"});
  Reply({"WATCH", "k"});
  EXPECT_EQ(Exec(), kTouched);
}

TEST_F(WatchCommandsTest, NamesAreBounded) {
  Words many{"WATCH"};
  for (size_t i = 0; i < WatchList::kMaxNames; ++i) many.push_back("name " + std::to_string(i));
  EXPECT_EQ(Reply(many), kOk);
  EXPECT_EQ(Reply({"WATCH", "name 0"}), kOk);
  const std::string refused =
      "-ERR too many watched names: a connection can watch at most 16384 names, with 16 MiB in total\r\n";
  EXPECT_EQ(Reply({"WATCH", "one more"}), refused);
  EXPECT_EQ(Exec(), kRan);
  const std::string half(WatchList::kMaxBytes / 2, 'x');
  EXPECT_EQ(Replies({{"WATCH", half + "a"}, {"WATCH", half + "b"}}), kOk + refused);
  EXPECT_LE(session.watches.bytes(), WatchList::kMaxBytes);
}

TEST_F(WatchCommandsTest, AMissingNameAmongVeryManyNewOnes) {
  Reply({"WATCH", "k"});
  for (int i = 0; i < 2000; ++i) Other({"BF.RESERVE", "other " + std::to_string(i), "0.01", "1"});
  EXPECT_EQ(Exec(), kRan);  // about sixty a lock: all are still known
  Replies({{"WATCH", "k"}});
  Other({"BF.ADD", "k", "x"});
  for (int i = 0; i < 20'000; ++i) Other({"BF.RESERVE", "more " + std::to_string(i), "0.01", "1"});
  Other({"DEL", "k"});
  EXPECT_EQ(Exec(), kTouched);  // rather than not knowing
}

// While another transaction that watches names is in progress, one about the same names gives up.
TEST_F(WatchCommandsTest, TransactionsAreKeptApart) {
  Claims::Slots slots;
  slots.set(Claims::SlotOf("k"));
  Claims::Held running = claims.TryTake(slots);
  ASSERT_TRUE(running);

  Replies({{"WATCH", "k"}, {"MULTI"}, {"BF.ADD", "mine", "x"}});
  EXPECT_EQ(Reply({"EXEC"}), "*-1\r\n");
  Replies({{"WATCH", "mine"}, {"MULTI"}, {"BF.ADD", "k", "x"}});  // what it writes counts as well
  EXPECT_EQ(Reply({"EXEC"}), "*-1\r\n");
  Replies({{"WATCH", "mine"}, {"MULTI"}, {"BF.ADD", "other", "x"}});
  EXPECT_EQ(Reply({"EXEC"}), "*1\r\n:1\r\n");
  Replies({{"MULTI"}, {"BF.ADD", "k", "x"}});  // without WATCH nothing is promised
  EXPECT_EQ(Reply({"EXEC"}), "*1\r\n:1\r\n");

  running = {};
  Replies({{"WATCH", "k"}, {"MULTI"}, {"BF.ADD", "mine", "x"}});
  EXPECT_EQ(Reply({"EXEC"}), "*1\r\n:1\r\n");
  EXPECT_TRUE(claims.TryTake(slots));
}

}  // namespace
}  // namespace bitsieve::server
