// tls_stream.h: one TLS connection over a socket that never waits. A server's first calls of Receive() make the
// handshake; what they cannot receive or send now, they report as blocked, to be called again when the socket has
// changed in either direction. After the handshake Send() never waits for receiving: there is no renegotiation.
//
// OpenSSL moves its bytes through a BIO of our own, which saves calls that would move nothing: after one that did not
// fill its room it makes no further one until the socket is reported readable.
//
// Thread-compatible. The descriptor outlives it.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/net/socket.h"
#include "server/net/tls_context.h"

namespace bitsieve::server {

class TlsStream {
 public:
  // Measured memory of one stream: with its session and keys, without the buffers that it has while records are under
  // way.
  static constexpr size_t kBytes = 16 * 1024;

  // For a client, `server_name` is sent to the server (SNI) and, if `check_name`, must be a name of its certificate.
  struct ClientName {
    std::string server_name;
    bool check_name;
  };
  // Throws std::bad_alloc.
  static std::unique_ptr<TlsStream> OfServer(const TlsContext& context, int descriptor);
  static std::unique_ptr<TlsStream> OfClient(const TlsContext& context, int descriptor, const ClientName& name);

  // For a client, whose part it is to begin. Blocked: wait, then call it again; no error: done.
  Socket::Transfer Handshake();
  // Receive and Send do the same as those of Socket. A breach of the protocol is the error EPROTO; failure() has the
  // reason.
  Socket::Transfer Receive(std::span<char> room);
  Socket::Transfer Send(std::string_view bytes);
  // Says that nothing more is sent. What the socket does not take now is dropped.
  void EndSending();

  // The socket was reported readable; `ended`: the other side sends no more.
  void SetReadable(bool ended) {
    wire_.is_empty = false;
    wire_.has_ended |= ended;
  }
  bool is_handshaking() const { return is_handshaking_; }
  // Whether the last call was blocked for room to send, and not for bytes to receive.
  bool waits_to_send() const { return SSL_want_write(ssl_.get()); }
  // Why the last call failed; empty if the other side has closed.
  const std::string& failure() const { return failure_; }

 private:
  struct Wire {
    int descriptor;
    bool is_empty = false;   // there is nothing to receive before the next report
    bool has_ended = false;  // the end is there to be received: no more is reported
    size_t allowance = 0;    // bytes that this call may still receive, so that no client holds the loop
    int error = 0;           // of the system, and not that it is blocked
  };
  enum class State : char { kOpen, kEnded, kFailed };  // kEnded: only receiving
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  // OpenSSL calls these to move its bytes.
  static int ReadWire(BIO* bio, char* room, int size);
  static void SetError(BIO* bio, const Socket::Transfer& transfer, int direction);
  static int WriteWire(BIO* bio, const char* bytes, int size);
  static long ControlWire(BIO* bio, int command, long, void*);
  static const BIO_METHOD* WireMethod();

  TlsStream(SSL* ssl, int descriptor);
  // After a call of OpenSSL that moved nothing.
  void RecordResult(int result);
  void RecordFailure();

  Wire wire_;
  State state_ = State::kOpen;
  bool is_handshaking_ = true;
  int error_ = 0;  // of kFailed
  std::string failure_;
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace bitsieve::server
