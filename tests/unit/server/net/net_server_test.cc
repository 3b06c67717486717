#include "server/net/net_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/process/file_limit.h"
#include "tests/unit/server/net/running_server.h"

namespace bitsieve::server {
namespace {

using testing::Client;
using testing::Command;
using testing::Eventually;
using testing::Repeat;
using testing::RunningServer;

std::string Bulk(std::string_view bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n";
}

TEST(NetServer, AnswersAPipelineOfManyWindowsInOrder) {
  RunningServer server;
  Client client = server.Connect();
  std::string commands;
  std::string replies;
  for (int i = 0; i < 50000; ++i) {
    const std::string text = std::to_string(i);
    commands += Command({"ECHO", text});
    replies += Bulk(text);
  }
  auto received = std::async(std::launch::async, [&] { return client.Receive(replies.size()); });
  client.Send(commands);
  EXPECT_TRUE(received.get() == replies);
  EXPECT_EQ(server.Sum(&LoopStats::input_bytes), commands.size());
  EXPECT_TRUE(Eventually([&] { return server.Sum(&LoopStats::output_bytes) == replies.size(); }));
}

TEST(NetServer, ACommandMayComeByteByByte) {
  RunningServer server;
  Client client = server.Connect();
  for (const char byte : Command({"ECHO", "hello"}) + "echo there\r\n") client.Send({&byte, 1});
  EXPECT_EQ(client.Receive(22), "$5\r\nhello\r\n$5\r\nthere\r\n");
}

// The loop receives so much at once: a call that fills its room may have left something, or not.
TEST(NetServer, AnswersWhateverTheSizeOfWhatIsReceived) {
  RunningServer server(1);
  Client client = server.Connect();
  for (const size_t around : {EventLoop::kScratchBytes, 2 * EventLoop::kScratchBytes}) {
    for (size_t size = around - 2; size <= around + 2; ++size) {
      std::string argument(size - 100, 'e');
      while (Command({"ECHO", argument}).size() < size) argument += 'e';
      ASSERT_TRUE(client.Send(Command({"ECHO", argument})));
      EXPECT_TRUE(client.Receive(Bulk(argument).size()) == Bulk(argument));
    }
  }
}

TEST(NetServer, AHugeArgumentComesBackWhole) {
  RunningServer server;
  Client client = server.Connect();
  std::string huge(30 << 20, ' ');
  for (size_t i = 0; i < huge.size(); ++i) huge[i] = static_cast<char>(i * 31 >> 8);
  const std::string command = Command({"ECHO", huge}) + Command({"PING"});
  const std::string expected = Bulk(huge) + "+PONG\r\n";
  auto received = std::async(std::launch::async, [&] { return client.Receive(expected.size()); });
  client.Send(command);
  EXPECT_TRUE(received.get() == expected);
}

TEST(NetServer, IsProvedAliveByEachOfItsThreads) {
  RunningServer server(2);
  std::promise<void> hung, released;
  server.backend_.control.on_get_options = [&] {
    hung.set_value();
    released.get_future().wait();
  };
  const auto prove = [&server] {
    auto proved = std::make_shared<std::promise<void>>();
    server.net_->ProveAlive([proved] { proved->set_value(); });
    return proved->get_future();
  };
  EXPECT_EQ(prove().wait_for(RunningServer::kPatience), std::future_status::ready);
  Client client = server.Connect();
  client.Send("CONFIG GET port\r\n");
  hung.get_future().wait();
  const auto proof = prove();
  EXPECT_EQ(proof.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  released.set_value();
  EXPECT_EQ(proof.wait_for(RunningServer::kPatience), std::future_status::ready);
}

TEST(NetServer, ALongClientDoesNotKeepOthersWaiting) {
  RunningServer server(1);
  Client busy = server.Connect();
  Client other = server.Connect();
  std::atomic<bool> done{false};
  std::thread flood([&] {
    const std::string commands = Repeat(Command({"PING"}), 20000);
    while (!done) busy.Send(commands);
  });
  std::thread drain([&] {
    while (!busy.Receive(70000).empty() && !done) {
    }
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
  done = true;
  // Closes the connection: the drain may be waiting for replies to commands that the flood no longer sends.
  server.Stop(std::chrono::milliseconds(100));
  flood.join();
  drain.join();
}

TEST(NetServer, AClientThatDoesNotReadIsClosedAtTheOutputLimit) {
  RunningServer server;
  server.settings_.output_limit_bytes = 8 << 20;
  Client deaf = server.Connect();
  Client other = server.Connect();
  const std::string command = Command({"ECHO", std::string(1 << 20, 'x')});
  bool open = true;
  for (int i = 0; i < 200 && open; ++i) open = deaf.Send(command);
  EXPECT_FALSE(open);
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 1; }));
  EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
}

TEST(NetServer, ASlowReaderGetsAllItsReplies) {
  RunningServer server;
  Client client = server.Connect();
  const std::string argument(1 << 20, 'y');
  constexpr size_t kTimes = 40;
  // More than the sockets hold: the server reads on while the replies wait.
  for (size_t i = 0; i < kTimes; ++i) ASSERT_TRUE(client.Send(Command({"ECHO", argument})));
  EXPECT_TRUE(client.Receive(kTimes * Bulk(argument).size()) == Repeat(Bulk(argument), kTimes));
  EXPECT_EQ(client.Ask("PING", 7), "+PONG\r\n");
}

TEST(NetServer, AHalfClosedClientGetsItsReplies) {
  RunningServer server;
  Client client = server.Connect();
  client.Send(Repeat(Command({"PING"}), 5000) + "*1\r\n$4\r\nPI");
  client.ShutdownSend();
  EXPECT_EQ(client.ReceiveAll(), Repeat("+PONG\r\n", 5000));
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 0; }));
}

