#include "server/net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/ip/v6_only.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/out_of_memory.h"
#include "server/net/address.h"
#include "server/net/stranger_log.h"
#include "server/net/tls_context.h"
#include "server/net/tls_stream.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

using asio::ip::tcp;

// How long accepting rests when the system refuses descriptors or memory.
constexpr std::chrono::milliseconds kRest{100};
constexpr int kAtOnce = 64;     // connections accepted before timers and other doors have their turn
constexpr int kBacklog = 4096;  // the system lowers it to what it allows
constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";
constexpr std::string_view kProtected =
    "-DENIED Bitsieve is running in protected mode, since no password is set for the default user. In this mode it "
    "serves only clients on its own machine (loopback and the Unix socket). To connect from elsewhere, do one of "
    "these: 1) set a password: requirepass or requirepass-file in the configuration, BITSIEVE_REQUIREPASS in the "
    "environment, or CONFIG SET requirepass from the machine itself; 2) create users with ACL SETUSER, and disable the "
    "default user; 3) only if every host that can reach the server is trusted, set protected-mode to no.\r\n";

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // a refusal costs comfort, not correctness
}

void SetKeepalive(int socket, uint32_t seconds) {
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, seconds == 0 ? 0 : 1);
  if (seconds == 0) return;
  // The peer is given up after three probes that together take as long as the silence before the first.
  const auto idle_s = static_cast<int>(seconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, idle_s / 3));
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

tcp::endpoint TcpEndpoint(const asio::generic::stream_protocol::endpoint& endpoint) {
  tcp::endpoint same;
  same.resize(endpoint.size());
  std::memcpy(same.data(), endpoint.data(), endpoint.size());
  return same;
}

tcp::endpoint LocalEndpoint(const Socket& socket) {
  tcp::endpoint local;
  auto size = static_cast<socklen_t>(local.capacity());
  if (getsockname(socket.descriptor(), local.data(), &size) == 0) local.resize(size);
  return local;
}

}  // namespace

Listener::Listener(asio::io_context& context, std::span<const std::shared_ptr<EventLoop>> loops, ConnectionSlots& slots,
                   const NetSettings& settings)
    : context_(context), loops_(loops), slots_(slots), settings_(settings) {}

core::Outcome<uint16_t> Listener::Open(std::string_view bind, uint16_t port, Transport transport) {
  auto endpoints = ParseBindList(bind, port);
  if (!endpoints) return tl::unexpected(endpoints.error());
  for (tcp::endpoint& endpoint : *endpoints) {
    endpoint.port(port);
    if (const asio::error_code error = OpenDoor(endpoint, transport, port)) {
      return tl::unexpected("cannot listen on " + AddressText(endpoint) + ": " + error.message());
    }
  }
  return port;
}

asio::error_code Listener::OpenDoor(const tcp::endpoint& endpoint, Transport transport, uint16_t& port) {
  auto door = std::make_unique<Door>(context_, transport);
  Acceptor& acceptor = door->acceptor;
  asio::error_code error;
  if (acceptor.open(endpoint.protocol(), error)) return error;
  if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) return error;
  // "0.0.0.0 ::" are two sockets, and each serves its own kind of address.
  if (endpoint.address().is_v6() && acceptor.set_option(asio::ip::v6_only(true), error)) return error;
  if (acceptor.bind(endpoint, error)) return error;
  if (acceptor.non_blocking(true, error)) return error;
  SetOption(acceptor.native_handle(), IPPROTO_TCP, TCP_NODELAY, 1);  // connections inherit it
  if (acceptor.listen(kBacklog, error)) return error;
  const Endpoint local = acceptor.local_endpoint(error);
  if (error) return error;
  port = TcpEndpoint(local).port();
  door->name = AddressText(TcpEndpoint(local)) + (transport == Transport::kTls ? " (TLS)" : "");
  addresses_.push_back(door->name);
  doors_.push_back(std::move(door));
  return {};
}

core::Outcome<void> Listener::OpenUnixSocket(const std::string& path, std::optional<mode_t> permissions) {
  auto door = std::make_unique<Door>(context_, Transport::kUnix);
  Acceptor& acceptor = door->acceptor;
  asio::error_code error;
  acceptor.open(asio::generic::stream_protocol(AF_UNIX, 0), error);
  if (!error) {
    if (auto bound = door->file.Bind(acceptor.native_handle(), path, permissions); !bound) return bound;
    acceptor.non_blocking(true, error);
  }
  if (!error) acceptor.listen(kBacklog, error);
  if (error) return tl::unexpected("unixsocket " + path + ": " + error.message());
  door->name = path;
  addresses_.push_back(path);
  doors_.push_back(std::move(door));
  return {};
}

void Listener::SetTls(std::shared_ptr<const TlsContext> context) {
  const core::LockGuard lock(mutex_);
  tls_ = std::move(context);
}

void Listener::Start() {
  for (const auto& door : doors_) Accept(*door);
}

