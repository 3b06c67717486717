#include "server/net/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/server/net/running_server.h"

namespace bitsieve::server {
namespace {

using testing::Client;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::RunningServer;

TEST(Listener, HandsConnectionsToTheLoopsInTurn) {
  RunningServer server(3);
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(server.Connect());
    ASSERT_EQ(clients.back().Ask("PING", 7), "+PONG\r\n");
  }
  for (const LoopStats& loop : server.backend_.stats.loops) EXPECT_EQ(loop.connections_accepted, 10);
}

TEST(Listener, ListensOnSeveralAddressesWithOnePort) {
  RunningServer server(2, "127.0.0.1, ::1");
  ASSERT_EQ(server.net_->addresses().size(), 2);
  Client v4(server.port(), "127.0.0.1");
  Client v6(server.port(), "::1");
  EXPECT_EQ(v4.Ask("PING", 7), "+PONG\r\n");
  EXPECT_EQ(v6.Ask("PING", 7), "+PONG\r\n");
  const auto records = server.backend_.clients.All();
  ASSERT_EQ(records.size(), 2);
  EXPECT_TRUE(records[0]->address.starts_with("127.0.0.1:") || records[1]->address.starts_with("127.0.0.1:"));
  EXPECT_TRUE(records[0]->is_local && records[1]->is_local);
  EXPECT_EQ(records[0]->address.starts_with("[::1]:"), records[0]->local_address.starts_with("[::1]:"));
}

int Option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(socket, level, name, &value, &size) == 0 ? value : -1;
}

// The server's end of its latest connection, which has the highest descriptor.
int LatestSocketOf(uint16_t port) {
  int latest = -1;
  for (int socket = 0; socket < 1024; ++socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (ntohs(address.sin_port) == port && Option(socket, SOL_SOCKET, SO_ACCEPTCONN) == 0) latest = socket;
  }
  return latest;
}

TEST(Listener, ConnectionsHaveTheOptionsOfTheMoment) {
  RunningServer server(1);
  std::vector<Client> clients;
  for (const uint32_t keepalive_s : {30, 30, 2, 0, 60}) {
    server.settings_.tcp_keepalive_s = keepalive_s;
    clients.push_back(server.Connect());
    ASSERT_EQ(clients.back().Ask("PING", 7), "+PONG\r\n");
    const int socket = LatestSocketOf(server.port());
    EXPECT_NE(Option(socket, IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_EQ(Option(socket, SOL_SOCKET, SO_KEEPALIVE), keepalive_s == 0 ? 0 : 1) << keepalive_s;
    if (keepalive_s == 0) continue;
    EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_KEEPIDLE), keepalive_s);
    EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_KEEPINTVL), std::max(1, static_cast<int>(keepalive_s) / 3));
    EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_KEEPCNT), 3);
  }
}

TEST(Listener, APortInUseIsNamed) {
  const RunningServer first;
  testing::Backend backend;
  const test::Default<NetSettings> settings;
  NetServer second(1, backend.environment(), test::Default<protocol::RequestLimits>(), settings);
  const auto listening = second.Listen("127.0.0.1", first.port());
  ASSERT_FALSE(listening);
  EXPECT_THAT(listening.error(), HasSubstr("127.0.0.1:" + std::to_string(first.port())));
  EXPECT_THAT(listening.error(), HasSubstr("in use"));
}

TEST(Listener, OverMaxclientsIsToldAndClosed) {
  RunningServer server;
  server.settings_.maxclients = 2;
  auto first = std::make_unique<Client>(server.port());
  Client second = server.Connect();
  ASSERT_EQ(first->Ask("PING", 7), "+PONG\r\n");
  ASSERT_EQ(second.Ask("PING", 7), "+PONG\r\n");
  EXPECT_EQ(server.Connect().ReceiveAll(), "-ERR max number of clients reached\r\n");
  EXPECT_EQ(server.Sum(&LoopStats::connections_rejected), 1);
  EXPECT_EQ(server.Sum(&LoopStats::connections_accepted), 2);
  // One leaves, and there is room for another.
  first.reset();
  EXPECT_TRUE(Eventually([&] { return server.backend_.clients.Size() == 1; }));
  EXPECT_EQ(server.Connect().Ask("PING", 7), "+PONG\r\n");
}

TEST(Listener, AcceptsAgainWhenDescriptorsAreThereAgain) {
  RunningServer server;
  Client first = server.Connect();
  ASSERT_EQ(first.Ask("PING", 7), "+PONG\r\n");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // The client's own socket takes the last descriptor that the limit leaves.
  const int lowest_free = dup(0);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  // Nothing is logged during this: UBSan's check of the formatter's objects needs descriptors of its own.
  const auto log_level = spdlog::get_level();
  spdlog::set_level(spdlog::level::off);
  const rlimit low{static_cast<rlim_t>(lowest_free) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  Client starved = server.Connect();
  ASSERT_TRUE(starved.connected());
  // The others are still served.
  EXPECT_EQ(first.Ask("PING", 7), "+PONG\r\n");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  spdlog::set_level(log_level);
  EXPECT_EQ(starved.Ask("PING", 7), "+PONG\r\n");
}

}  // namespace
}  // namespace bitsieve::server
