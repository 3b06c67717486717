// socket.h: a connected stream socket that never waits: what it cannot take or give now, it reports as blocked. It owns
// its descriptor. Once Secure() is called, TLS is between the caller and the wire. Thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/descriptor.h"

namespace bitsieve::server {

class TlsStream;

class Socket {
 public:
  // The bytes that a call moved, or the system's error number; a call that was interrupted is made again. Zero bytes
  // received without an error: the other side has closed its sending half.
  struct Transfer {
    size_t bytes = 0;
    int error = 0;
    bool more = false;  // of receiving: there may be more, or the end, which no change of the socket will report
    bool blocked() const;
  };

  // Takes over the descriptor, which is non-blocking.
  explicit Socket(int descriptor);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_.get(); }
  // `stream` is one over this descriptor.
  void Secure(std::unique_ptr<TlsStream> stream);
  // Null: nothing is encrypted.
  TlsStream* tls() const { return tls_.get(); }

  Transfer Receive(std::span<char> room) const { return tls_ ? ReceiveByTls(room) : Receive(descriptor(), room); }
  // A peer that is gone is an error, not a signal.
  Transfer Send(std::string_view bytes) const { return tls_ ? SendByTls(bytes) : Send(descriptor(), bytes); }
  // Ends the connection in both directions, then closes.
  void Close();
  // Hands over the descriptor, and what lies between the caller and the wire: see tls().
  core::Descriptor ReleaseDescriptor() { return std::move(descriptor_); }
  std::unique_ptr<TlsStream> ReleaseTls();

  // The same for a descriptor, as the system moves the bytes.
  static Transfer Receive(int descriptor, std::span<char> room);
  static Transfer Send(int descriptor, std::string_view bytes);

 private:
  Transfer ReceiveByTls(std::span<char> room) const;
  Transfer SendByTls(std::string_view bytes) const;

  core::Descriptor descriptor_;
  std::unique_ptr<TlsStream> tls_;
};

}  // namespace bitsieve::server