// The files of Unix sockets go with their doors.
void Listener::Close() {
  for (const auto& door : doors_) {
    asio::error_code ignored;
    door->acceptor.close(ignored);
    door->retry.cancel();
  }
  doors_.clear();
}

// Retried until there is memory: an acceptor that is not waited on accepts nothing more.
void Listener::Accept(Door& door) {
  core::UntilThereIsMemory([&] {
    door.acceptor.async_wait(tcp::acceptor::wait_read, [this, &door](const asio::error_code& error) {
      if (!error) AcceptOrRetry(door);
    });
  });
}

void Listener::AcceptOrRetry(Door& door) {
  try {
    AcceptSome(door);
  } catch (const std::bad_alloc&) {
    Accept(door);
  }
}

void Listener::AcceptSome(Door& door) {
  for (int i = 0; i < kAtOnce; ++i) {
    Endpoint remote;
    auto size = static_cast<socklen_t>(remote.capacity());
    Socket socket(accept4(door.acceptor.native_handle(), remote.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.descriptor() < 0) {
      door.all_inherit |= errno == EAGAIN;
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;  // gave up before it was its turn
      return Rest(door, errno);
    }
    door.resting = false;
    remote.resize(size);
    if (door.transport != Transport::kUnix) SetOptions(door, socket);
    OnAccepted(door, std::move(socket), remote);
  }
  Accept(door);
}

// Connections inherit the keepalive of the acceptor, which follows the setting. Those that wait to be accepted may have
// come before a change.
void Listener::SetOptions(Door& door, const Socket& socket) {
  const uint32_t keepalive_s = settings_.tcp_keepalive_s.load(std::memory_order_relaxed);
  if (std::exchange(door.keepalive_s, keepalive_s) != keepalive_s) {
    SetKeepalive(door.acceptor.native_handle(), keepalive_s);
    door.all_inherit = false;
  }
  if (!door.all_inherit) SetKeepalive(socket.descriptor(), keepalive_s);
}

// Whether anyone who can reach the server may do everything.
bool Listener::IsOpenToAll() const {
  const Users* const users = loops_[0]->users();
  return users != nullptr && users->default_is_open();
}

void Listener::OnAccepted(const Door& door, Socket socket, const Endpoint& remote) {
  if (settings_.protected_mode.load(std::memory_order_relaxed) && !IsLocal(door, remote) && IsOpenToAll()) {
    return Refuse(door, socket, kProtected);
  }
  auto slot = slots_.TryTake(settings_.maxclients.load(std::memory_order_relaxed));
  if (!slot) return Refuse(door, socket, kTooMany);
  try {
    LetIn(door, std::move(socket), std::move(slot), remote);
  } catch (const std::bad_alloc&) {
    spdlog::warn("A connection was closed: the server is out of memory for it");
  }
}

void Listener::LetIn(const Door& door, Socket socket, ConnectionSlots::Slot slot, const Endpoint& remote) {
  Ends ends = EndsOf(door, socket, remote);
  if (door.transport == Transport::kTls) {
    const core::LockGuard lock(mutex_);
    socket.Secure(TlsStream::OfServer(*tls_, socket.descriptor()));
  }
  EventLoop& loop = *loops_[turn_];
  turn_ = (turn_ + 1) % loops_.size();
  loop.Adopt({std::move(socket), std::move(slot), std::move(ends.peer), std::move(ends.own), ends.is_local});
}

// A client of a Unix socket has no address: as in Redis, it is shown with the server's.
Listener::Ends Listener::EndsOf(const Door& door, const Socket& socket, const Endpoint& remote) {
  if (door.transport == Transport::kUnix) return {door.name + ":0", door.name + ":0", true};
  return {AddressText(TcpEndpoint(remote)), AddressText(LocalEndpoint(socket)), IsLocal(door, remote)};
}

bool Listener::IsLocal(const Door& door, const Endpoint& remote) {
  return door.transport == Transport::kUnix || IsLoopback(TcpEndpoint(remote).address());
}

// A client of TLS gets no error: that would take a handshake, which is not worth its time.
void Listener::Refuse(const Door& door, const Socket& socket, std::string_view why) {
  LoopStats::Add(loops_[0]->stats().connections_rejected, 1);  // no other thread counts these
  const bool can_be_told = door.transport != Transport::kTls;
  LogRefusal(door.name, why.substr(1, why.find_first_of(".\r") - 1), can_be_told);
  if (can_be_told) socket.Send(why);
}

void Listener::Rest(Door& door, int error) {
  if (!std::exchange(door.resting, true)) {
    spdlog::warn("Cannot accept connections on {}: {}; trying again every {} ms", door.name,
                 std::system_category().message(error), kRest.count());
  }
  door.retry.expires_after(kRest);
  door.retry.async_wait([this, &door](const asio::error_code& cancelled) {
    if (!cancelled) Accept(door);
  });
}

}  // namespace bitsieve::server
