// The server behind each of its doors: TCP, TLS and the Unix socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "server/net/net_server.h"
#include "tests/unit/server/net/running_server.h"
#include "tests/unit/server/net/tls_fixture.h"

namespace bitsieve::server {
namespace {

using testing::Backend;
using testing::Client;
using testing::Command;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::Repeat;

class Transports : public ::testing::Test {
 protected:
  void Start() {
    spdlog::default_logger_raw();  // as in RunningServer
    net_ = std::make_unique<NetServer>(2, backend_.environment(), limits_, settings_);
    const auto by_tls = net_->ListenByTls("127.0.0.1", 0, files_.Settings());
    ASSERT_TRUE(by_tls) << by_tls.error();
    const auto local = net_->ListenOnUnixSocket(path_, 0700);
    ASSERT_TRUE(local) << local.error();
    net_->Start();
  }
  // Connected to the TLS port, without a handshake so far.
  Socket ConnectByTls(const TlsContext& context) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(net_->tls_port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return Connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address, &context);
  }
  Socket ConnectToUnixSocket() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    return Connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, nullptr);
  }
  // Sends all, and waits for so many bytes; fewer if the server closes.
  static std::string Ask(Socket& socket, std::string_view bytes, size_t reply_bytes) {
    std::string reply;
    std::vector<char> room(1 << 16);
    while (reply.size() < reply_bytes || !bytes.empty()) {
      const Socket::Transfer sent = bytes.empty() ? Socket::Transfer() : socket.Send(bytes);
      bytes.remove_prefix(sent.bytes);
      const Socket::Transfer received = socket.Receive(room);
      if (received.bytes == 0 && !received.blocked()) break;
      reply.append(room.data(), received.bytes);
      if (sent.bytes + received.bytes != 0) continue;
      pollfd waiting{socket.descriptor(), static_cast<short>(bytes.empty() ? POLLIN : POLLIN | POLLOUT), 0};
      if (poll(&waiting, 1, 60'000) != 1) break;
      if (socket.tls() != nullptr) socket.tls()->SetReadable(false);
    }
    return reply;
  }

  testing::TlsFiles files_;
  const std::string path_ = files_.Path("socket");
  Backend backend_;
  test::Default<protocol::RequestLimits> limits_;
  test::Default<NetSettings> settings_;
  std::unique_ptr<NetServer> net_;

 private:
  static Socket Connected(int family, const sockaddr* address, socklen_t size, const TlsContext* context) {
    const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(descriptor, address, size) != 0) ADD_FAILURE() << "cannot connect";
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    Socket made(descriptor);
    if (context != nullptr) made.Secure(TlsStream::OfClient(*context, descriptor, {"localhost", true}));
    return made;
  }
};

