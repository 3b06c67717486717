#include "server/net/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class UnixSocketFileTest : public ::testing::Test {
 protected:
  static core::Descriptor NewSocket() { return core::Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
  // Returns a socket whose file is there, and stays, as that of a server which was killed.
  core::Descriptor BoundSocket() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), address.sun_path);
    core::Descriptor bound = NewSocket();
    EXPECT_EQ(bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return bound;
  }
  // Binds a new socket; returns the error, or an empty text.
  std::string Bind(const std::string& path, std::optional<mode_t> permissions = {}) {
    file_ = std::make_unique<UnixSocketFile>();
    socket_ = NewSocket();
    const auto done = file_->Bind(socket_.get(), path, permissions);
    return done ? "" : done.error();
  }
  bool IsThere() const { return std::filesystem::exists(path_); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/s";
  core::Descriptor socket_;
  std::unique_ptr<UnixSocketFile> file_;
};

TEST_F(UnixSocketFileTest, IsThereFromTheBindToTheEnd) {
  ASSERT_EQ(Bind(path_), "");
  EXPECT_TRUE(std::filesystem::is_socket(path_));
  file_.reset();
  EXPECT_FALSE(IsThere());
}

TEST_F(UnixSocketFileTest, HasItsPermissionsBeforeAnyoneCanConnect) {
  ASSERT_EQ(Bind(path_, 0620), "");
  struct stat found {};
  ASSERT_EQ(lstat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0620U);
  int listens = 1;
  socklen_t size = sizeof listens;
  ASSERT_EQ(getsockopt(socket_.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
  EXPECT_EQ(listens, 0);
}

TEST_F(UnixSocketFileTest, ThatOfADeadServerIsReplaced) {
  BoundSocket();
  ASSERT_TRUE(IsThere());
  EXPECT_EQ(Bind(path_), "");
}

TEST_F(UnixSocketFileTest, ThatOfARunningServerStays) {
  const core::Descriptor running = BoundSocket();
  ASSERT_EQ(listen(running.get(), 1), 0);
  EXPECT_THAT(Bind(path_), AllOf(HasSubstr(path_), HasSubstr("a running server listens there")));
  file_.reset();
  EXPECT_TRUE(IsThere());
}

TEST_F(UnixSocketFileTest, ThatOfAServerWithAFullQueueStays) {
  const core::Descriptor running = BoundSocket();
  ASSERT_EQ(listen(running.get(), 0), 0);
  const core::Descriptor waiting(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path_.begin(), path_.end(), address.sun_path);
  ASSERT_EQ(connect(waiting.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(Bind(path_), HasSubstr("a running server listens there"));
}

TEST_F(UnixSocketFileTest, AnotherFileIsNeverRemoved) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(Bind(path_), AllOf(HasSubstr(path_), HasSubstr("not a socket")));
  file_.reset();
  std::string content;
  std::ifstream(path_) >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(UnixSocketFileTest, AFileThatTookItsPlaceStays) {
  ASSERT_EQ(Bind(path_), "");
  std::filesystem::rename(path_, path_ + ".old");
  std::ofstream(path_) << "of somebody else";
  file_.reset();
  EXPECT_TRUE(IsThere());
}

TEST_F(UnixSocketFileTest, AnErrorNamesThePathAndTheReason) {
  EXPECT_THAT(Bind(directory_.path() + "/missing/s"),
              AllOf(StartsWith("unixsocket " + directory_.path() + "/missing/s: "), HasSubstr("No such file")));
}

TEST_F(UnixSocketFileTest, APathHasAtMost107Bytes) {
  const std::string longest =
      directory_.path() + "/" + std::string(UnixSocketFile::kMaxPathBytes - directory_.path().size() - 1, 's');
  EXPECT_EQ(Bind(longest), "");
  EXPECT_TRUE(std::filesystem::exists(longest));
  EXPECT_THAT(Bind(longest + "s"), HasSubstr("the path has 108 bytes; a socket path can have at most 107"));
}

}  // namespace
}  // namespace bitsieve::server
