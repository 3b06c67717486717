#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;

// Several connections without sockets: their wake-ups are counted, and what they receive is fetched by the test.
class Listener : public Wakeable {
 public:
  Listener(Dispatcher& dispatcher, uint64_t id)
      : client(std::make_shared<ClientRecord>(id, "127.0.0.1:5001", "127.0.0.1:7379", 1'000)),
        session(client),
        dispatcher_(dispatcher) {
    session.wakeable = this;
  }

  std::function<void()> MessageWaker() override {
    return [this] { ++wakes; };
  }
  std::string Reply(const Words& command) { return Replies({command}); }
  std::string Replies(const std::vector<Words>& commands) {
    std::string out;
    protocol::ReplyWriter reply(out);
    (void)test::ExecuteInTurns(dispatcher_, session, test::BatchOf(commands), reply);
    return out;
  }
  std::string Messages(size_t most_bytes = 1 << 20) {
    std::string out;
    protocol::ReplyWriter reply(out);
    reply.set_version(session.version);
    if (session.subscriptions) session.subscriptions->WriteMessages(reply, most_bytes);
    return out;
  }

  std::shared_ptr<ClientRecord> client;
  Session session;
  int wakes = 0;

 private:
  Dispatcher& dispatcher_;
};

class PubSubCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  Listener a_{*dispatcher, 11};
  Listener b_{*dispatcher, 12};
};

TEST_F(PubSubCommandsTest, RepliesAreThoseOfRedis) {
  EXPECT_EQ(a_.Reply({"SUBSCRIBE", "a", "b", "a"}),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n");
  EXPECT_EQ(a_.Reply({"PSUBSCRIBE", "p*"}), "*3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n");
  EXPECT_EQ(a_.Reply({"UNSUBSCRIBE", "none"}), "*3\r\n$11\r\nunsubscribe\r\n$4\r\nnone\r\n:3\r\n");
  EXPECT_EQ(a_.Reply({"UNSUBSCRIBE", "a"}), "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n");
  EXPECT_EQ(a_.Reply({"UNSUBSCRIBE"}), "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n");
  EXPECT_EQ(a_.Reply({"PUNSUBSCRIBE"}), "*3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:0\r\n");
  EXPECT_EQ(a_.Reply({"UNSUBSCRIBE"}), "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n");
  EXPECT_EQ(a_.Reply({"PUNSUBSCRIBE"}), "*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n");
  EXPECT_EQ(a_.Replies({{"HELLO", "3"}, {"SUBSCRIBE", "a"}, {"UNSUBSCRIBE"}, {"UNSUBSCRIBE"}}).substr(0, 2), "%7");
  EXPECT_EQ(a_.Replies({{"SUBSCRIBE", "a"}, {"UNSUBSCRIBE"}, {"UNSUBSCRIBE"}}),
            ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
            ">3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n");
}

TEST_F(PubSubCommandsTest, MessagesReachWhoListens) {
  a_.Replies({{"SUBSCRIBE", "news"}, {"PSUBSCRIBE", "n*", "*s", "x*"}});
  b_.Replies({{"HELLO", "3"}, {"SUBSCRIBE", "news"}});
  EXPECT_EQ(Reply({"PUBLISH", "news", "hello"}), ":4\r\n");
  EXPECT_EQ(Reply({"PUBLISH", "other", "hello"}), ":0\r\n");
  const std::string got = a_.Messages();
  EXPECT_TRUE(got.starts_with("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n")) << got;
  EXPECT_NE(got.find("*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$5\r\nhello\r\n"), std::string::npos);
  EXPECT_NE(got.find("*4\r\n$8\r\npmessage\r\n$2\r\n*s\r\n$4\r\nnews\r\n$5\r\nhello\r\n"), std::string::npos);
  EXPECT_EQ(b_.Messages(), ">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
  EXPECT_EQ(a_.Messages(), "");
  EXPECT_EQ(a_.session.subscriptions->inbox().bytes(), 0U);
}

TEST_F(PubSubCommandsTest, OneWakeUntilTheInboxIsEmpty) {
  a_.Reply({"SUBSCRIBE", "c"});
  for (int i = 0; i < 10; ++i) Reply({"PUBLISH", "c", "m"});
  EXPECT_EQ(a_.wakes, 1);
  EXPECT_NE(a_.Messages(1), "");  // the first one alone
  Reply({"PUBLISH", "c", "m"});
  EXPECT_EQ(a_.wakes, 1);
  a_.Messages();
  Reply({"PUBLISH", "c", "m"});
  EXPECT_EQ(a_.wakes, 2);
}

TEST_F(PubSubCommandsTest, AnInboxThatGrowsWakesAgainSoThatItIsAccountedFor) {
  a_.Reply({"SUBSCRIBE", "c"});
  const std::string message(Inbox::kWakeBytes, 'm');
  for (int i = 0; i < 5; ++i) Reply({"PUBLISH", "c", message});
  EXPECT_EQ(a_.wakes, 5);
  for (int i = 0; i < 100; ++i) Reply({"PUBLISH", "c", "small"});
  EXPECT_EQ(a_.wakes, 5 + 100 * (5 + sizeof(Inbox::Item) + 1) / Inbox::kWakeBytes);
  a_.Messages();
  Reply({"PUBLISH", "c", message});
  EXPECT_EQ(a_.wakes, 6);
}

TEST_F(PubSubCommandsTest, MessagesKeepTheirOrder) {
  a_.Reply({"SUBSCRIBE", "c", "d"});
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string channel = i % 2 == 0 ? "c" : "d";
    const std::string text = std::to_string(100 + i);
    Reply({"PUBLISH", channel, text});
    expected += "*3\r\n$7\r\nmessage\r\n$1\r\n" + channel + "\r\n$3\r\n" + text + "\r\n";
  }
  std::string got;
  for (std::string more = a_.Messages(100); !more.empty(); more = a_.Messages(100)) got += more;
  EXPECT_EQ(got, expected);
}

TEST_F(PubSubCommandsTest, NothingComesAfterUnsubscribing) {
  a_.Reply({"SUBSCRIBE", "c"});
  Reply({"PUBLISH", "c", "before"});
  EXPECT_EQ(a_.Reply({"UNSUBSCRIBE", "c"}),
            "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$6\r\nbefore\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n");
  EXPECT_EQ(Reply({"PUBLISH", "c", "after"}), ":0\r\n");
  EXPECT_EQ(a_.Messages(), "");
}

constexpr const char* kOnly =
    "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n";

TEST_F(PubSubCommandsTest, Resp2MaySendLittleWhileSubscribed) {
  a_.Reply({"BF.ADD", "f", "x"});
  // In one batch, so that what was prepared ahead is refused as well.
  EXPECT_EQ(a_.Replies({{"SUBSCRIBE", "c"}, {"BF.EXISTS", "f", "x"}, {"BF.ADD", "f", "y"}, {"PING"}, {"PING", "hey"}}),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n-ERR Can't execute 'bf.exists': " + std::string(kOnly) +
                "-ERR Can't execute 'bf.add': " + kOnly + "*2\r\n$4\r\npong\r\n$0\r\n\r\n" +
                "*2\r\n$4\r\npong\r\n$3\r\nhey\r\n");
  EXPECT_EQ(a_.Reply({"CLIENT", "ID"}), "-ERR Can't execute 'client|id': " + std::string(kOnly));
  EXPECT_EQ(a_.Reply({"MULTI"}), "-ERR Can't execute 'multi': " + std::string(kOnly));
  EXPECT_EQ(a_.Replies({{"UNSUBSCRIBE"}, {"BF.EXISTS", "f", "x"}, {"PING"}}),
            "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n:1\r\n+PONG\r\n");
}

TEST_F(PubSubCommandsTest, Resp3MaySendAnything) {
  a_.Replies({{"BF.ADD", "f", "x"}, {"HELLO", "3"}, {"SUBSCRIBE", "c"}});
  EXPECT_EQ(a_.Replies({{"BF.EXISTS", "f", "x"}, {"PING"}, {"PUBLISH", "c", "mine"}}), "#t\r\n+PONG\r\n:1\r\n");
  EXPECT_EQ(a_.Messages(), ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nmine\r\n");
}

TEST_F(PubSubCommandsTest, ResetAndTheEndUnsubscribe) {
  a_.Replies({{"SUBSCRIBE", "c"}, {"PSUBSCRIBE", "*"}});
  {
    Listener gone(*dispatcher, 13);
    gone.Replies({{"SUBSCRIBE", "c", "d"}, {"PSUBSCRIBE", "*", "d*"}});
    EXPECT_EQ(pub_sub.pattern_count(), 2U);
  }
  EXPECT_EQ(Reply({"PUBSUB", "NUMSUB", "c", "d"}), "*4\r\n$1\r\nc\r\n:1\r\n$1\r\nd\r\n:0\r\n");
  EXPECT_EQ(Reply({"PUBSUB", "NUMPAT"}), ":1\r\n");
  EXPECT_EQ(a_.Replies({{"RESET"}, {"PING"}}), "+RESET\r\n+PONG\r\n");
  EXPECT_FALSE(pub_sub.AnySubscribers());
  EXPECT_EQ(Reply({"PUBLISH", "c", "m"}), ":0\r\n");
}

TEST_F(PubSubCommandsTest, WhatPubSubTells) {
  a_.Reply({"SUBSCRIBE", "news.a", "news.b"});
  b_.Reply({"SUBSCRIBE", "news.a"});
  EXPECT_EQ(Reply({"PUBSUB", "CHANNELS", "*.a"}), "*1\r\n$6\r\nnews.a\r\n");
  EXPECT_EQ(Reply({"PUBSUB", "CHANNELS"}).substr(0, 2), "*2");
  EXPECT_EQ(Reply({"PUBSUB", "NUMSUB", "news.a"}), "*2\r\n$6\r\nnews.a\r\n:2\r\n");
  EXPECT_EQ(Reply({"PUBSUB", "NUMSUB"}), "*0\r\n");
  clients.Add(a_.client);
  a_.Reply({"PSUBSCRIBE", "x"});
  const std::string list = Reply({"CLIENT", "LIST"});
  EXPECT_NE(list.find("flags=P db=0 sub=2 psub=1 ssub=0"), std::string::npos) << list;
  const std::string info = Reply({"INFO", "stats"});
  EXPECT_NE(info.find("pubsub_channels:2\r\npubsub_patterns:1\r\n"), std::string::npos) << info;
}

TEST_F(PubSubCommandsTest, AFullInboxLosesEverythingAndSaysSo) {
  pub_sub.inbox_limit_bytes = 10'000;
  a_.Reply({"SUBSCRIBE", "c"});
  b_.Reply({"SUBSCRIBE", "c"});
  const std::string text(1'000, 'x');
  for (int i = 0; i < 20; ++i) {
    Reply({"PUBLISH", "c", text});
    b_.Messages();
    EXPECT_LE(a_.session.subscriptions->inbox().bytes(), 10'000U);
  }
  EXPECT_TRUE(a_.session.subscriptions->inbox().overflowed());
  EXPECT_EQ(a_.wakes, 2);  // for the first message, and to be closed
  EXPECT_EQ(a_.Messages(), "");
  EXPECT_FALSE(b_.session.subscriptions->inbox().overflowed());
}

TEST_F(PubSubCommandsTest, SizesAreBounded) {
  const std::string long_channel(PubSub::kMaxChannelBytes + 1, 'c');
  const std::string long_pattern(4097, 'p');
  const std::string channel_error = "-ERR a channel of 16385 bytes is too long: at most 16384 are allowed\r\n";
  const std::string pattern_error =
      "-ERR a pattern of 4097 bytes is too long: at most 4096 are allowed (option max-pattern-bytes)\r\n";
  EXPECT_EQ(a_.Reply({"SUBSCRIBE", long_channel}), channel_error);
  EXPECT_EQ(a_.Reply({"PUBLISH", long_channel, "m"}), channel_error);
  EXPECT_EQ(a_.Reply({"PSUBSCRIBE", long_pattern}), pattern_error);
  EXPECT_EQ(a_.Reply({"PUBSUB", "CHANNELS", long_pattern}), pattern_error);
  a_.Reply({"HELLO", "3"});
  for (size_t i = 0; i < Subscriptions::kMaxNames; ++i) a_.Reply({"SUBSCRIBE", std::to_string(i)});
  const std::string too_many =
      "-ERR too many subscriptions: a connection can have at most 16384 channels and patterns, with 16 MiB in "
      "total\r\n";
  EXPECT_EQ(a_.Reply({"PSUBSCRIBE", "one more"}), too_many);
  EXPECT_EQ(a_.Reply({"SUBSCRIBE", "0"}), ">3\r\n$9\r\nsubscribe\r\n$1\r\n0\r\n:16384\r\n");
  b_.Reply({"HELLO", "3"});
  std::string last;
  for (int i = 0; i < 2'000 && last != too_many; ++i) {
    last = b_.Reply({"SUBSCRIBE", std::to_string(i) + std::string(16'000, 'x')});
  }
  EXPECT_EQ(last, too_many);
  EXPECT_LE(b_.session.subscriptions->bytes(), Subscriptions::kMaxBytes);
}

TEST_F(PubSubCommandsTest, InMulti) {
  b_.Reply({"SUBSCRIBE", "c"});
  EXPECT_EQ(a_.Replies({{"MULTI"}, {"PUBLISH", "c", "m"}, {"EXEC"}}), "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
}

TEST_F(PubSubCommandsTest, SubscribingInMultiIsThatOfRedis) {
  a_.Replies({{"BF.ADD", "f", "x"}, {"MULTI"}});
  EXPECT_EQ(a_.Replies({{"SUBSCRIBE", "a"}, {"PSUBSCRIBE", "b"}, {"BF.EXISTS", "f", "x"}}),
            "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
  EXPECT_EQ(a_.Replies({{"UNSUBSCRIBE", "a"}, {"PING"}, {"EXEC"}, {"BF.EXISTS", "f", "x"}}),
            "+QUEUED\r\n+QUEUED\r\n*5\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
            "*3\r\n$10\r\npsubscribe\r\n$1\r\nb\r\n:2\r\n"
            ":1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n"
            "-ERR Can't execute 'bf.exists': " +
                std::string(kOnly));
  EXPECT_EQ(b_.Replies({{"MULTI"}, {"PUNSUBSCRIBE"}, {"SUBSCRIBE", "c"}, {"DISCARD"}, {"PUBSUB", "CHANNELS"}}),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n*0\r\n");
}

TEST_F(PubSubCommandsTest, SubscribersAreClientsOfTypePubSub) {
  for (Listener* const listener : {&a_, &b_}) clients.Add(listener->client);
  const auto listed = [this](const std::string& type, const std::string& id) {
    return Reply({"CLIENT", "LIST", "TYPE", type}).find("id=" + id + " ") != std::string::npos;
  };
  const std::vector<std::vector<Words>> ways{{{"SUBSCRIBE", "c"}, {"UNSUBSCRIBE"}},
                                             {{"PSUBSCRIBE", "c"}, {"PUNSUBSCRIBE"}}};
  for (const auto& way : ways) {
    a_.Reply(way[0]);
    EXPECT_TRUE(listed("pubsub", "11") && !listed("normal", "11")) << way[0][0];
    EXPECT_TRUE(listed("normal", "12") && !listed("pubsub", "12")) << way[0][0];
    EXPECT_FALSE(listed("replica", "11"));
    a_.Reply(way[1]);
    EXPECT_TRUE(listed("normal", "11") && !listed("pubsub", "11")) << way[1][0];
  }
  a_.Reply({"PSUBSCRIBE", "c"});
  const std::string list = Reply({"CLIENT", "LIST", "TYPE", "pubsub"});
  EXPECT_NE(list.find("flags=P db=0 sub=0 psub=1 ssub=0"), std::string::npos) << list;
  EXPECT_EQ(Reply({"CLIENT", "KILL", "TYPE", "pubsub"}), ":1\r\n");
  EXPECT_TRUE(a_.client->doomed);
  EXPECT_FALSE(b_.client->doomed);
}

}  // namespace
}  // namespace bitsieve::server