TEST_F(Transports, AnswerAPipeline) {
  Start();
  const std::string commands = Repeat(Command({"ECHO", "hello"}), 20'000);
  const std::string replies = Repeat("$5\r\nhello\r\n", 20'000);
  const auto context = files_.Client();
  Socket by_tls = ConnectByTls(*context);
  EXPECT_TRUE(Ask(by_tls, commands, replies.size()) == replies);
  Socket local = ConnectToUnixSocket();
  EXPECT_TRUE(Ask(local, commands, replies.size()) == replies);
  EXPECT_EQ(backend_.stats.Sum(&LoopStats::tls_connections_accepted), 1);
  EXPECT_EQ(backend_.stats.Sum(&LoopStats::connections_accepted), 2);
}

TEST_F(Transports, AreShownInTheClientList) {
  Start();
  Socket local = ConnectToUnixSocket();
  ASSERT_EQ(Ask(local, "PING\r\n", 7), "+PONG\r\n");
  const auto record = backend_.clients.All().front();
  EXPECT_EQ(record->address, path_ + ":0");
  EXPECT_EQ(record->local_address, path_ + ":0");
  EXPECT_TRUE(record->is_local);
}

TEST_F(Transports, OfTlsTakeMemoryThatIsCounted) {
  Start();
  const auto context = files_.Client();
  Socket by_tls = ConnectByTls(*context);
  ASSERT_EQ(Ask(by_tls, "PING\r\n", 7), "+PONG\r\n");
  EXPECT_GE(backend_.clients.memory_bytes(), TlsStream::kBytes);
}

TEST_F(Transports, AHandshakeIsDoneInTimeOrTheClientIsClosed) {
  settings_.handshake_ms = 100;
  Start();
  const auto context = files_.Client();
  Socket served = ConnectByTls(*context);
  ASSERT_EQ(Ask(served, "PING\r\n", 7), "+PONG\r\n");
  Client silent(net_->tls_port());
  Client slow(net_->tls_port());
  slow.Send("\x16\x03\x01");
  EXPECT_EQ(silent.ReceiveAll(), "");
  EXPECT_EQ(slow.ReceiveAll(), "");
  EXPECT_EQ(backend_.stats.Sum(&LoopStats::tls_handshakes_failed), 2);
  EXPECT_EQ(Ask(served, "PING\r\n", 7), "+PONG\r\n") << "it has done it";
}

TEST_F(Transports, AHandshakeCountsToMaxclients) {
  settings_.maxclients = 1;
  Start();
  Client silent(net_->tls_port());
  ASSERT_TRUE(Eventually([&] { return backend_.clients.Size() == 1; }));
  EXPECT_EQ(Client(net_->tls_port()).ReceiveAll(), "") << "no text to one that expects TLS";
  EXPECT_EQ(backend_.stats.Sum(&LoopStats::connections_rejected), 1);
}

// The replies are more than the sockets hold: they are written while the server stops.
TEST_F(Transports, StoppingWritesWhatIsToBeWritten) {
  constexpr size_t kTimes = 100;
  Start();
  const auto context = files_.Client();
  Socket by_tls = ConnectByTls(*context);
  ASSERT_EQ(Ask(by_tls, "PING\r\n", 7), "+PONG\r\n");
  Client handshaking(net_->tls_port());
  ASSERT_TRUE(Eventually([&] { return backend_.clients.Size() == 2; }));
  const std::string command = Command({"ECHO", std::string(100'000, 'x')});
  const std::string commands = Repeat(command, kTimes);
  const uint64_t before = backend_.stats.Sum(&LoopStats::input_bytes);
  size_t received = Ask(by_tls, commands, 1).size();
  ASSERT_TRUE(Eventually([&] { return backend_.stats.Sum(&LoopStats::input_bytes) - before == commands.size(); }));
  auto stopped = std::async(std::launch::async, [&] { net_->Stop(testing::RunningServer::kPatience); });
  const size_t replies = kTimes * (100'000 + std::string("$100000\r\n\r\n").size());
  received += Ask(by_tls, "", SIZE_MAX).size();
  EXPECT_EQ(received, replies);
  EXPECT_EQ(handshaking.ReceiveAll(), "");
  stopped.get();
  struct stat ignored {};
  EXPECT_NE(stat(path_.c_str(), &ignored), 0) << "the file of the socket is gone";
}

TEST_F(Transports, NewCertificatesAreForNewConnections) {
  Start();
  const auto before = files_.Client();
  Socket old = ConnectByTls(*before);
  ASSERT_EQ(Ask(old, "PING\r\n", 7), "+PONG\r\n");
  files_.Write(test::MakeCertificate());
  const auto read = net_->ReadTls(files_.Settings());
  ASSERT_TRUE(read);
  Socket unchanged = ConnectByTls(*before);
  EXPECT_EQ(Ask(unchanged, "PING\r\n", 7), "+PONG\r\n") << "what was read is not in use yet";
  net_->UseTls(*read);
  Socket current = ConnectByTls(*files_.Client());
  EXPECT_EQ(Ask(current, "PING\r\n", 7), "+PONG\r\n");
  Socket outdated = ConnectByTls(*before);
  EXPECT_EQ(Ask(outdated, "PING\r\n", 7), "");
  EXPECT_EQ(Ask(old, "PING\r\n", 7), "+PONG\r\n");

  std::ofstream(files_.Path("cert")) << "nothing";
  const auto refused = net_->ReadTls(files_.Settings());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("does not contain a certificate in PEM format"));
}

TEST_F(Transports, AServerWithoutTlsReloadsNothing) {
  NetServer net(1, backend_.environment(), limits_, settings_);
  const auto read = net.ReadTls({});
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, nullptr);
  net.UseTls(*read);
}

}  // namespace
}  // namespace bitsieve::server
