#include "server/options/listening.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/descriptor.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/server/net/fakes.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ListeningTest : public ::testing::Test {
 protected:
  ListeningTest() {
    options_.port = config::kNoPort;
    options_.bind = "127.0.0.1";
  }

  const TemporaryDirectory directory_;
  config::Options options_;
  testing::Backend backend_;
  test::Default<protocol::RequestLimits> limits_;
  test::Default<NetSettings> settings_;
  NetServer net_{1, backend_.environment(), limits_, settings_};
};

TEST_F(ListeningTest, WithoutPortsAndSocketNothingIsOpened) {
  EXPECT_TRUE(Listen(net_, options_));
  EXPECT_THAT(net_.addresses(), IsEmpty());
  EXPECT_EQ(net_.port(), 0);
}

TEST_F(ListeningTest, PortZeroIsAnyFreeOne) {
  options_.port = 0;
  ASSERT_TRUE(Listen(net_, options_));
  EXPECT_NE(net_.port(), 0);
  EXPECT_THAT(net_.addresses(), Contains("127.0.0.1:" + std::to_string(net_.port())));
}

TEST_F(ListeningTest, APortThatIsTakenIsAnErrorWithItsAddress) {
  const core::Descriptor taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken.get(), 1), 0);
  ASSERT_EQ(getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  options_.port = ntohs(address.sin_port);
  const core::Status status = Listen(net_, options_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("127.0.0.1:" + std::to_string(options_.port)));
}

TEST_F(ListeningTest, ASocketHasAnAbsolutePathAndItsPermissions) {
  const std::string path = directory_.path() + "/s";
  options_.unixsocket = "s";
  options_.unixsocketperm = "700";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const core::Status status = Listen(net_, options_);
  std::filesystem::current_path(before);
  ASSERT_TRUE(status);
  ASSERT_EQ(net_.addresses().size(), 1U);
  EXPECT_TRUE(net_.addresses().front().starts_with('/')) << "it cannot be taken for a host";
  EXPECT_EQ(std::filesystem::canonical(net_.addresses().front()), std::filesystem::canonical(path));
  struct stat found {};
  ASSERT_EQ(lstat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
}

TEST_F(ListeningTest, OneDoorThatCannotBeOpenedIsAnError) {
  options_.port = 0;
  options_.unixsocket = directory_.path() + "/missing/s";
  const core::Status status = Listen(net_, options_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr(options_.unixsocket));

  options_.unixsocket.clear();
  options_.tls_port = 1;
  options_.tls_cert_file = directory_.path() + "/missing.crt";
  options_.tls_key_file = directory_.path() + "/missing.key";
  const core::Status tls = Listen(net_, options_);
  ASSERT_FALSE(tls);
  EXPECT_THAT(tls.error().message, HasSubstr("missing.crt"));
}

}  // namespace
}  // namespace bitsieve::server
