// net_server.h: the network side as a whole: N event loops on N threads, and the listener that feeds them, on a thread
// of its own, so that clients which come do not hold up those which are there.
//
//   socket -> Listener -> EventLoop (one for life) -> Connection (bytes) -> Exchange (commands) -> Dispatcher
//
// Built, started and stopped by one thread. Everything given to it outlives it.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "protocol/request_parser.h"
#include "server/dispatch/environment.h"
#include "server/net/connection_slots.h"
#include "server/net/event_loop.h"
#include "server/net/listener.h"
#include "server/net/net_settings.h"
#include "server/net/tls_settings.h"

namespace bitsieve::server {

class NetServer {
 public:
  // `io_threads` 0: one per core, at most 8. Adds each loop's counters to `commands.stats`; `commands.loop_stats` is
  // not used. Throws std::system_error if the system has no descriptors left.
  NetServer(uint32_t io_threads, Environment commands, const protocol::RequestLimits& limits,
            const NetSettings& settings);
  // Stops without patience if it still runs.
  ~NetServer();

  // These bind; clients may connect from now on, and are served from Start() on. The error names the address.
  // Port 0 takes any free one.
  core::Outcome<void> Listen(std::string_view bind, uint16_t port);
  core::Outcome<void> ListenByTls(std::string_view bind, uint16_t port, const TlsSettings& settings);
  // `permissions` of the file; without them those that the umask leaves.
  core::Outcome<void> ListenOnUnixSocket(const std::string& path, std::optional<mode_t> permissions);
  void Start();
  // Certificates that were read; null without ListenByTls().
  using Tls = std::shared_ptr<const TlsContext>;
  // Reads the certificates again and changes nothing. From any thread, after the calls above, as UseTls().
  core::Result<Tls> ReadTls(const TlsSettings& settings) const;
  // Has connections from now on served with these. Nothing is done if there are none.
  void UseTls(Tls tls);
  // Stops accepting, answers what was received, writes the replies, closes, joins the threads: within `patience`. The
  // log that replies wait for must keep running until this returns.
  void Stop(std::chrono::milliseconds patience);

  // Calls `alive` when the thread that accepts and then every loop have run what was posted to them; on the thread of
  // the last. Never, if one of them hangs. May be called from any thread between Start() and Stop().
  void ProveAlive(std::function<void()> alive);

  size_t loops() const { return loops_.size(); }
  // Returns the port of Listen(), or else of ListenByTls(); 0 without both.
  uint16_t port() const { return port_ != 0 ? port_ : tls_port_; }
  uint16_t tls_port() const { return tls_port_; }
  const std::vector<std::string>& addresses() const { return listener_->addresses(); }

 private:
  void Accept();
  void Sweep();

  asio::io_context accepting_{1};  // one thread runs it
  asio::steady_timer sweep_timer_{accepting_};
  std::thread thread_;
  const NetSettings& settings_;
  ConnectionSlots slots_;
  protocol::RequestLimits limits_;
  std::vector<std::shared_ptr<EventLoop>> loops_;
  std::unique_ptr<Listener> listener_;
  uint16_t port_ = 0;
  uint16_t tls_port_ = 0;
  bool running_ = false;
};

}  // namespace bitsieve::server
