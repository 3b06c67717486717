#include "server/process/service_manager.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "core/base/descriptor.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

using Alive = std::function<void()>;

// A service manager's end of the socket, and the environment that it gives to a service.
class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() : path_(directory_.path() + "/notify"), socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~ServiceManagerTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }

  bool HasMessage(std::chrono::milliseconds patience) const {
    pollfd wanted{socket_.get(), POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(patience.count())) == 1;
  }
  // The next datagram; empty if none comes.
  std::string Message() const {
    std::array<char, 4096> bytes;
    if (!HasMessage(std::chrono::seconds(60))) return "";
    const ssize_t length = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
  }

  const TemporaryDirectory directory_;
  const std::string path_;
  const core::Descriptor socket_;
};

ServiceManager::Progress Says(const std::string& text) {
  return [text] { return text; };
}

void NoProbe(const Alive&) {}

TEST_F(ServiceManagerTest, ReportsWhatTheServerDoes) {
  ServiceManager manager;
  manager.Loading(Says("Loading: 1 MB"));
  EXPECT_EQ(Message(), "STATUS=Loading: 1 MB\nEXTEND_TIMEOUT_USEC=30000000");
  manager.Ready("Serving", NoProbe);
  std::string ready = Message();
  while (ready.starts_with("STATUS=Loading")) ready = Message();
  EXPECT_EQ(ready, "READY=1\nSTATUS=Serving");
  manager.Reloading();
  const std::string reloading = Message();
  EXPECT_TRUE(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << reloading;
  EXPECT_GT(std::stoull(reloading.substr(reloading.find("USEC=") + 5)), 0);
  manager.Reloaded();
  EXPECT_EQ(Message(), "READY=1\nSTATUS=Serving");
  manager.Stopping(Says("Saving"));
  EXPECT_EQ(Message(), "STOPPING=1");
  EXPECT_EQ(Message(), "STATUS=Saving\nEXTEND_TIMEOUT_USEC=30000000");
}

TEST_F(ServiceManagerTest, RepeatsItsProgressWhileItLoadsAndStops) {
  std::atomic<int> loaded{0};
  ServiceManager manager;
  manager.Loading([&loaded] { return "Loading: " + std::to_string(++loaded); });
  EXPECT_TRUE(Message().starts_with("STATUS=Loading: 1\n"));
  EXPECT_TRUE(Message().starts_with("STATUS=Loading: 2\n"));
  manager.Stopping(Says("Saving"));
  std::string message;
  while (message != "STOPPING=1") message = Message();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Message(), "STATUS=Saving\nEXTEND_TIMEOUT_USEC=30000000");
}

TEST_F(ServiceManagerTest, DoesNotClaimToBeReadyByAReloadWhileItLoads) {
  ServiceManager manager;
  manager.Loading(Says("Loading"));
  manager.Reloading();
  manager.Reloaded();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Message().starts_with("STATUS=Loading\n"));
}

TEST_F(ServiceManagerTest, TheWatchdogHearsOfEachProbeThatComesBack) {
  setenv("WATCHDOG_USEC", "30000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  std::atomic<int> probes{0};
  Alive answer;
  ServiceManager manager;
  manager.Ready("Serving", [&](Alive alive) {
    answer = std::move(alive);
    ++probes;
    probes.notify_all();
  });
  EXPECT_TRUE(Message().starts_with("READY=1\n"));
  for (int i = 0; i < 3; ++i) {
    probes.wait(i);
    EXPECT_FALSE(HasMessage(std::chrono::milliseconds(100)));  // while the threads have not answered
    EXPECT_EQ(probes, i + 1);                                  // nor is there another probe until then
    const Alive alive = std::move(answer);
    alive();
    EXPECT_EQ(Message(), "WATCHDOG=1");
  }
}

TEST_F(ServiceManagerTest, AWatchdogOfAnotherProcessIsNoneOfOurs) {
  setenv("WATCHDOG_USEC", "30000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  std::atomic<bool> probed{false};
  ServiceManager manager;
  manager.Ready("Serving", [&probed](const Alive&) { probed = true; });
  EXPECT_TRUE(Message().starts_with("READY=1\n"));
  EXPECT_FALSE(HasMessage(std::chrono::milliseconds(100)));
  EXPECT_FALSE(probed);
}

TEST_F(ServiceManagerTest, AnAbstractSocketIsReached) {
  const std::string name = "@bitsieve-test-" + std::to_string(getpid());
  const core::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.c_str() + 1, name.size() - 1);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  setenv("NOTIFY_SOCKET", name.c_str(), 1);
  ServiceManager manager;
  manager.Ready("Serving", NoProbe);
  std::array<char, 64> received;
  EXPECT_EQ(::recv(socket.get(), received.data(), received.size(), 0), std::strlen("READY=1\nSTATUS=Serving"));
}

TEST_F(ServiceManagerTest, WorksWithoutAServiceManagerThatListens) {
  for (const char* address : {"/nonexistent/notify", "no address", ""}) {
    setenv("NOTIFY_SOCKET", address, 1);
    ServiceManager manager;
    manager.Loading(Says("Loading"));
    manager.Ready("Serving", NoProbe);
    manager.Stopping(Says("Saving"));
  }
  EXPECT_FALSE(HasMessage(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace bitsieve::server
