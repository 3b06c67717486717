// byte_source.h: the body of a response that is made while it is sent, chunk by chunk. Thread-compatible.
#pragma once

#include <cstddef>
#include <string>

namespace bitsieve::server {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual bool AtEnd() const = 0;
  // Appends the next bytes, about `most` of them at most. It may append none although more follow, so that no call
  // takes long. Returns false if the rest is lost. May throw std::bad_alloc.
  [[nodiscard]] virtual bool Read(size_t most, std::string& out) = 0;
};

}  // namespace bitsieve::server
