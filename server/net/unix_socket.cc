#include "server/net/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/descriptor.h"

namespace bitsieve::server {
namespace {

tl::unexpected<std::string> Refused(const std::string& path, const std::string& reason) {
  return tl::unexpected("unixsocket " + path + ": " + reason);
}

std::string Reason(int error) { return std::system_category().message(error); }

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// 0 if a server accepts connections there, or else the error number.
int TryToConnect(const sockaddr_un& address) {
  const core::Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return errno;
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
  return errno == EAGAIN ? 0 : errno;  // its queue is full
}

// Only the socket of a server that is gone is removed.
core::Outcome<void> MakeRoom(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return Refused(path, Reason(errno));
  }
  if (!S_ISSOCK(found.st_mode)) return Refused(path, "there is a file that is not a socket; give another path");
  const int error = TryToConnect(address);
  if (error == 0) return Refused(path, "a running server listens there; stop it or give another path");
  if (error != ECONNREFUSED) return Refused(path, "cannot see whether a server listens there: " + Reason(error));
  if (unlink(path.c_str()) != 0) return Refused(path, "cannot remove the socket of an earlier run: " + Reason(errno));
  return {};
}

}  // namespace

UnixSocketFile::~UnixSocketFile() {
  struct stat found {};
  const bool is_ours =
      !path_.empty() && lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
  if (is_ours) unlink(path_.c_str());
}

core::Outcome<void> UnixSocketFile::Bind(int descriptor, const std::string& path, std::optional<mode_t> permissions) {
  if (path.size() > kMaxPathBytes) {
    return Refused(path, "the path has " + std::to_string(path.size()) + " bytes; a socket path can have at most " +
                             std::to_string(kMaxPathBytes));
  }
  const sockaddr_un address = AddressOf(path);
  if (auto room = MakeRoom(path, address); !room) return room;
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Refused(path, Reason(errno));
  }
  struct stat made {};
  if (lstat(path.c_str(), &made) != 0) return Refused(path, Reason(errno));
  path_ = path;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  if (permissions && chmod(path.c_str(), *permissions) != 0) return Refused(path, Reason(errno));
  return {};
}

}  // namespace bitsieve::server
