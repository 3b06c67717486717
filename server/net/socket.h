// socket.h: a connected stream socket that never waits: what it cannot take or give now, it reports as blocked. It owns
// its descriptor. Thread-compatible.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/base/descriptor.h"

namespace bitsieve::server {

class Socket {
 public:
  // What a call moved, or the system's error number; a call that was interrupted is made again. Zero bytes received
  // without an error: the other side has closed its sending half.
  struct Transfer {
    size_t bytes = 0;
    int error = 0;
    bool blocked() const;
  };

  // Takes over the descriptor, which is non-blocking.
  explicit Socket(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_.get(); }
  Transfer Receive(std::span<char> room) const;
  // A peer that is gone is an error, not a signal.
  Transfer Send(std::string_view bytes) const;
  // Ends the connection in both directions, then closes.
  void Close();

 private:
  core::Descriptor descriptor_;
};

}  // namespace bitsieve::server
