// client_connection.h: a connection to a running server, as subcommands make it: by TCP, TLS or a Unix socket. Calls
// wait, but never beyond the deadline. Errors are for people: they say which step failed.
// Confined to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "server/net/socket.h"
#include "server/net/tls_context.h"

namespace bitsieve::cli {

// Where a server is, and how to connect to it.
struct Target {
  std::string unixsocket;  // a path; empty: host and port
  std::string host;
  uint16_t port = 0;
  std::optional<server::TlsSettings> tls;
  std::string server_name;  // that the server's certificate is for; empty: the host

  // "127.0.0.1 port 7379", "/run/bitsieve.sock"
  std::string Text() const;
};

struct Credentials {
  std::string user;      // empty: default
  std::string password;  // empty: none
  // The password was found in the environment or the configuration, so that it may be for other servers.
  bool is_found = false;

  bool empty() const { return user.empty() && password.empty(); }
};

// Returns what is wrong with these credentials by the reply to AUTH; empty if nothing is. A password that was found may
// meet a server that needs none.
std::string AuthProblem(std::string_view reply, const Credentials& credentials);

class ClientConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Makes the TLS handshake as well, if the target has TLS.
  static core::Outcome<ClientConnection> Connect(const Target& target, Deadline deadline);

  // Sets the deadline of later calls.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  // Sends all bytes.
  core::Outcome<void> Send(std::string_view bytes);
  // Receives what is there, after waiting for at least one byte, and returns how many bytes. An end of the stream is an
  // error.
  core::Outcome<size_t> Receive(std::span<char> room);
  // Receives what is there, after waiting until `until` at most; returns 0 if nothing came.
  core::Outcome<size_t> ReceiveUntil(std::span<char> room, Deadline until);

 private:
  ClientConnection(server::Socket socket, Deadline deadline) : socket_(std::move(socket)), deadline_(deadline) {}

  core::Outcome<void> Secure(const Target& target);
  // Waits until the socket can be read (POLLIN) or written (POLLOUT), or TLS needs the other before.
  core::Outcome<void> Wait(short events);
  // Returns false if that did not happen by `until`.
  core::Outcome<bool> WaitUntil(short events, Deadline until);
  std::string ErrorOf(const server::Socket::Transfer& transfer) const;

  server::Socket socket_;
  Deadline deadline_;
  std::shared_ptr<const server::TlsContext> context_;
};

}  // namespace bitsieve::cli
