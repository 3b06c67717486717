// SLOWLOG, LATENCY and MONITOR.

#include "server/dispatch/monitoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/command_fixture.h"
#include "tests/support/manual_workers.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

class MonitoringTest : public testing::Test, protected test::CommandFixture {
 protected:
  std::vector<std::vector<std::string>> Slow() const {
    std::vector<std::vector<std::string>> commands;
    for (const SlowCommand& command : monitoring.slow_log.Newest(1000)) commands.push_back(command.arguments);
    return commands;
  }
  void KeepAll(size_t most = 128) {
    monitoring.slow_log.set_max_size(most);
    monitoring.set_slower_than_us(0);
  }
};

class SlowLogTest : public MonitoringTest {};

TEST_F(SlowLogTest, KeepsEveryCommandFromZeroMicrosecondsOn) {
  KeepAll();
  Replies({{"BF.ADD", "f", "a"}, {"BF.ADD", "f", "b"}, {"BF.ADD", "f", "c"}, {"PING"}});
  EXPECT_THAT(Slow(), ElementsAre(ElementsAre("PING"), ElementsAre("BF.ADD", "f", "c"), ElementsAre("BF.ADD", "f", "b"),
                                  ElementsAre("BF.ADD", "f", "a")));
}

TEST_F(SlowLogTest, KeepsNothingThatIsQuicker) {
  monitoring.slow_log.set_max_size(128);
  monitoring.set_slower_than_us(60'000'000);
  Replies({{"BF.ADD", "f", "a"}, {"INFO"}});
  monitoring.set_slower_than_us(-1);
  Replies({{"BF.ADD", "f", "a"}, {"INFO"}});
  EXPECT_EQ(monitoring.slow_log.Size(), 0u);
}

TEST_F(SlowLogTest, RepliesAsRedis) {
  KeepAll();
  client->set_name("me");
  Replies({{"PING"}, {"ECHO", "x"}});
  EXPECT_THAT(Reply({"SLOWLOG", "GET", "2"}),
              MatchesRegex("\\*2\r\n\\*6\r\n:1\r\n:[0-9]+\r\n:[0-9]+\r\n\\*2\r\n\\$4\r\nECHO\r\n\\$1\r\nx\r\n"
                           "\\$14\r\n127.0.0.1:5000\r\n\\$2\r\nme\r\n\\*6\r\n:0\r\n.*"));
  EXPECT_EQ(Reply({"SLOWLOG", "LEN"}), ":3\r\n");
  EXPECT_EQ(Reply({"SLOWLOG", "RESET"}), "+OK\r\n");
  EXPECT_EQ(Reply({"SLOWLOG", "LEN"}), ":1\r\n") << "SLOWLOG RESET itself";
  EXPECT_THAT(Reply({"SLOWLOG", "GET", "-2"}), HasSubstr("greater than or equal to -1"));
  EXPECT_THAT(Reply({"SLOWLOG", "GET", "x"}), testing::StartsWith("-ERR"));
  EXPECT_THAT(Reply({"SLOWLOG", "GET", "-1"}), testing::StartsWith("*4\r\n"));
}

TEST_F(SlowLogTest, KeepsTheNewest) {
  KeepAll(3);
  for (int i = 0; i < 10; ++i) Reply({"ECHO", std::to_string(i)});
  EXPECT_THAT(Slow(), ElementsAre(ElementsAre("ECHO", "9"), ElementsAre("ECHO", "8"), ElementsAre("ECHO", "7")));
  monitoring.slow_log.set_max_size(1);
  EXPECT_THAT(Slow(), ElementsAre(ElementsAre("ECHO", "9")));
  monitoring.slow_log.set_max_size(0);
  Reply({"PING"});
  EXPECT_EQ(monitoring.slow_log.Size(), 0u);
}

TEST_F(SlowLogTest, CutsArguments) {
  KeepAll();
  Words command{"BF.MADD", "f", std::string(200, 'x')};
  for (int i = 0; i < 40; ++i) command.push_back(std::to_string(i));
  Reply(command);
  const auto arguments = Slow().front();
  ASSERT_THAT(arguments, SizeIs(32));
  EXPECT_EQ(arguments[2], std::string(128, 'x') + "... (72 more bytes)");
  EXPECT_EQ(arguments[31], "... (12 more arguments)");
}

