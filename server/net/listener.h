// listener.h: accepts connections and hands them to the loops in turn, so that each loop has as many as the next. A
// client beyond `maxclients` gets an error and is closed. When the system has no descriptors left it waits a little
// instead of trying again at once.
//
// Open() before the loops start; everything else on the thread that runs the io_context.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "server/net/connection_slots.h"
#include "server/net/event_loop.h"
#include "server/net/net_settings.h"
#include "server/net/socket.h"

namespace bitsieve::server {

class Listener {
 public:
  // `loops` (at least one) and the others outlive the listener.
  Listener(asio::io_context& context, std::span<const std::shared_ptr<EventLoop>> loops, ConnectionSlots& slots,
           const NetSettings& settings);

  // Listens on each address of the list; port 0 takes any free port, the same for all. The error names the address.
  tl::expected<void, std::string> Open(std::string_view bind, uint16_t port);
  void Start();
  void Close();

  uint16_t port() const { return port_; }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  struct Door {
    explicit Door(asio::io_context& context) : acceptor(context), retry(context) {}
    asio::ip::tcp::acceptor acceptor;
    asio::steady_timer retry;
    uint32_t keepalive_s = 0;  // what its connections inherit
    bool all_inherit = true;   // those that wait have come since it was set
    bool resting = false;      // the last accept failed; logged once
  };

  asio::error_code OpenDoor(const asio::ip::tcp::endpoint& endpoint);
  void Accept(Door& door);
  void Wait(Door& door);
  void AcceptSome(Door& door);
  void OnAccepted(Socket socket, const asio::ip::tcp::endpoint& remote);
  void LetIn(Socket socket, ConnectionSlots::Slot slot, const asio::ip::tcp::endpoint& remote);
  void Refuse(const Socket& socket);
  void Rest(Door& door, int error);

  asio::io_context& context_;
  std::span<const std::shared_ptr<EventLoop>> loops_;
  ConnectionSlots& slots_;
  const NetSettings& settings_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::vector<std::string> addresses_;
  uint16_t port_ = 0;
  size_t turn_ = 0;  // the loop that gets the next connection
};

}  // namespace bitsieve::server