TEST(NetServer, AHalfClosedSlowReaderGetsItsReplies) {
  RunningServer server;
  Client client = server.Connect();
  const std::string argument(1 << 20, 'y');
  for (size_t i = 0; i < 30; ++i) ASSERT_TRUE(client.Send(Command({"ECHO", argument})));
  client.ShutdownSend();
  EXPECT_TRUE(client.ReceiveAll() == Repeat(Bulk(argument), 30));
}

TEST(NetServer, AProtocolErrorIsToldBeforeTheClose) {
  RunningServer server;
  Client client = server.Connect();
  client.Send(Command({"PING"}) + "*1\r\n:1\r\n" + std::string(100000, 'z'));
  const std::string replies = client.ReceiveAll();
  EXPECT_TRUE(replies.starts_with("+PONG\r\n-ERR Protocol error: ")) << replies;
  EXPECT_TRUE(replies.ends_with("\r\n"));
  EXPECT_EQ(server.Sum(&LoopStats::protocol_errors), 1);
}

TEST(NetServer, QuitIsAnsweredAndCloses) {
  RunningServer server;
  Client client = server.Connect();
  client.Send("PING\r\nQUIT\r\nPING\r\n");
  EXPECT_EQ(client.ReceiveAll(), "+PONG\r\n+OK\r\n");
}

TEST(NetServer, AnIdleClientIsClosedAfterTheTimeout) {
  RunningServer server;
  Client idle = server.Connect();
  EXPECT_EQ(idle.Ask("PING", 7), "+PONG\r\n");
  server.settings_.timeout_s = 1;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(idle.ReceiveAll(), "");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 0; }));
}

TEST(NetServer, ADeferredReplyHoldsBackWhatIsBehindIt) {
  RunningServer server(1);
  Client client = server.Connect();
  Client other = server.Connect();
  client.Send(Command({"PING"}) + Command({"SAVE"}) + Command({"ECHO", "a"}));
  auto done = server.backend_.control.TakeSave();
  client.Send(Command({"ECHO", "b"}));
  EXPECT_EQ(client.Receive(7), "+PONG\r\n");
  EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
  std::thread([&] { done({}); }).join();
  EXPECT_EQ(client.Receive(19), "+OK\r\n$1\r\na\r\n$1\r\nb\r\n");
}

TEST(NetServer, ADeferredReplyToAClientThatLeftIsDropped) {
  RunningServer server(1);
  Client other = server.Connect();
  {
    Client client = server.Connect();
    client.Send(Command({"SAVE"}));
  }
  auto done = server.backend_.control.TakeSave();
  done({});
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 1; }));
  EXPECT_EQ(other.Ask("PING", 7), "+PONG\r\n");
}

TEST(NetServer, ADeferredReplyAfterTheServerIsGoneIsDropped) {
  testing::FakeControl::Done done;
  {
    RunningServer server(1);
    Client client = server.Connect();
    client.Send(Command({"SAVE"}));
    done = server.backend_.control.TakeSave();
    server.Stop(std::chrono::milliseconds(0));
    EXPECT_EQ(client.ReceiveAll(), "");
  }
  done({});
}