TEST_F(SlowLogTest, HidesPasswords) {
  KeepAll();
  Replies({{"HELLO", "3", "AUTH", "default", "open"}, {"AUTH", "default", "open"}, {"CONFIG", "SET", "timeout", "7"}});
  EXPECT_THAT(Slow(), ElementsAre(ElementsAre("CONFIG", "SET", "(redacted)"), ElementsAre("AUTH", "(redacted)"),
                                  ElementsAre("HELLO", "(redacted)")));
}

TEST_F(SlowLogTest, KeepsTheCommandsOfATransaction) {
  KeepAll();
  Replies({{"MULTI"}, {"BF.ADD", "f", "a"}, {"BF.MADD", "f", "b", "c"}, {"EXEC"}});
  EXPECT_THAT(Slow(), ElementsAre(ElementsAre("BF.MADD", "f", "b", "c"), ElementsAre("BF.ADD", "f", "a"),
                                  ElementsAre("MULTI")));
}

TEST_F(SlowLogTest, CommandsThatAreTimedTogetherAreOneEntry) {
  const CommandRow& row = *AllCommands().Find("bf.add");
  const std::vector<std::string_view> arguments{"BF.ADD", "f", "a"};
  monitoring.slow_log.set_max_size(10);
  monitoring.set_slower_than_us(10'000);
  monitoring.RecordSlow(row, arguments, 63, *client, 9'999'999);
  monitoring.RecordSlow(row, arguments, 63, *client, 10'000'000);
  EXPECT_THAT(Slow(), ElementsAre(ElementsAre("BF.ADD", "f", "a", "... (63 more commands in the same time)")));
  EXPECT_THAT(monitoring.SlowSummary(), HasSubstr("1 commands took longer than slowlog-log-slower-than, the slowest of "
                                                  "them, \"BF.ADD\", 10 ms"));
  EXPECT_EQ(monitoring.SlowSummary(), "");
}

class AsideMonitoringTest : public MonitoringTest {};

TEST_F(AsideMonitoringTest, WhatRunsAsideIsTimedThere) {
  test::ManualWorkers workers;
  ServeBy(&workers);
  KeepAll();
  Words command{"BF.MADD", "f"};
  for (int i = 0; i < 2000; ++i) command.push_back(std::to_string(i));
  std::string out;
  protocol::ReplyWriter reply(out);
  const std::vector<Words> commands{command};
  outcome = dispatcher->Execute(session, test::BatchOf(commands), 0, reply);
  ASSERT_TRUE(outcome.deferred);
  EXPECT_THAT(Slow(), SizeIs(0));
  outcome.deferred([&](const WriteReply& write) { write(reply); });
  workers.RunNext();
  ASSERT_THAT(Slow(), SizeIs(1));
  EXPECT_THAT(Slow().front(), SizeIs(32));
  EXPECT_EQ(Slow().front()[1], "f");
}

// Returns the words of a row's arguments, without brackets and the like.
std::vector<std::string> WordsOf(std::string_view syntax) {
  std::vector<std::string> words(1);
  for (const char c : syntax) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

TEST(ShownArgumentsTest, NoCommandShowsWhatMayBeASecret) {
  size_t secret = 0;
  for (const CommandRow& row : AllCommands().all_rows()) {
    const std::vector<std::string> words = WordsOf(row.syntax);
    const bool may_hold_one = std::ranges::any_of(
        words, [](const std::string& word) { return word == "password" || word == "rule" || word == "value"; });
    // Another command, which may be AUTH.
    const bool takes_command = std::ranges::count(words, "command") != 0 && std::ranges::count(words, "arg") != 0;
    EXPECT_EQ((row.flags & kSecret) != 0, may_hold_one || takes_command) << row.name;
    secret += (row.flags & kSecret) != 0;
  }
  EXPECT_EQ(secret, 5U) << "AUTH, HELLO, ACL SETUSER, ACL DRYRUN, CONFIG SET";
}

class LatencyTest : public MonitoringTest {};

TEST_F(LatencyTest, NotesNothingWithoutAThreshold) {
  monitoring.latency.Record(LatencyEvent::kSnapshot, 5, 100);
  EXPECT_EQ(Reply({"LATENCY", "LATEST"}), "*0\r\n");
}

TEST_F(LatencyTest, KeepsTheLongestOfASecond) {
  monitoring.latency.set_threshold_ms(10);
  LatencyMonitor& latency = monitoring.latency;
  latency.Record(LatencyEvent::kLogSync, 5, 9);
  EXPECT_EQ(Reply({"LATENCY", "LATEST"}), "*0\r\n");
  latency.Record(LatencyEvent::kLogSync, 5, 20);
  latency.Record(LatencyEvent::kLogSync, 5, 30);
  latency.Record(LatencyEvent::kLogSync, 5, 25);
  EXPECT_EQ(Reply({"LATENCY", "LATEST"}), "*1\r\n*4\r\n$8\r\nlog-sync\r\n:5\r\n:30\r\n:30\r\n");
  latency.Record(LatencyEvent::kLogSync, 7, 11);
  EXPECT_EQ(Reply({"LATENCY", "LATEST"}), "*1\r\n*4\r\n$8\r\nlog-sync\r\n:7\r\n:11\r\n:30\r\n");
  EXPECT_EQ(Reply({"LATENCY", "RESET", "command", "nothing"}), ":0\r\n");
  EXPECT_EQ(Reply({"LATENCY", "RESET"}), ":1\r\n");
  EXPECT_EQ(Reply({"LATENCY", "LATEST"}), "*0\r\n");
}

TEST_F(LatencyTest, NotesQuickCommandsApart) {
  monitoring.latency.set_threshold_ms(5);
  const std::vector<std::string_view> arguments{"x"};
  monitoring.RecordSlow(*AllCommands().Find("bf.add"), arguments, 0, *client, 5'000'000);
  monitoring.RecordSlow(*AllCommands().Find("bf.info"), arguments, 0, *client, 6'000'000);
  EXPECT_EQ(monitoring.latency.Of(LatencyEvent::kFastCommand).longest_ms, 5u);
  EXPECT_EQ(monitoring.latency.Of(LatencyEvent::kCommand).longest_ms, 6u);
  EXPECT_EQ(monitoring.slow_log.Size(), 0u);
}

TEST_F(LatencyTest, HistogramsAreOfCommandsThatRan) {
  Replies({{"BF.ADD", "f", "a"}, {"CLIENT", "ID"}, {"CLIENT", "GETNAME"}});
  EXPECT_THAT(Reply({"LATENCY", "HISTOGRAM", "bf.add"}),
              MatchesRegex("\\*2\r\n\\$6\r\nbf.add\r\n\\*4\r\n\\$5\r\ncalls\r\n:1\r\n\\$14\r\nhistogram_usec\r\n"
                           "\\*2\r\n:[0-9]+\r\n:1\r\n"));
  EXPECT_THAT(Reply({"LATENCY", "HISTOGRAM", "client"}), HasSubstr("client|getname"));
  EXPECT_EQ(Reply({"LATENCY", "HISTOGRAM", "nothing", "bf.exists"}), "*0\r\n");
  EXPECT_THAT(Reply({"LATENCY", "HISTOGRAM"}), HasSubstr("bf.add"));
}

// Fixture with a monitor that sees the commands of the fixture's client.
class MonitorTest : public MonitoringTest {
 protected:
  void Watch() { watcher_.Monitor(monitoring.feed); }
  // Returns the lines without their times.
  std::vector<std::string> Lines() {
    std::string out;
    protocol::ReplyWriter reply(out);
    watcher_.WriteMessages(reply, std::numeric_limits<size_t>::max());
    std::vector<std::string> lines;
    for (size_t at = 0, end; (end = out.find("\r\n", at)) != std::string::npos; at = end + 2) {
      lines.push_back(out.substr(out.find(' ', at) + 1, end - out.find(' ', at) - 1));
    }
    return lines;
  }

  Subscriptions watcher_{pub_sub, nullptr};
};

TEST_F(MonitorTest, SeesCommandsAsRedisShowsThem) {
  Reply({"PING"});
  Watch();
  Replies({{"BF.ADD", "f", "a"}, {"BF.ADD", "f", "b"}, {"ECHO", std::string("\"\\\n\x01\xff z", 7)}});
  EXPECT_THAT(Lines(), ElementsAre(R"([0 127.0.0.1:5000] "BF.ADD" "f" "a")", R"([0 127.0.0.1:5000] "BF.ADD" "f" "b")",
                                   R"([0 127.0.0.1:5000] "ECHO" "\"\\\n\x01\xff z")"));
}

TEST_F(MonitorTest, SeesNoPasswordsAndNoCommandsForTheOperator) {
  Watch();
  Replies(
      {{"AUTH", "default", "secret"}, {"HELLO", "2", "AUTH", "default", "secret"}, {"CONFIG", "SET", "timeout", "1"}});
  Replies({{"CONFIG", "GET", "timeout"}, {"NONSENSE"}, {"BF.ADD", "f"}});
  EXPECT_THAT(Lines(), ElementsAre(R"x([0 127.0.0.1:5000] "AUTH" "(redacted)")x",
                                   R"x([0 127.0.0.1:5000] "HELLO" "(redacted)")x"));
}

// Each command that holds a secret, itself and within each that takes a command as arguments, also misspelt.
TEST_F(MonitorTest, NoSecretIsSeenThereOrInTheSlowLog) {
  const std::vector<Words> secrets{{"AUTH", "SECRET"},
                                   {"AUTH", "default", "SECRET"},
                                   {"AUTHH", "SECRET"},
                                   {"HELLO", "3", "AUTH", "default", "SECRET"},
                                   {"ACL", "SETUSER", "u", ">SECRET"},
                                   {"ACL", "SETUSER", "u", "<SECRET"},
                                   {"ACL", "SETUSER", "u", "(>SECRET)"},
                                   {"CONFIG", "SET", "requirepass", "SECRET"},
                                   {"CONFIG", "SET", "nonsense", "SECRET"}};
  const std::vector<Words> carriers{
      {}, {"ACL", "DRYRUN", "default"}, {"ACL", "DRYRUN", "default", "ACL", "DRYRUN", "default"}};
  KeepAll(1000);
  Watch();
  for (const Words& carrier : carriers) {
    for (const Words& secret : secrets) {
      Words command = carrier;
      command.insert(command.end(), secret.begin(), secret.end());
      Reply(command);
      Replies({{"MULTI"}, command, {"EXEC"}});
    }
  }
  EXPECT_GE(Slow().size(), carriers.size() * secrets.size());
  for (const auto& arguments : Slow()) EXPECT_THAT(arguments, testing::Each(Not(HasSubstr("SECRET"))));
  for (const std::string& line : Lines()) EXPECT_THAT(line, Not(HasSubstr("SECRET")));
  for (const AccessLogEntry& entry : access_log.Entries(1000)) {
    EXPECT_THAT(entry.refusal.object + entry.refusal.username + entry.refusal.client, Not(HasSubstr("SECRET")));
  }
  EXPECT_THAT(Reply({"CLIENT", "LIST"}) + Reply({"INFO", "everything"}), Not(HasSubstr("SECRET")));
}

TEST_F(MonitorTest, SeesTransactionsWhenTheyRun) {
  Watch();
  Replies({{"MULTI"}, {"BF.ADD", "f", "a"}});
  EXPECT_THAT(Lines(), ElementsAre(R"([0 127.0.0.1:5000] "MULTI")"));
  Reply({"EXEC"});
  EXPECT_THAT(Lines(), ElementsAre(R"([0 127.0.0.1:5000] "BF.ADD" "f" "a")", R"([0 127.0.0.1:5000] "EXEC")"));
}

TEST_F(MonitorTest, IsAStateOfTheConnection) {
  EXPECT_EQ(Reply({"MONITOR"}), "+OK\r\n");
  EXPECT_TRUE(monitoring.feed.Any());
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), HasSubstr(" flags=O "));
  EXPECT_EQ(Reply({"MONITOR"}), "+OK\r\n");
  EXPECT_EQ(Reply({"RESET"}), "+RESET\r\n");
  EXPECT_FALSE(monitoring.feed.Any());
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), Not(HasSubstr("flags=O")));
  EXPECT_THAT(Replies({{"MULTI"}, {"MONITOR"}}), HasSubstr("-ERR"));
}

TEST_F(MonitorTest, RepliesAreTheSame) {
  const std::vector<Words> commands{{"BF.RESERVE", "g", "0.01", "100", "SEED", "1"},
                                    {"BF.ADD", "g", "a"},
                                    {"BF.ADD", "g", "a"},
                                    {"BF.EXISTS", "g", "b"},
                                    {"DEL", "g"}};
  const std::string without = Replies(commands);
  Watch();
  EXPECT_EQ(Replies(commands), without);
  EXPECT_THAT(Lines(), SizeIs(commands.size()));
}

TEST_F(MonitorTest, AMonitorThatDoesNotReadIsCutOff) {
  Watch();
  pub_sub.inbox_limit_bytes = 10'000;
  for (int i = 0; i < 1000; ++i) Reply({"PING"});
  EXPECT_TRUE(watcher_.inbox().overflowed());
  EXPECT_EQ(watcher_.inbox().bytes(), 0u);
}

}  // namespace
}  // namespace bitsieve::server
