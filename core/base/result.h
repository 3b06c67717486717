// result.h: how functions report what went wrong while working, in two forms: a Result, whose error has a code for
// those who handle it, and an Outcome, whose error is for people. Operating errors are values; programmer errors are
// assertions; no assertion is reachable from input. Thread-safe: plain values.
#pragma once

#include <cstdint>
#include <new>
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

// tl::expected copies an error in functions that are noexcept. So copying one does not throw: without memory for the
// message, the copy's message says that.
struct Error {
  Error() = default;
  Error(ErrorCode its_code, std::string its_message) noexcept : code(its_code), message(std::move(its_message)) {}
  Error(const Error& other) noexcept : code(other.code) { CopyMessage(other.message); }
  Error& operator=(const Error& other) noexcept {
    code = other.code;
    if (this != &other) CopyMessage(other.message);
    return *this;
  }
  Error(Error&&) noexcept = default;
  Error& operator=(Error&&) noexcept = default;
  ~Error() = default;

  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;  // what was wrong and what would be right; no trailing period

 private:
  void CopyMessage(const std::string& other) noexcept {
    try {
      message = other;
    } catch (const std::bad_alloc&) {
      message = "out of memory";  // short enough for a string that allocates nothing
    }
  }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// The problem is what a person is to be told: a text, or a type that a text is made from.
template <class T, class Problem = std::string>
using Outcome = tl::expected<T, Problem>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace bitsieve::core
