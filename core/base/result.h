// result.h: how the core reports what went wrong while working. Operating errors are values; programmer errors are
// assertions; no assertion is reachable from input. Thread-safe: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace bitsieve::core {

enum class ErrorCode : uint8_t {
  kInvalidArgument,  // a parameter is outside of its range
  kOutOfMemory,      // the memory budget or the system refuses
  kCorrupt,          // bytes from outside contradict themselves or their checksum
  kUnsupported,      // valid, but written by a newer version or meant for another type
  kIo,               // the disk said no
  kFull,             // a filter takes no further item
};

struct Error {
  ErrorCode code;
  std::string message;  // what was wrong and what would be right; no trailing period
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace bitsieve::core