TEST(NetServer, AWaitingClientIsNotIdle) {
  RunningServer server(1);
  Client waiting = server.Connect();
  waiting.Send(Command({"SAVE"}));
  auto done = server.backend_.control.TakeSave();
  server.settings_.timeout_s = 1;
  Client idle = server.Connect();
  EXPECT_EQ(idle.ReceiveAll(), "");
  done({});
  EXPECT_EQ(waiting.Receive(5), "+OK\r\n");
}

TEST(NetServer, StoppingAnswersWhatWasSent) {
  RunningServer server;
  std::vector<Client> clients;
  const std::string argument(1 << 20, 'q');
  for (int i = 0; i < 4; ++i) {
    clients.push_back(server.Connect());
    ASSERT_EQ(clients.back().Ask("PING", 7), "+PONG\r\n");
  }
  for (Client& client : clients) {
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(client.Send(Command({"ECHO", argument})));
  }
  auto stopped = std::async(std::launch::async, [&] { server.Stop(); });
  for (Client& client : clients) EXPECT_TRUE(client.ReceiveAll() == Repeat(Bulk(argument), 8));
  stopped.get();
  EXPECT_FALSE(server.Connect().connected());
  EXPECT_EQ(server.backend_.clients.Size(), 0);
}

TEST(NetServer, StoppingWaitsForADeferredReply) {
  RunningServer server;
  Client client = server.Connect();
  client.Send(Command({"SAVE"}) + Command({"PING"}));
  auto done = server.backend_.control.TakeSave();
  auto stopped = std::async(std::launch::async, [&] { server.Stop(); });
  EXPECT_TRUE(Eventually([&] { return !server.Connect().connected(); }));
  done({});
  EXPECT_EQ(client.ReceiveAll(), "+OK\r\n+PONG\r\n");
  stopped.get();
}

// The loop is busy when its idle sweep falls due and when it is asked to stop: the sweep's handler is then queued after
// the stop, which can no longer cancel it. It used to begin the next sweep, and the next, for ever.
TEST(NetServer, ASweepThatFallsDueWhileStoppingDoesNotKeepTheLoop) {
  RunningServer server(1);
  std::promise<void> busy;
  server.backend_.control.on_get_options = [&busy] {
    busy.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // longer than from one sweep to the next
  };
  Client client = server.Connect();
  client.Send(Command({"CONFIG", "GET", "*"}) + Command({"QUIT"}));
  busy.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { server.Stop(std::chrono::milliseconds(0)); });
  ASSERT_EQ(stopped.wait_for(RunningServer::kPatience), std::future_status::ready);
}

TEST(NetServer, StoppingDoesNotWaitForEverForAClientThatDoesNotRead) {
  RunningServer server;
  Client deaf = server.Connect();
  const std::string command = Command({"ECHO", std::string(1 << 20, 'x')});
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(deaf.Send(command));
  const auto begin = std::chrono::steady_clock::now();
  server.Stop(std::chrono::milliseconds(200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(server.backend_.clients.Size(), 0);
}

TEST(NetServer, ServesTwoThousandConnections) {
  constexpr size_t kClients = 2000;
  // Both ends are in this process.
  if (RaiseFileLimit(2 * kClients + kReservedFiles) < 2 * kClients + kReservedFiles) {
    GTEST_SKIP() << "the system allows for fewer files";
  }
  RunningServer server(4);
  std::vector<Client> clients;
  for (size_t i = 0; i < kClients; ++i) clients.push_back(server.Connect());
  for (size_t i = 0; i < kClients; ++i) clients[i].Send(Command({"ECHO", std::to_string(i)}));
  for (size_t i = 0; i < kClients; ++i) {
    const std::string expected = Bulk(std::to_string(i));
    ASSERT_EQ(clients[i].Receive(expected.size()), expected);
  }
  EXPECT_EQ(server.backend_.clients.Size(), kClients);
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 0; }));
}

TEST(NetServer, ClientsComeAndGoOnAllLoops) {
  RunningServer server(3);
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        Client client = server.Connect();
        if (client.Ask("PING", 7) == "+PONG\r\n") ++answered;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answered, 400);
  EXPECT_EQ(server.Sum(&LoopStats::connections_accepted), 400);
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 0; }));
}

}  // namespace
}  // namespace bitsieve::server
