#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;
using testing::ElementsAre;
using testing::IsEmpty;

// Subscribes to all channels; each message is "CHANNEL PAYLOAD", without the prefix.
class KeyspaceEventsTest : public testing::Test, protected CommandFixture {
 protected:
  KeyspaceEventsTest() {
    events.Configure("Egxdn");
    pub_sub.SubscribePattern("__key*", inbox_);
    registry.SetOnExpired([this](std::string_view name) { events.Publish(EventClass::kExpired, "expired", name); });
  }
  std::vector<std::string> Heard() {
    std::vector<std::string> heard;
    inbox_->Take([&](const Inbox::Item& item) {
      const std::string& channel = item.message->channel;
      heard.push_back(channel.substr(channel.find(':') + 1) + " " + item.message->payload);
      return true;
    });
    return heard;
  }
  std::vector<std::string> HeardOf(const Words& command) {
    Reply(command);
    return Heard();
  }

  std::atomic<uint64_t> limit_{1 << 24};
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>(std::function<void()>(), limit_);
};

TEST_F(KeyspaceEventsTest, FreezingIsReportedBeforeTheFrozenFilterIs) {
  Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "ribbon"});
  Heard();
  control.on_freeze = [this](std::string_view name, const FilterPtr&) {
    events.Publish(EventClass::kFilter, "frozen", name);
  };
  EXPECT_THAT(HeardOf({"BF.FREEZE", "f"}), ElementsAre("bf.freeze f", "frozen f"));
}

TEST_F(KeyspaceEventsTest, Names) {
  EXPECT_THAT(HeardOf({"BF.ADD", "a", "x"}), ElementsAre("new a", "bf.add a"));
  EXPECT_THAT(HeardOf({"EXPIRE", "a", "100"}), ElementsAre("expire a"));
  EXPECT_THAT(HeardOf({"PERSIST", "a"}), ElementsAre("persist a"));
  EXPECT_THAT(HeardOf({"PERSIST", "a"}), IsEmpty());
  EXPECT_THAT(HeardOf({"EXPIRE", "a", "100", "XX"}), IsEmpty());
  EXPECT_THAT(HeardOf({"COPY", "a", "b"}), ElementsAre("copy_to b"));
  EXPECT_THAT(HeardOf({"COPY", "a", "b"}), IsEmpty());
  EXPECT_THAT(HeardOf({"RENAME", "b", "c"}), ElementsAre("rename_from b", "rename_to c"));
  EXPECT_THAT(HeardOf({"RENAMENX", "c", "a"}), IsEmpty());
  EXPECT_THAT(HeardOf({"RENAMENX", "c", "d"}), ElementsAre("rename_from c", "rename_to d"));
  EXPECT_THAT(HeardOf({"RENAME", "d", "d"}), IsEmpty());
  EXPECT_THAT(HeardOf({"RENAME", "none", "d"}), IsEmpty());
  EXPECT_THAT(HeardOf({"DEL", "a", "none", "d"}), ElementsAre("del a", "del d"));
  Reply({"BF.ADD", "a", "x"});
  Heard();
  EXPECT_THAT(HeardOf({"PEXPIREAT", "a", "1"}), ElementsAre("del a"));
}

TEST_F(KeyspaceEventsTest, Expiry) {
  Replies({{"BF.ADD", "a", "x"}, {"PEXPIRE", "a", "10"}, {"BF.ADD", "b", "x"}, {"PEXPIRE", "b", "10"}});
  Heard();
  clock.now_ms += 20;
  EXPECT_THAT(HeardOf({"DEL", "a"}), ElementsAre("expired a"));
  registry.RemoveExpired();
  // The registry's own thread may have been faster.
  std::vector<std::string> heard = Heard();
  EXPECT_THAT(heard, ElementsAre("expired b"));
}

