#include "server/net/socket.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <utility>

#include "server/net/tls_stream.h"

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

Socket::Socket(int descriptor) : descriptor_(descriptor) {}
Socket::Socket(Socket&& other) noexcept = default;
Socket& Socket::operator=(Socket&& other) noexcept = default;
Socket::~Socket() = default;

void Socket::Secure(std::unique_ptr<TlsStream> stream) { tls_ = std::move(stream); }

std::unique_ptr<TlsStream> Socket::ReleaseTls() { return std::move(tls_); }

Socket::Transfer Socket::Receive(int descriptor, std::span<char> room) {
  Transfer received = Uninterrupted([&] { return ::recv(descriptor, room.data(), room.size(), 0); });
  received.more = received.bytes == room.size();
  return received;
}

Socket::Transfer Socket::Send(int descriptor, std::string_view bytes) {
  return Uninterrupted([&] { return ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
}

Socket::Transfer Socket::ReceiveByTls(std::span<char> room) const { return tls_->Receive(room); }
Socket::Transfer Socket::SendByTls(std::string_view bytes) const { return tls_->Send(bytes); }

void Socket::Close() {
  ::shutdown(descriptor(), SHUT_RDWR);
  tls_.reset();
  descriptor_.Reset();
}

}  // namespace bitsieve::server
