#include "server/net/socket.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>

namespace bitsieve::server {
namespace {

template <class Call>
Socket::Transfer Uninterrupted(Call&& call) {
  while (true) {
    const ssize_t bytes = call();
    if (bytes >= 0) return {static_cast<size_t>(bytes), 0};
    if (errno != EINTR) return {0, errno};
  }
}

}  // namespace

bool Socket::Transfer::blocked() const { return error == EAGAIN || error == EWOULDBLOCK; }

Socket::Transfer Socket::Receive(std::span<char> room) const {
  return Uninterrupted([&] { return ::recv(descriptor(), room.data(), room.size(), 0); });
}

Socket::Transfer Socket::Send(std::string_view bytes) const {
  return Uninterrupted([&] { return ::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL); });
}

void Socket::Close() {
  ::shutdown(descriptor(), SHUT_RDWR);
  descriptor_.Reset();
}

}  // namespace bitsieve::server