TEST_F(KeyspaceEventsTest, OnlyWhatChangesSomething) {
  EXPECT_THAT(HeardOf({"BF.RESERVE", "f", "0.01", "100"}), ElementsAre("new f", "bf.reserve f"));
  EXPECT_THAT(HeardOf({"BF.RESERVE", "f", "0.01", "100"}), IsEmpty());
  EXPECT_THAT(HeardOf({"BF.ADD", "f", "x"}), ElementsAre("bf.add f"));
  EXPECT_THAT(HeardOf({"BF.ADD", "f", "x"}), IsEmpty());
  EXPECT_THAT(HeardOf({"BF.MADD", "f", "x", "y", "z"}), ElementsAre("bf.madd f"));
  EXPECT_THAT(HeardOf({"BF.MADD", "f", "x", "y", "z"}), IsEmpty());
  EXPECT_THAT(HeardOf({"BF.INSERT", "f", "ITEMS", "x", "w"}), ElementsAre("bf.insert f"));
  EXPECT_THAT(HeardOf({"BF.INSERT", "g", "ITEMS", "x"}), ElementsAre("new g", "bf.insert g"));
  EXPECT_THAT(HeardOf({"BF.EXISTS", "f", "x"}), IsEmpty());
  EXPECT_THAT(HeardOf({"BF.CLEAR", "f"}), ElementsAre("bf.clear f"));
  EXPECT_THAT(HeardOf({"BF.MERGE", "h", "g"}), ElementsAre("new h", "bf.merge h"));
}

TEST_F(KeyspaceEventsTest, EachCommandOfABatchIsAnEvent) {
  Reply({"BF.RESERVE", "f", "0.01", "100"});
  Heard();
  Replies({{"BF.ADD", "f", "x"}, {"BF.ADD", "f", "y"}, {"BF.ADD", "f", "x"}, {"BF.ADD", "f", "z"}});
  EXPECT_THAT(Heard(), ElementsAre("bf.add f", "bf.add f", "bf.add f"));
}

TEST_F(KeyspaceEventsTest, CountingAndRemoving) {
  Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting"});
  Heard();
  EXPECT_THAT(HeardOf({"BF.ADD", "f", "x"}), ElementsAre("bf.add f"));
  EXPECT_THAT(HeardOf({"BF.ADD", "f", "x"}), ElementsAre("bf.add f"));  // counted once more
  EXPECT_THAT(HeardOf({"BF.DEL", "f", "x"}), ElementsAre("bf.del f"));
  EXPECT_THAT(HeardOf({"BF.DEL", "f", "none"}), IsEmpty());
  EXPECT_THAT(HeardOf({"BF.MDEL", "f", "x", "x"}), ElementsAre("bf.mdel f"));
  EXPECT_THAT(HeardOf({"BF.MDEL", "f", "x", "x"}), IsEmpty());
}

TEST_F(KeyspaceEventsTest, Cuckoo) {
  EXPECT_THAT(HeardOf({"CF.RESERVE", "c", "1000"}), ElementsAre("new c", "cf.reserve c"));
  EXPECT_THAT(HeardOf({"CF.ADD", "c", "x"}), ElementsAre("cf.add c"));
  EXPECT_THAT(HeardOf({"CF.ADDNX", "c", "x"}), IsEmpty());
  EXPECT_THAT(HeardOf({"CF.INSERT", "c", "ITEMS", "x", "y"}), ElementsAre("cf.insert c"));
  EXPECT_THAT(HeardOf({"CF.INSERTNX", "c", "ITEMS", "x", "y"}), IsEmpty());
  EXPECT_THAT(HeardOf({"CF.DEL", "c", "y"}), ElementsAre("cf.del c"));
  EXPECT_THAT(HeardOf({"CF.DEL", "c", "none"}), IsEmpty());
  EXPECT_THAT(HeardOf({"CF.COMPACT", "c"}), ElementsAre("cf.compact c"));
  EXPECT_THAT(HeardOf({"CF.ADD", "d", "x"}), ElementsAre("new d", "cf.add d"));
}

