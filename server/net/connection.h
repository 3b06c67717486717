// connection.h: one client's socket. A thin driver: it moves bytes between the socket and the client's exchange
// (exchange.h), which decides what is to be done, and waits for what the exchange waits for.
//
// It waits for readiness rather than in a read, so that an idle connection owns no buffer; the connections of a loop
// work in the same memory, which stays in the cache. Writing is tried at once; what the socket does not take is written
// when it can.
//
// With TLS (tls_stream.h) the first receiving makes the handshake. Its steps take processor time, so connections take
// turns with them.
//
// Confined to its loop. Kept alive by its loop, by what it waits for and by work that is under way for it.
#pragma once

#include <asio/basic_stream_socket.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "server/net/connection_slots.h"
#include "server/net/handler_memory.h"
#include "server/net/socket.h"
#include "server/session/exchange.h"

namespace bitsieve::server {

class EventLoop;

class Connection final : public std::enable_shared_from_this<Connection>, public Wakeable {
 public:
  Connection(std::unique_ptr<TlsStream> tls, ConnectionSlots::Slot slot, std::shared_ptr<ClientRecord> client,
             EventLoop& loop);
  ~Connection();

  // A function that closes this connection, from any thread and at any time.
  std::function<void(const char* reason)> Closer();

  // Serves `socket` from now on.
  void Start(core::Descriptor socket);
  // Closes once everything received so far is answered and written.
  void Drain();
  // Closes at once, even if work is under way. `reason` goes to the log.
  void Abort(const char* reason);

  // The phases of a turn, which the loop makes for several connections together. The first receives into `scratch`, if
  // nothing is at hand; false if the others have nothing to do.
  bool BeginTurn(std::span<char> scratch, Workspace& workspace);
  void Parse(Workspace& workspace);
  void Run(Workspace& workspace);
  void EndTurn(Workspace& workspace);

  // Called by the loop a moment after Postpone().
  void Retry();
  // Called by the loop after DeliverLater(): writes messages that were published to this client, as many as the socket
  // takes, unless something of the client is under way: then they are written after that.
  void DeliverMessages();
  // Closes if the TLS handshake has taken too long.
  void EnforceHandshakeTime(int64_t now_ms);
  bool IdleSince(int64_t monotonic_ms) const { return exchange_.IdleSince(monotonic_ms); }

  ClientRecord& client() { return exchange_.client(); }
  size_t slot_in_loop = 0;  // kept by the loop
  bool is_queued = false;   // kept by the loop
  std::function<void()> MessageWaker() override;

 private:
  enum class Reading : uint8_t {
    kIdle,
    kWaiting,  // until the socket is readable
    kMore,     // bytes may be there that no readiness will report
  };

  // Runs `work`; if memory runs out, this connection is closed, not the server.
  template <class Work>
  void Guarded(Work&& work);
  // Runs `work` on the loop's thread, from any thread, unless the connection or even its loop is gone.
  template <class Work>
  auto Later(Work work);
  bool is_open() const { return socket_.is_open(); }
  bool IsHandshaking() const;

  // Does what the exchange waits for. Called once whenever that has changed.
  void Act();
  void WaitReadable();
  void OnReadable();
  void WaitWritable();
  void OnWritable();

  bool Receive(std::span<char> scratch, Workspace& workspace);
  void OnNothingReceived(Socket::Transfer transfer);
  void Resume(const WriteReply& write_reply);
  void Release();
  void DeliverMessagesLater();

  // Sends `reply` and acts.
  void Reply(std::string& reply);
  void Send(std::string& reply);
  void SendUnsent();
  size_t SendSome(std::string_view bytes);

  void Finish();
  void CloseAborted();
  void AbortHandshake(const std::string& reason);
  void DiscardReceived();
  void Close();

  EventLoop& loop_;
  asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type> socket_;
  std::unique_ptr<TlsStream> tls_;  // null: nothing is encrypted
  ConnectionSlots::Slot slot_;
  Exchange exchange_;
  Reading reading_ = Reading::kIdle;
  bool writing_ = false;  // until the socket is writable
  HandlerMemory read_memory_;
};

}  // namespace bitsieve::server
