// Commands that take long for other reasons than their arguments: names and messages of many bytes, many subscribers,
// many patterns. A loop hands them to a worker, or stops between two commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/pubsub/keyspace_events.h"
#include "tests/support/command_fixture.h"
#include "tests/support/manual_workers.h"
#include "tests/support/taken_texts.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Taken;
using test::Words;
using testing::EndsWith;
using testing::StartsWith;

class SlicesTest : public testing::Test, protected CommandFixture {
 protected:
  SlicesTest() {
    ServeBy(&workers_);
    events.UseWorkers(workers_);
  }

  struct Ran {
    std::string reply;
    bool aside;
  };
  // Runs a command, possibly on a worker, to its end and returns its reply.
  Ran Run(const Words& command) {
    std::string out;
    protocol::ReplyWriter reply(out);
    reply.set_limit(reply_limit_);
    const std::vector<Words> commands{command};
    outcome = dispatcher->Execute(session, test::BatchOf(commands), 0, reply);
    if (!outcome.deferred) return {out, false};
    std::optional<WriteReply> write;
    outcome.deferred([&write](WriteReply given) { write = std::move(given); });
    while (!write) workers_.RunNext();
    (*write)(reply);
    return {out, true};
  }
  void RunWorkers() {
    while (workers_.Waiting() != 0) workers_.RunNext();
  }
  std::shared_ptr<Inbox> Listen(const std::string& channel) {
    auto inbox = std::make_shared<Inbox>(std::function<void()>(), limit_);
    pub_sub.Subscribe(channel, inbox);
    return inbox;
  }
  std::shared_ptr<Inbox> ListenTo(const std::string& pattern) {
    auto inbox = std::make_shared<Inbox>(std::function<void()>(), limit_);
    pub_sub.SubscribePattern(pattern, inbox);
    return inbox;
  }
  // Subscribes to patterns that take long to compare with a channel of any length.
  void ListenToMany(const std::string& prefix = "*") {
    for (int i = 0; i < 2'000; ++i) many_.push_back(ListenTo(prefix + "x" + std::to_string(i)));
  }

  std::atomic<uint64_t> limit_{1 << 26};
  size_t reply_limit_ = SIZE_MAX;
  test::ManualWorkers workers_;
  std::vector<std::shared_ptr<Inbox>> many_;
};

// ---- names

TEST_F(SlicesTest, FewShortNamesAreListedByTheLoop) {
  for (int i = 0; i < 200; ++i) Run({"BF.ADD", "name" + std::to_string(i), "x"});
  EXPECT_FALSE(Run({"KEYS", "*"}).aside);
  EXPECT_FALSE(Run({"KEYS", "n?me[0-9]*"}).aside);
  EXPECT_FALSE(Run({"SCAN", "0", "COUNT", "256", "MATCH", "*1*2*"}).aside);
}

TEST_F(SlicesTest, NamesOfManyBytesAreListedByAWorker) {
  const size_t bytes = 60'000;
  for (int i = 0; i < 40; ++i) Run({"BF.ADD", std::to_string(10 + i) + std::string(bytes, 'n'), "x"});
  const std::string pattern = "*1?" + std::string(1'000, 'n') + "*";
  const Ran keys = Run({"KEYS", pattern});
  EXPECT_TRUE(keys.aside);
  EXPECT_THAT(keys.reply, StartsWith("*13\r\n"));  // 10 to 19, 21, 31, 41
  const Ran all = Run({"KEYS", "*"});
  EXPECT_TRUE(all.aside);
  EXPECT_THAT(all.reply, StartsWith("*40\r\n"));
  EXPECT_GT(all.reply.size(), 40 * bytes);
  const Ran scan = Run({"SCAN", "0", "COUNT", "256", "MATCH", "1*n?n*"});
  EXPECT_TRUE(scan.aside);
  EXPECT_THAT(scan.reply, StartsWith("*2\r\n$1\r\n0\r\n*10\r\n"));
  EXPECT_FALSE(Run({"SCAN", "0", "COUNT", "1", "MATCH", "1*"}).aside);
}

TEST_F(SlicesTest, ListsAreNoLongerThanAReplyMayBe) {
  for (int i = 0; i < 40; ++i) Run({"BF.ADD", std::to_string(10 + i) + std::string(60'000, 'n'), "x"});
  reply_limit_ = 1'000'000;
  for (const Words& command : {Words{"KEYS", "*"}, Words{"SCAN", "0", "COUNT", "1000"}}) {
    std::string out;
    protocol::ReplyWriter reply(out);
    reply.set_limit(reply_limit_);
    const std::vector<Words> commands{command};
    outcome = dispatcher->Execute(session, test::BatchOf(commands), 0, reply);
    ASSERT_TRUE(outcome.deferred);
    std::optional<WriteReply> write;
    outcome.deferred([&write](WriteReply given) { write = std::move(given); });
    while (!write) workers_.RunNext();
    (*write)(reply);
    EXPECT_TRUE(reply.exceeded());
    EXPECT_LE(out.capacity(), 2'000'000U);
  }
}

TEST_F(SlicesTest, PatternsHaveALimit) {
  settings.max_pattern_bytes = 100;
  const std::string longest(100, 'p'), longer(101, 'p');
  const std::string error =
      "-ERR a pattern of 101 bytes is too long: at most 100 are allowed (option max-pattern-bytes)\r\n";
  for (Words command : {Words{"KEYS"}, Words{"SCAN", "0", "MATCH"}, Words{"PSUBSCRIBE"}, Words{"PUBSUB", "CHANNELS"},
                        Words{"CONFIG", "GET"}, Words{"COMMAND", "LIST", "FILTERBY", "PATTERN"}}) {
    command.push_back(longer);
    EXPECT_EQ(Run(command).reply, error) << command[0];
    command.back() = longest;
    EXPECT_THAT(Run(command).reply, testing::Not(StartsWith("-"))) << command[0];
    Run({"RESET"});
  }
}

// ---- messages

TEST_F(SlicesTest, AMessageToManyIsSentByAWorker) {
  std::vector<std::shared_ptr<Inbox>> inboxes;
  for (size_t i = 0; i < PubSub::kQuickReceivers; ++i) inboxes.push_back(Listen("c"));
  EXPECT_FALSE(Run({"PUBLISH", "c", "one"}).aside);
  inboxes.push_back(ListenTo("c*"));
  const Ran sent = Run({"PUBLISH", "c", "two"});
  EXPECT_TRUE(sent.aside);
  EXPECT_EQ(sent.reply, ":" + std::to_string(inboxes.size()) + "\r\n");
  EXPECT_FALSE(Run({"PUBLISH", "d", "m"}).aside);
  for (const auto& inbox : inboxes) EXPECT_EQ(Taken(*inbox).back(), "two");
}

TEST_F(SlicesTest, ALongMessageIsCopiedByAWorkerAndOnlyOnce) {
  const auto a = Listen("c"), b = Listen("c");
  const std::string text(PubSub::kQuickBytes, 'm');
  const Ran sent = Run({"PUBLISH", "c", text});
  EXPECT_TRUE(sent.aside);
  EXPECT_EQ(sent.reply, ":2\r\n");
  const void *of_a = nullptr, *of_b = nullptr;
  a->Take([&](const Inbox::Item& item) { return of_a = item.message->payload.data(), true; });
  b->Take([&](const Inbox::Item& item) { return of_b = item.message->payload.data(), true; });
  EXPECT_EQ(of_a, of_b);
  EXPECT_NE(of_a, nullptr);
}

TEST_F(SlicesTest, ALongPayloadIsNotCopiedForItsSubscriber) {
  Subscriptions subscriptions(pub_sub, nullptr);
  subscriptions.Add(Subscriptions::Kind::kChannel, "c");
  const std::string text(Subscriptions::kLongBytes, 'm');
  pub_sub.Publish("c", "short");
  pub_sub.Publish("c", text);
  pub_sub.Publish("c", "after");
  std::string out;
  protocol::ReplyWriter reply(out);
  std::shared_ptr<const Message> payload;
  EXPECT_FALSE(subscriptions.WriteMessages(reply, 1 << 20, payload));
  EXPECT_THAT(out, StartsWith("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nshort\r\n"));
  EXPECT_THAT(out, EndsWith("$1\r\nc\r\n$65536\r\n"));
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->payload, text);
  out.clear();
  payload = nullptr;
  EXPECT_TRUE(subscriptions.WriteMessages(reply, 1 << 20, payload));
  EXPECT_EQ(out, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nafter\r\n");
  EXPECT_EQ(payload, nullptr);
}

TEST_F(SlicesTest, ManyPatternsAreComparedByAWorkerUnlessTheyBeginOtherwise) {
  ListenToMany("p");
  EXPECT_FALSE(Run({"PUBLISH", "channel", "m"}).aside);
  ListenToMany("*");
  const Ran sent = Run({"PUBLISH", "channel:x7", "m"});
  EXPECT_TRUE(sent.aside);
  EXPECT_EQ(sent.reply, ":1\r\n");
}

// All receivers of a channel see two messages in the same order, though one is sent in steps.
TEST_F(SlicesTest, AMessageThatIsUnderWayIsNotOvertaken) {
  const auto subscriber = Listen("c");
  ListenToMany();
  Session other_session(std::make_shared<ClientRecord>(8, "127.0.0.1:5002", "127.0.0.1:7379", 1'000));
  std::string out, other_out;
  protocol::ReplyWriter reply(out), other_reply(other_out);
  const std::vector<Words> first{{"PUBLISH", "c", "first"}}, second{{"PUBLISH", "c", "second"}};
  const auto a = dispatcher->Execute(session, test::BatchOf(first), 0, reply);
  const auto b = dispatcher->Execute(other_session, test::BatchOf(second), 0, other_reply);
  ASSERT_TRUE(a.deferred && b.deferred);
  a.deferred([](const WriteReply&) {});
  b.deferred([](const WriteReply&) {});
  RunWorkers();
  EXPECT_THAT(Taken(*subscriber), testing::ElementsAre("first", "second"));
}

TEST_F(SlicesTest, ChannelsOfManyBytesAreListedByAWorker) {
  std::vector<std::shared_ptr<Inbox>> inboxes;
  for (int i = 0; i < 20; ++i) inboxes.push_back(Listen("short" + std::to_string(i)));
  EXPECT_FALSE(Run({"PUBSUB", "CHANNELS", "*"}).aside);
  for (int i = 0; i < 100; ++i) inboxes.push_back(Listen(std::to_string(i) + std::string(16'000, 'c')));
  const Ran found = Run({"PUBSUB", "CHANNELS", "s*"});
  EXPECT_TRUE(found.aside);
  EXPECT_THAT(found.reply, StartsWith("*20\r\n"));
}

// Commands that are quick by themselves may be slow in a pipeline: here each is compared with hundreds of patterns.
TEST_F(SlicesTest, APipelineStopsWhenItsTimeIsOver) {
  for (int i = 0; i < 300; ++i) many_.push_back(ListenTo("*x" + std::to_string(i)));
  const std::vector<Words> commands(20'000, Words{"PUBLISH", "channel", "m"});
  const CommandBatch batch = test::BatchOf(commands);
  std::string out;
  protocol::ReplyWriter reply(out);
  size_t rounds = 0, executed = 0;
  while (executed < batch.size()) {
    outcome = dispatcher->Execute(session, batch, executed, reply);
    ASSERT_FALSE(outcome.deferred);
    ASSERT_TRUE(outcome.wait == Wait::kTurn || executed + outcome.executed == batch.size());
    executed += outcome.executed;
    ++rounds;
  }
  EXPECT_GE(rounds, 5U);
  EXPECT_EQ(out.size(), 4 * batch.size());
}

// ---- events

class SlowEventsTest : public SlicesTest {
 protected:
  SlowEventsTest() {
    events.Configure("KEg");
    ListenToMany("__key");
    ListenToMany("__key*");
    listener_ = ListenTo("__keyevent@0__:*");
  }
  void Make(const std::string& name) { ASSERT_EQ(Run({"BF.ADD", name, "x"}).reply, ":1\r\n"); }

  std::shared_ptr<Inbox> listener_;
};

TEST_F(SlowEventsTest, AChangeDoesNotWaitForPatterns) {
  Make("a");
  const Ran deleted = Run({"DEL", "a"});
  EXPECT_FALSE(deleted.aside);
  EXPECT_EQ(deleted.reply, ":1\r\n");
  EXPECT_EQ(workers_.Waiting(), 1U);
  EXPECT_TRUE(Taken(*listener_).empty());
  RunWorkers();
  EXPECT_THAT(Taken(*listener_), testing::ElementsAre("a"));
}

TEST_F(SlowEventsTest, EventsKeepTheirOrder) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) Make(names.emplace_back(std::to_string(i)));
  for (const std::string& name : names) {
    Run({"DEL", name});
    if (name == "20") workers_.RunNext();
  }
  RunWorkers();
  EXPECT_EQ(Taken(*listener_), names);
}

TEST_F(SlowEventsTest, ChangesWaitWhileTooManyEventsDo) {
  Make("kept");
  for (size_t bytes = 0; bytes <= KeyspaceEvents::kManyBytes; bytes += 60'000) {
    events.Publish(EventClass::kGeneric, "event", std::string(60'000, 'n'));
  }
  ASSERT_TRUE(events.IsBehind());
  EXPECT_EQ(Run({"BF.EXISTS", "kept", "x"}).reply, ":1\r\n");
  EXPECT_EQ(Run({"DEL", "kept"}).reply, "");
  EXPECT_EQ(outcome.wait, Wait::kMoment);
  RunWorkers();
  EXPECT_FALSE(events.IsBehind());
  EXPECT_EQ(Run({"DEL", "kept"}).reply, ":1\r\n");
}

TEST_F(SlowEventsTest, EventsThatWaitTakeABoundedMemory) {
  const size_t count = 2 * KeyspaceEvents::kMaxBytes / 60'000;
  for (size_t i = 0; i < count; ++i) events.Publish(EventClass::kGeneric, "event", std::string(60'000, 'n'));
  EXPECT_GT(events.dropped(), count / 3);
  RunWorkers();
  EXPECT_EQ(Taken(*listener_).size(), count - events.dropped());
}

TEST_F(SlowEventsTest, NothingIsPublishedOnceTheyStop) {
  Make("a");
  Run({"DEL", "a"});
  events.Stop();
  RunWorkers();
  events.Publish(EventClass::kGeneric, "event", "n");
  EXPECT_TRUE(Taken(*listener_).empty());
  EXPECT_EQ(workers_.Waiting(), 0U);
}

// ---- replies

TEST_F(SlicesTest, LongMessagesOfPingAndEchoAreCopiedByAWorker) {
  const std::string text(300'000, 'm');
  for (const char* const command : {"PING", "ECHO"}) {
    EXPECT_FALSE(Run({command, "short"}).aside);
    const Ran ran = Run({command, text});
    EXPECT_TRUE(ran.aside);
    EXPECT_EQ(ran.reply, "$300000\r\n" + text + "\r\n");
  }
  Run({"SUBSCRIBE", "c"});
  const Ran ran = Run({"PING", text});
  EXPECT_TRUE(ran.aside);
  EXPECT_EQ(ran.reply, "*2\r\n$4\r\npong\r\n$300000\r\n" + text + "\r\n");
}

TEST_F(SlicesTest, ManySubscriptionsEndOnAWorker) {
  Words subscribe{"SUBSCRIBE"};
  for (int i = 0; i < 1'000; ++i) subscribe.push_back("c" + std::to_string(i));
  Run(subscribe);
  EXPECT_EQ(pub_sub.channel_count(), 1'000U);
  EXPECT_EQ(Run({"RESET"}).reply, "+RESET\r\n");
  EXPECT_EQ(Run({"BF.EXISTS", "f", "x"}).reply, ":0\r\n");
  RunWorkers();
  EXPECT_EQ(pub_sub.channel_count(), 0U);
  Run({"SUBSCRIBE", "c"});
  Run({"RESET"});
  EXPECT_EQ(pub_sub.channel_count(), 0U);
}

}  // namespace
}  // namespace bitsieve::server
