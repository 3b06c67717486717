// listener.h: accepts connections, of TCP, with TLS or not, and of a Unix socket, and hands them to the loops in turn,
// so that each loop has as many as the next. A client beyond `maxclients` gets an error and is closed. When the system
// has no descriptors left it waits a little instead of trying again at once.
//
// Open() and OpenUnixSocket() before the loops start; SetTls() at any time and from any thread; everything else on the
// thread that runs the io_context.
#pragma once

#include <sys/types.h>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "server/net/connection_slots.h"
#include "server/net/event_loop.h"
#include "server/net/net_settings.h"
#include "server/net/socket.h"
#include "server/net/unix_socket.h"

namespace bitsieve::server {

class TlsContext;

enum class Transport : uint8_t { kTcp, kTls, kUnix };

class Listener {
 public:
  // `loops` (at least one) and the others outlive the listener.
  Listener(asio::io_context& context, std::span<const std::shared_ptr<EventLoop>> loops, ConnectionSlots& slots,
           const NetSettings& settings);

  // Listens on each address of the list; port 0 takes any free port, the same for all. Returns the port; the error
  // names the address. SetTls() is called before the first client of Transport::kTls is accepted.
  core::Outcome<uint16_t> Open(std::string_view bind, uint16_t port, Transport transport);
  // Listens on a Unix socket. `permissions` are as in UnixSocketFile::Bind; the error names the path.
  core::Outcome<void> OpenUnixSocket(const std::string& path, std::optional<mode_t> permissions);
  // For connections from now on.
  void SetTls(std::shared_ptr<const TlsContext> context);
  void Start();
  void Close();

  // "127.0.0.1:7379", "127.0.0.1:7380 (TLS)", "/run/bitsieve.sock"
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  using Endpoint = asio::generic::stream_protocol::endpoint;

  struct Door {
    Door(asio::io_context& context, Transport its_transport)
        : acceptor(context), retry(context), transport(its_transport) {}
    Acceptor acceptor;
    asio::steady_timer retry;
    const Transport transport;
    std::string name;  // as of addresses()
    UnixSocketFile file;
    uint32_t keepalive_s = 0;  // what its connections inherit
    bool all_inherit = true;   // those that wait have come since it was set
    bool resting = false;      // the last accept failed; logged once
  };
  // The two ends of a connection, as CLIENT LIST shows them.
  struct Ends {
    std::string peer, own;
    bool is_local;
  };

  asio::error_code OpenDoor(const asio::ip::tcp::endpoint& endpoint, Transport transport, uint16_t& port);
  void Accept(Door& door);
  void AcceptOrRetry(Door& door);
  void AcceptSome(Door& door);
  void SetOptions(Door& door, const Socket& socket);
  void OnAccepted(const Door& door, Socket socket, const Endpoint& remote);
  void LetIn(const Door& door, Socket socket, ConnectionSlots::Slot slot, const Endpoint& remote);
  static Ends EndsOf(const Door& door, const Socket& socket, const Endpoint& remote);
  static bool IsLocal(const Door& door, const Endpoint& remote);
  bool IsOpenToAll() const;
  void Refuse(const Door& door, const Socket& socket, std::string_view why);
  void Rest(Door& door, int error);

  asio::io_context& context_;
  std::span<const std::shared_ptr<EventLoop>> loops_;
  ConnectionSlots& slots_;
  const NetSettings& settings_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::vector<std::string> addresses_;
  size_t turn_ = 0;  // the loop that gets the next connection
  core::Mutex mutex_;
  std::shared_ptr<const TlsContext> tls_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
