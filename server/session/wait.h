// wait.h: why a client is not being served right now.
#pragma once

#include <cstdint>

namespace bitsieve::server {

enum class Wait : uint8_t {
  kNothing,  // it is being served
  kInput,    // for bytes from the client
  kTurn,     // for its next turn: there is more to do, and other clients of the loop come first
  kMoment,   // for a moment: a command cannot run yet (CLIENT PAUSE), or all clients together take too much memory
  kReply,    // for the reply of a command that runs elsewhere
  kLog,      // for the log: replies that report a change are held until it has reached their position
  kReader,   // for the client to read: until then what it sends is received, and nothing is run
  kFlush,    // for its last replies to be written: then it is closed
  kClosed,   // for nothing: it is closed, or to be closed at once
};

}  // namespace bitsieve::server
