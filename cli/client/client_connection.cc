#include "cli/client/client_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>

#include "server/net/tls_stream.h"

namespace bitsieve::cli {
namespace {

using server::Socket;
using server::TlsStream;

tl::unexpected<std::string> CannotConnect(const std::string& reason) {
  return tl::unexpected("cannot connect: " + reason);
}

std::string Reason(int error) { return std::system_category().message(error); }

// False: the time is over.
core::Outcome<bool> IsReadyUntil(int descriptor, short events, ClientConnection::Deadline deadline) {
  pollfd waiting{descriptor, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto timeout = static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
    const int ready = poll(&waiting, 1, timeout);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return tl::unexpected(Reason(errno));
    if (timeout == 0) return false;
  }
}

core::Outcome<void> InTime(const core::Outcome<bool>& ready) {
  if (!ready) return tl::unexpected(ready.error());
  return *ready ? core::Outcome<void>() : tl::unexpected<std::string>("timed out waiting for the server");
}

core::Outcome<void> WaitFor(int descriptor, short events, ClientConnection::Deadline deadline) {
  return InTime(IsReadyUntil(descriptor, events, deadline));
}

// The system's error number goes to the text.
core::Outcome<Socket> ConnectTo(const sockaddr* address, socklen_t size, ClientConnection::Deadline deadline) {
  Socket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.descriptor() < 0) return CannotConnect(Reason(errno));
  if (connect(socket.descriptor(), address, size) == 0) return socket;
  if (errno != EINPROGRESS) return CannotConnect(Reason(errno));
  if (auto done = WaitFor(socket.descriptor(), POLLOUT, deadline); !done) return CannotConnect(done.error());
  int error = 0;
  socklen_t error_size = sizeof error;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &error_size);
  if (error != 0) return CannotConnect(Reason(error));
  return socket;
}

core::Outcome<Socket> ConnectToUnixSocket(const std::string& path, ClientConnection::Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return CannotConnect("the path is too long for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  return ConnectTo(reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline);
}

// A name may stand for several addresses: the first that answers.
core::Outcome<Socket> ConnectToHost(const std::string& host, uint16_t port, ClientConnection::Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return CannotConnect(error == EAI_SYSTEM ? Reason(errno) : gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  core::Outcome<Socket> socket = CannotConnect("Name or service not known");
  for (const addrinfo* each = found; each != nullptr && !socket; each = each->ai_next) {
    socket = ConnectTo(each->ai_addr, each->ai_addrlen, deadline);
  }
  const int on = 1;
  if (socket) setsockopt(socket->descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

std::string Target::Text() const {
  if (!unixsocket.empty()) return unixsocket;
  return host + " port " + std::to_string(port) + (tls ? " by TLS" : "");
}

std::string AuthProblem(std::string_view reply, const Credentials& credentials) {
  if (reply.starts_with('-') || reply.starts_with('+')) reply.remove_prefix(1);
  if (reply.starts_with("OK")) return "";
  if (reply.starts_with("WRONGPASS")) return "AUTH failed: wrong password, or no such user: " + std::string(reply);
  if (reply.find("without any password configured") == std::string_view::npos) {
    return "AUTH failed: " + std::string(reply);
  }
  if (credentials.is_found) return "";
  return "AUTH failed: a password was given, but the server has none: omit the password, or set requirepass on the "
         "server";
}

core::Outcome<ClientConnection> ClientConnection::Connect(const Target& target, Deadline deadline) {
  core::Outcome<Socket> socket = target.unixsocket.empty() ? ConnectToHost(target.host, target.port, deadline)
                                                           : ConnectToUnixSocket(target.unixsocket, deadline);
  if (!socket) return tl::unexpected(socket.error());
  ClientConnection made(std::move(*socket), deadline);
  if (target.tls) {
    if (auto secured = made.Secure(target); !secured) return tl::unexpected(secured.error());
  }
  return made;
}

core::Outcome<void> ClientConnection::Secure(const Target& target) {
  auto context = server::TlsContext::ForClient(*target.tls);
  if (!context) return tl::unexpected(context.error());
  context_ = std::move(*context);
  const bool is_checked = target.tls->peers != server::TlsSettings::Peers::kUnchecked;
  socket_.Secure(TlsStream::OfClient(*context_, socket_.descriptor(),
                                     {target.server_name.empty() ? target.host : target.server_name, is_checked}));
  while (true) {
    const Socket::Transfer step = socket_.tls()->Handshake();
    if (step.error == 0) return {};
    if (!step.blocked()) return tl::unexpected("cannot connect: " + ErrorOf(step));
    if (auto waited = Wait(POLLIN); !waited) return CannotConnect(waited.error());
  }
}

core::Outcome<void> ClientConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const Socket::Transfer sent = socket_.Send(bytes);
    bytes.remove_prefix(sent.bytes);
    if (sent.error != 0 && !sent.blocked()) return tl::unexpected(ErrorOf(sent));
    if (bytes.empty()) break;
    if (auto waited = Wait(POLLOUT); !waited) return waited;
  }
  return {};
}

core::Outcome<size_t> ClientConnection::Receive(std::span<char> room) {
  const auto received = ReceiveUntil(room, deadline_);
  if (!received || *received != 0) return received;
  return tl::unexpected(InTime(false).error());
}

core::Outcome<size_t> ClientConnection::ReceiveUntil(std::span<char> room, Deadline until) {
  while (true) {
    const Socket::Transfer received = socket_.Receive(room);
    if (received.bytes != 0) return received.bytes;
    if (!received.blocked()) return tl::unexpected(ErrorOf(received));
    if (received.more) continue;
    const auto ready = WaitUntil(POLLIN, until);
    if (!ready) return tl::unexpected(ready.error());
    if (!*ready) return 0;
  }
}

core::Outcome<void> ClientConnection::Wait(short events) { return InTime(WaitUntil(events, deadline_)); }

core::Outcome<bool> ClientConnection::WaitUntil(short events, Deadline until) {
  TlsStream* const tls = socket_.tls();
  if (tls != nullptr) events = tls->waits_to_send() ? POLLOUT : POLLIN;
  auto ready = IsReadyUntil(socket_.descriptor(), events, until);
  if (ready && *ready && tls != nullptr) tls->SetReadable(false);
  return ready;
}

std::string ClientConnection::ErrorOf(const Socket::Transfer& transfer) const {
  if (socket_.tls() != nullptr && !socket_.tls()->failure().empty()) return "TLS: " + socket_.tls()->failure();
  if (transfer.error == 0) return "the connection was closed without a reply";
  return Reason(transfer.error);
}

}  // namespace bitsieve::cli
