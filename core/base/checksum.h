// checksum.h: the one checksum of everything persisted: XXH3, 64 bits, seed 0. It finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct XXH3_state_s;  // of the library

namespace bitsieve::core {

inline constexpr size_t kChecksumBytes = sizeof(uint64_t);

uint64_t Checksum(std::string_view bytes);

// Computes the same checksum of bytes that arrive in chunks. Thread-compatible.
class RunningChecksum {
 public:
  RunningChecksum();

  void Add(std::string_view bytes);
  // Returns the checksum of all bytes added so far.
  uint64_t Value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace bitsieve::core
