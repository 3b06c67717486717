#include "tests/unit/server/net/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

namespace bitsieve::server::testing {
namespace {

constexpr timeval kPatience{60, 0};

int ConnectTo(const std::string& address, uint16_t port) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) return -1;
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  v4.sin_port = v6.sin6_port = htons(port);
  const int handle = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* target = is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  if (connect(handle, target, is_v4 ? sizeof v4 : sizeof v6) == 0) return handle;
  close(handle);
  return -1;
}

}  // namespace

Client::Client(uint16_t port, const std::string& address) : socket_(ConnectTo(address, port)) {
  if (!connected()) return;
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool Client::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ADD_FAILURE() << "the server reads no further";
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

size_t Client::SendSome(std::string_view bytes) {
  const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<size_t>(sent);
}

std::string Client::Receive(size_t size) {
  std::string bytes(size, '\0');
  size_t received = 0;
  while (received < size) {
    const ssize_t got = recv(socket_, bytes.data() + received, size - received, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ADD_FAILURE() << "no reply after a minute";
    if (got <= 0) break;
    received += static_cast<size_t>(got);
  }
  bytes.resize(received);
  return bytes;
}

std::string Client::ReceiveSome() {
  char bytes[4096];
  const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ADD_FAILURE() << "no reply after a minute";
  return got <= 0 ? std::string() : std::string(bytes, static_cast<size_t>(got));
}

std::string Client::ReceiveAll() {
  std::string all;
  constexpr size_t kStep = 64 * 1024;
  for (std::string part = Receive(kStep); !part.empty(); part = Receive(kStep)) {
    all += part;
    if (part.size() < kStep) break;
  }
  return all;
}

std::string Client::Ask(std::string_view line, size_t reply_size) {
  Send(std::string(line) + "\r\n");
  return Receive(reply_size);
}

void Client::ShutdownSend() { shutdown(socket_, SHUT_WR); }

void Client::Close() {
  if (connected()) close(socket_);
  socket_ = -1;
}

std::string Command(std::initializer_list<std::string_view> arguments) {
  std::string bytes = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string_view argument : arguments) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n";
    bytes += argument;
    bytes += "\r\n";
  }
  return bytes;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace bitsieve::server::testing
