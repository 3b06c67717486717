#include "cli/client/client_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include "core/base/descriptor.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(AuthProblemTest, AFoundPasswordMayMeetAServerWithoutOne) {
  const std::string none = "-ERR AUTH <password> called without any password configured for the default user.";
  const Credentials given{"", "x", false}, found{"", "x", true};
  EXPECT_EQ(AuthProblem("+OK", given), "");
  EXPECT_EQ(AuthProblem(none, found), "");
  EXPECT_THAT(AuthProblem(none, given), HasSubstr("omit the password"));
  EXPECT_THAT(AuthProblem("-WRONGPASS no", found), HasSubstr("wrong password"));
}

TEST(TargetTest, IsDescribedByItsSocketOrItsHost) {
  Target target;
  target.host = "127.0.0.1";
  target.port = 7379;
  EXPECT_EQ(target.Text(), "127.0.0.1 port 7379");
  target.tls.emplace();
  EXPECT_EQ(target.Text(), "127.0.0.1 port 7379 by TLS");
  target.unixsocket = "/run/b.sock";
  EXPECT_EQ(target.Text(), "/run/b.sock");
}

class ClientConnectionTest : public testing::Test {
 protected:
  ClientConnectionTest() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
  }
  static Target ServerAt(const std::string& path) {
    Target target;
    target.unixsocket = path;
    return target;
  }
  core::Outcome<ClientConnection> Connect() const {
    return ClientConnection::Connect(ServerAt(path_), std::chrono::steady_clock::now() + std::chrono::minutes(1));
  }
  core::Descriptor Accept() const { return core::Descriptor(::accept(listener_.get(), nullptr, nullptr)); }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/s";
  core::Descriptor listener_;
  std::array<char, 16> room_{};
};

TEST_F(ClientConnectionTest, SendsAllAndReceivesWhatIsThere) {
  auto client = Connect();
  ASSERT_TRUE(client) << client.error();
  const core::Descriptor peer = Accept();
  ASSERT_TRUE(client->Send("PING\r\n"));
  ASSERT_EQ(::recv(peer.get(), room_.data(), room_.size(), 0), 6);
  ASSERT_EQ(::send(peer.get(), "+PONG\r\n", 7, 0), 7);
  EXPECT_EQ(client->Receive(room_), 7U);
}

TEST_F(ClientConnectionTest, AnEndIsAnError) {
  auto client = Connect();
  ASSERT_TRUE(client) << client.error();
  { const core::Descriptor peer = Accept(); }
  EXPECT_THAT(client->Receive(room_).error(), HasSubstr("closed without a reply"));
}

TEST_F(ClientConnectionTest, WaitsNoLongerThanTheDeadline) {
  auto client = Connect();
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ(client->ReceiveUntil(room_, std::chrono::steady_clock::now()), 0U) << "nothing came: no error";
  client->set_deadline(std::chrono::steady_clock::now());
  EXPECT_THAT(client->Receive(room_).error(), HasSubstr("timed out"));
}

TEST_F(ClientConnectionTest, AnErrorSaysThatItIsAboutConnecting) {
  for (const std::string& path : {directory_.path() + "/none", std::string(200, 'x')}) {
    const auto client = ClientConnection::Connect(ServerAt(path), std::chrono::steady_clock::now());
    ASSERT_FALSE(client);
    EXPECT_THAT(client.error(), StartsWith("cannot connect: "));
  }
}

}  // namespace
}  // namespace bitsieve::cli