TEST_F(KeyspaceEventsTest, GrownAndFull) {
  for (const Words& reserve :
       {Words{"BF.RESERVE", "f", "0.01", "4"}, Words{"BF.RESERVE", "f", "0.01", "8", "TYPE", "cuckoo"},
        Words{"BF.RESERVE", "f", "0.01", "8", "TYPE", "fingerprint"}, Words{"CF.RESERVE", "f", "4"},
        Words{"BF.RESERVE", "f", "0.01", "4", "TYPE", "counting"}}) {
    Replies({{"DEL", "f"}, reserve});
    Heard();
    Words adds{"BF.MADD", "f"};
    if (reserve[0] == "CF.RESERVE") adds = {"CF.INSERT", "f", "ITEMS"};
    for (int i = 0; i < 1000; ++i) adds.push_back(std::to_string(i));
    EXPECT_THAT(HeardOf(adds), ElementsAre(reserve[0] == "CF.RESERVE" ? "cf.insert f" : "bf.madd f", "grown f"))
        << reserve.back();
  }
  Replies({{"DEL", "f"}, {"BF.RESERVE", "f", "0.01", "2", "NONSCALING"}});
  Heard();
  EXPECT_THAT(HeardOf({"BF.MADD", "f", "a", "b", "c", "d"}), ElementsAre("bf.madd f", "full f"));
  EXPECT_THAT(HeardOf({"BF.ADD", "f", "e"}), ElementsAre("full f"));
}

TEST_F(KeyspaceEventsTest, Dumps) {
  Reply({"BF.ADD", "f", "x"});
  std::string dump = Reply({"BF.DUMP", "f"});
  dump = dump.substr(dump.find("\r\n") + 2);
  dump.resize(dump.size() - 2);
  Heard();
  EXPECT_THAT(HeardOf({"BF.RESTORE", "g", dump}), ElementsAre("new g", "restore g"));
  EXPECT_THAT(HeardOf({"BF.RESTORE", "g", dump}), IsEmpty());
  EXPECT_THAT(HeardOf({"BF.RESTORE", "g", dump, "REPLACE"}), ElementsAre("restore g"));
}

TEST_F(KeyspaceEventsTest, Freezing) {
  Replies({{"BF.RESERVE", "f", "0.01", "100", "TYPE", "ribbon"}, {"BF.ADD", "f", "x"}});
  Heard();
  EXPECT_THAT(HeardOf({"BF.FREEZE", "f"}), ElementsAre("bf.freeze f"));
  EXPECT_THAT(HeardOf({"BF.FREEZE", "f"}), IsEmpty());
}

TEST_F(KeyspaceEventsTest, InTransactions) {
  Replies({{"MULTI"}, {"BF.ADD", "f", "x"}, {"DEL", "f"}, {"EXEC"}});
  EXPECT_THAT(Heard(), ElementsAre("new f", "bf.add f", "del f"));
}

TEST_F(KeyspaceEventsTest, WhatTheOptionAsksFor) {
  events.Configure("");
  EXPECT_THAT(HeardOf({"BF.ADD", "a", "x"}), IsEmpty());
  events.Configure("gxd");  // and no channel
  EXPECT_THAT(HeardOf({"BF.ADD", "b", "x"}), IsEmpty());
  events.Configure("Kd");
  EXPECT_THAT(HeardOf({"BF.ADD", "a", "y"}), ElementsAre("a bf.add"));
  EXPECT_THAT(HeardOf({"DEL", "a"}), IsEmpty());
  events.Configure("AKE");
  EXPECT_THAT(HeardOf({"BF.ADD", "a", "y"}), ElementsAre("a bf.add", "bf.add a"));  // A is without n
  events.Configure("Eg");
  EXPECT_THAT(HeardOf({"BF.ADD", "a", "z"}), IsEmpty());
  EXPECT_THAT(HeardOf({"DEL", "a"}), ElementsAre("del a"));
}

TEST_F(KeyspaceEventsTest, NamesThatNoChannelCanHave) {
  events.Configure("KEd");
  const std::string name(PubSub::kMaxChannelBytes, 'n');
  EXPECT_THAT(HeardOf({"BF.ADD", name, "x"}), ElementsAre("bf.add " + name));
}

}  // namespace
}  // namespace bitsieve::server
